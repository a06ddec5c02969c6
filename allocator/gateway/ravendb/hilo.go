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
	q := parseQuery(r)
	tag := q.name("tag", "", h.opts.Allocator.Separator)
	if separator := q.values["identityPartsSeparator"]; separator != "" && separator != h.opts.Allocator.Separator {
		q.fail(sentinel.Invalidf("identityPartsSeparator is %.64q: here it is %q", separator, h.opts.Allocator.Separator))
	}
	size, lastMax := q.size(), q.numberOr("lastMax", 0)
	if q.err != nil {
		return nil, q.err
	}
	d, err := h.database(r.Context(), r.PathValue("database"))
	if err != nil {
		return nil, err
	}
	c, err := d.use(tag)
	if err != nil {
		return nil, err
	}
	at, known := parseTime(q.values["lastRangeAt"])
	if issued, ok := h.ranges.find(c, lastMax); ok { // some clients send local time without a zone
		at, known = issued.at, true
	}
	got, id, err := h.next(context.WithoutCancel(r.Context()), d, c, capacity(size, max(0, time.Since(at)), known)) // also if the client is gone
	if err != nil {
		return nil, err
	}
	h.ranges.add(c, got)
	return hiloRange{
		Prefix: tag + h.opts.Allocator.Separator + id.ServerPrefix,
		Low:    got.Range().Low, High: got.Range().High, LastSize: got.Len(),
		ServerTag:   id.NodeTag,
		LastRangeAt: time.Now().UTC().Format(wireTime),
	}, nil
}

// next issues a range of a size, or of what is left below the limit. id is the first identifier.
func (h *Handler) next(ctx context.Context, d *database, c *collection, size int64) (got allocator.Batch, id prefix.ID, err error) {
	if err := h.opts.verifyRange(ctx, d.namespace, id); err != nil {
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
	d.mu.Lock()
	d.tag = id.NodeTag
	d.mu.Unlock()
	return got, id, h.opts.verifyRange(ctx, d.namespace, id)
}

func (h *Handler) hiloReturn(r *http.Request) (any, error) {
	q := parseQuery(r)
	tag, end, last := q.name("tag", "", h.opts.Allocator.Separator), q.number("end"), q.number("last")
	if q.err != nil {
		return nil, q.err
	}
	namespace, err := h.resolve(r.PathValue("database"))
	if err != nil || h.opts.IgnoreReturns {
		return nil, err
	}
	if d := h.used(namespace); d != nil {
		if issued, ok := h.ranges.claim(d.collection(tag), end, last); ok {
			_, _ = issued.Return(context.WithoutCancel(r.Context()), last) // else it is a gap
		}
	}
	return nil, nil
}
