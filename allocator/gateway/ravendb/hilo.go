package ravendb

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// maxEnd is the greatest end of a range: some clients count on past it.
const maxEnd = math.MaxInt64 - maxCapacity

// nextRequest is a request for a range.
type nextRequest struct {
	tag     string
	size    int64 // of the range before
	at      time.Time
	known   bool // at is usable
	lastMax int64
}

func (h *Handler) readNext(r *http.Request) (n nextRequest, err error) {
	var q query
	if q, n.tag, err = h.readName(r, "tag", ""); err != nil {
		return n, err
	}
	if separator := q["identityPartsSeparator"]; separator != "" && separator != h.opts.Separator {
		return n, sentinel.Invalidf("identityPartsSeparator is %.64q: here it is %q", separator, h.opts.Separator)
	}
	if n.size, err = parseSize(q["lastBatchSize"]); err != nil {
		return n, err
	}
	n.at, n.known = parseTime(q["lastRangeAt"])
	n.lastMax, err = q.numberOr("lastMax", 0)
	return n, err
}

// hiloRange is the JSON of a range.
type hiloRange struct {
	Prefix      string
	Low         int64
	High        int64
	LastSize    int64
	ServerTag   string
	LastRangeAt string
}

func (h *Handler) hiloNext(r *http.Request) (any, error) {
	n, err := h.readNext(r)
	if err != nil {
		return nil, err
	}
	c, err := h.counter(r, fleet.Range, n.tag)
	if err != nil {
		return nil, err
	}
	var got fleet.Reply
	if err := c.locked(r.Context(), func() (err error) { //nolint:contextcheck // a range in flight is recorded also if its client is gone
		got, err = h.next(detached(r), c, n)
		return err
	}); err != nil {
		return nil, err
	}
	return hiloRange{
		Prefix: n.tag + h.opts.Separator + got.Prefix,
		Low:    got.Low, High: got.High, LastSize: got.High - got.Low + 1,
		ServerTag:   got.Tag,
		LastRangeAt: time.Now().UTC().Format(wireTime),
	}, nil
}

func (h *Handler) hiloReturn(r *http.Request) (any, error) { //nolint:contextcheck // a return is finished also if its client is gone
	q, tag, err := h.readName(r, "tag", "")
	if err != nil {
		return nil, err
	}
	end, err := q.number("end")
	if err != nil {
		return nil, err
	}
	last, err := q.number("last")
	if err != nil {
		return nil, err
	}
	space, err := h.namespace(r.Context(), r.PathValue("database"))
	if err != nil || h.opts.IgnoreReturns {
		return nil, err
	}
	h.mu.Lock()
	c, ok := h.counters[space.keys.HiLo(tag)]
	h.mu.Unlock()
	if !ok {
		return nil, nil
	}
	ctx := detached(r)
	return nil, c.locked(ctx, func() error { return h.takeBack(ctx, c, end, last) }) //nolint:contextcheck // a return is finished also if its client is gone
}

// next issues a range with a call of locked, if possible one that can be returned. A client states lastMax, which raises the
// counter but proves nothing: neither that it was issued, so that it is no floor, nor that writes were lost.
func (h *Handler) next(ctx context.Context, c *counter, n nextRequest) (got fleet.Reply, err error) {
	stands := c.floor()
	if !h.opts.IgnoreReturns && (n.lastMax > stands || !h.ranges.used(c)) {
		if stands, err = h.standing(ctx, c); err != nil {
			return got, err
		}
	}
	since := max(0, time.Since(n.at))
	if before, ok := h.ranges.find(c, n.lastMax); ok { // some clients send local time without a zone
		since, n.known = time.Since(before.at), true
	}
	size := capacity(n.size, since, n.known)
	limit := min(h.opts.Limit, maxEnd)
	above := max(stands, n.lastMax)
	if !h.opts.IgnoreReturns && above < limit-size { // the range begins there if no other client uses the counter
		size += h.ranges.extend(c, above+size, max(size, maxExtension))
	}
	got, err = c.space.issue(ctx, fleet.Request{
		Kind: fleet.Range, Name: n.tag, Count: size, Limit: limit, RaiseTop: true, AtLeast: n.lastMax, Last: true,
	})
	switch {
	case errors.Is(err, scripts.ErrRaise):
		return got, sentinel.Invalidf("lastMax is %d: it must be a number that was issued: %v", n.lastMax, err)
	case err == nil:
		h.ranges.add(c, got.Range, got.Token)
	}
	return got, err
}

// takeBack takes back the end of a range with a call of locked, if it can be returned.
func (h *Handler) takeBack(ctx context.Context, c *counter, end, last int64) error {
	r, ok := h.ranges.find(c, end)
	if !ok || r.final || last < r.low-1 || last > end {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.opts.timeout())
	defer cancel()
	err := h.ask(ctx, func() error {
		return c.space.server.Return(ctx, []scripts.ReturnRequest{{
			Counter: c.keys.Counter, Token: r.token, End: end, Last: last, Epoch: r.epoch, Written: r.written,
		}})[0].Err
	})
	// The client uses no number above last any more, whether the range was taken back or the reply was lost.
	if c.floor() == end {
		c.space.server.SetFloor(c.name, last)
	}
	if err == nil || scripts.Answered(err) {
		h.ranges.finish(c, end)
	}
	return err
}

// standing returns the greatest number that a counter is known to have issued, and reads its Top, with a call of locked. A value
// that is no number is left to the script to refuse.
func (h *Handler) standing(ctx context.Context, c *counter) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, h.opts.timeout())
	defer cancel()
	var read []any
	if err := h.ask(ctx, func() (err error) {
		read, err = h.client.HMGet(ctx, c.keys.Counter, scripts.FieldMax, "Top").Result()
		return err
	}); err != nil {
		return 0, err
	}
	var stored [2]int64
	for i := range stored {
		text, _ := read[i].(string)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			stored[i] = n
		}
	}
	h.ranges.raiseTop(c, stored[1])
	return max(stored[0], c.floor()), nil
}
