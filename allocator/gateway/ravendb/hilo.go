package ravendb

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
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
	if separator := q["identityPartsSeparator"]; separator != "" && separator != h.opts.Allocator.Separator {
		return n, sentinel.Invalidf("identityPartsSeparator is %.64q: here it is %q", separator, h.opts.Allocator.Separator)
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
	d, err := h.database(r.Context(), r.PathValue("database"))
	if err != nil {
		return nil, err
	}
	c, err := h.collection(d, n.tag)
	if err != nil {
		return nil, err
	}
	if issued, ok := h.ranges.find(c, n.lastMax); ok { // some clients send local time without a zone
		n.at, n.known = issued.at, true
	}
	got, id, err := d.next(detached(r), c, capacity(n.size, max(0, time.Since(n.at)), n.known)) //nolint:contextcheck // a range that is requested is issued also if its client is gone
	if err != nil {
		return nil, explain(d.namespace, err)
	}
	h.ranges.add(c, got)
	return hiloRange{
		Prefix: n.tag + h.opts.Allocator.Separator + id.ServerPrefix,
		Low:    got.Range().Low, High: got.Range().High, LastSize: got.Len(),
		ServerTag:   id.NodeTag,
		LastRangeAt: time.Now().UTC().Format(wireTime),
	}, nil
}

// next issues a range of a size, or of what is left below the limit. id is the first identifier.
func (d *database) next(ctx context.Context, c *collection, size int64) (got allocator.Batch, id prefix.ID, err error) {
	if err := d.masters.forRange(ctx, id); err != nil {
		return got, id, err
	}
	got, err = c.Take(ctx, size)
	if errors.Is(err, allocator.ErrExhausted) {
		for _, stats := range d.ids.Stats().Collections {
			if stats.Name == c.Name() && stats.Held > 0 {
				got, err = c.Take(ctx, min(stats.Held, size))
			}
		}
	}
	if err != nil {
		return got, id, err
	}
	for id = range got.IDs() {
		break
	}
	if id.NodeTag == "" {
		return got, id, noTag(d.namespace)
	}
	d.tag.Store(id.NodeTag)
	return got, id, d.masters.forRange(ctx, id)
}

func (h *Handler) hiloReturn(r *http.Request) (any, error) {
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
	namespace, err := h.resolve(r.PathValue("database"))
	if err != nil || h.opts.IgnoreReturns {
		return nil, err
	}
	h.mu.Lock()
	d := h.databases[namespace]
	h.mu.Unlock()
	if d == nil {
		return nil, nil
	}
	d.mu.Lock()
	c := d.names[prefix.Fold(tag)]
	d.mu.Unlock()
	if issued, ok := h.ranges.claim(c, end, last); ok {
		_, _ = issued.Return(detached(r), last) //nolint:contextcheck // a return is finished also if its client is gone
	}
	return nil, nil
}
