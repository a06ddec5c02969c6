package ravendb

import (
	"net/http"
	"time"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// farAbove is how far the greatest number that a client says it knows may be
// above what stands: a single request must not exhaust a counter.
const farAbove = 1 << 31

// nextRequest is what a client asks for.
type nextRequest struct {
	tag     string
	size    int64 // of the range before
	at      time.Time
	known   bool // there is a usable at
	lastMax int64
}

func (h *Handler) readNext(r *http.Request) (n nextRequest, err error) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return n, err
	}
	if n.tag, err = q.required("tag"); err != nil {
		return n, err
	}
	if err := prefix.ValidateCollection(n.tag, h.opts.Separator); err != nil {
		return n, argument("tag: %w", err)
	}
	if separator := q["identityPartsSeparator"]; separator != "" && separator != h.opts.Separator {
		return n, argument("identityPartsSeparator is %s: here it is %q", quote(separator), h.opts.Separator)
	}
	if n.size, err = parseSize(q["lastBatchSize"]); err != nil {
		return n, err
	}
	n.at, n.known = parseTime(q["lastRangeAt"])
	n.lastMax, err = q.numberOr("lastMax", 0)
	return n, err
}

// hiloRange is a range as clients read it.
type hiloRange struct {
	Prefix      string
	Low         int64
	High        int64
	LastSize    int64
	ServerTag   string
	LastRangeAt string
}

func (h *Handler) hiloNext(r *http.Request) (reply, error) {
	n, err := h.readNext(r)
	if err != nil {
		return reply{}, err
	}
	d, err := h.database(r.Context(), r.PathValue("database"))
	if err != nil {
		return reply{}, err
	}
	c, err := h.counter(scripts.Keys{Counter: d.keys.HiLo(n.tag), Server: d.keys.Server(), Other: d.keys.Identity(n.tag)})
	if err != nil {
		return reply{}, err
	}
	ctx := r.Context()
	var got scripts.Range
	if err := c.locked(ctx, func() error {
		if n.lastMax > c.told.Floor {
			stands, err := h.stands(ctx, c)
			if err != nil {
				return err
			}
			if n.lastMax-stands >= farAbove || n.lastMax > h.opts.Limit {
				return argument("lastMax is %d, and the counter stands at %d: that cannot have been given", n.lastMax, stands)
			}
		}
		since := max(0, time.Since(n.at))
		if before, ok := h.given.find(c, n.lastMax); ok { // some clients' times have no zone and are local
			since, n.known = time.Since(before.at), true
		}
		var err error
		got, err = h.next(ctx, d, c, n.tag, capacity(n.size, since, n.known), n.lastMax)
		return d.explain(err)
	}); err != nil {
		return reply{}, err
	}
	return reply{http.StatusCreated, hiloRange{
		Prefix: n.tag + h.opts.Separator + got.Prefix,
		Low:    got.Low, High: got.High, LastSize: got.High - got.Low + 1,
		ServerTag:   got.Tag,
		LastRangeAt: time.Now().UTC().Format(wireTime),
	}}, nil
}

func (h *Handler) hiloReturn(r *http.Request) (reply, error) { //nolint:contextcheck // what was asked of Redis ends by itself when the client has left
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return reply{}, err
	}
	tag, err := q.required("tag")
	if err != nil {
		return reply{}, err
	}
	if err := prefix.ValidateCollection(tag, h.opts.Separator); err != nil {
		return reply{}, argument("tag: %w", err)
	}
	end, err := q.number("end")
	if err != nil {
		return reply{}, err
	}
	last, err := q.number("last")
	if err != nil {
		return reply{}, err
	}
	d, err := h.database(r.Context(), r.PathValue("database"))
	if err != nil {
		return reply{}, err
	}
	done := reply{status: http.StatusNoContent}
	if h.opts.IgnoreReturns {
		return done, nil
	}
	h.mu.Lock()
	c, ok := h.counters[d.keys.HiLo(tag)]
	h.mu.Unlock()
	if !ok {
		return done, nil
	}
	ctx, cancel := h.detached(r)
	defer cancel()
	return done, c.locked(ctx, func() error { return h.giveBack(ctx, c, end, last) }) //nolint:contextcheck // what was asked of Redis ends by itself when the client has left
}
