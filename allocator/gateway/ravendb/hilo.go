package ravendb

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// maxEnd is the greatest end of a range: some clients count on past it.
const maxEnd = math.MaxInt64 - maxCapacity

// hiloRange is the JSON of a range.
type hiloRange struct {
	Prefix                 string
	Low, High, LastSize    int64
	ServerTag, LastRangeAt string
}

func (h *Handler) hiloNext(r *http.Request) (any, error) {
	q, separator := form.Parse(r), h.opts.Allocator.Separator
	tag, size, lastMax := q.Name("tag", "", separator), parseSize(q), q.NumberOr("lastMax", 0)
	at, known := parseTime(q.Get("lastRangeAt"))
	if theirs := q.Get("identityPartsSeparator"); theirs != "" && theirs != separator {
		q.Fail(sentinel.Invalidf("identityPartsSeparator is %.64q: here it is %q", theirs, separator))
	}
	if q.Err != nil {
		return nil, q.Err
	}
	d, err := h.database(r.Context(), r.PathValue("database"))
	if err != nil {
		return nil, err
	}
	c, err := d.use(tag)
	if err != nil {
		return nil, err
	}
	if issued, ok := h.ranges.find(c, lastMax); ok { // some clients send local time without a zone
		at, known = issued.at, true
	}
	ctx, cancel := h.finish(r)
	defer cancel()
	got, id, err := h.next(ctx, d, c, capacity(size, max(0, time.Since(at)), known)) //nolint:contextcheck // a client that leaves ends no request for numbers
	if err != nil {
		return nil, err
	}
	h.ranges.add(c, got)
	return hiloRange{
		Prefix: tag + separator + id.ServerPrefix,
		Low:    got.Range().Low, High: got.Range().High, LastSize: got.Len(),
		ServerTag: id.NodeTag, LastRangeAt: time.Now().UTC().Format(wireTime),
	}, nil
}

// next issues a range of a size, or of what is left below the limit. id is the first identifier.
func (h *Handler) next(ctx context.Context, d *database, c *collection, size int64) (got allocator.Batch, id prefix.ID, err error) {
	if err := h.opts.Masters.VerifyRange(ctx, d.namespace, id); err != nil {
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
	return got, id, h.opts.Masters.VerifyRange(ctx, d.namespace, id)
}

func (h *Handler) hiloReturn(r *http.Request) (any, error) {
	q := form.Parse(r)
	tag, end, last := q.Name("tag", "", h.opts.Allocator.Separator), q.Number("end"), q.Number("last")
	namespace, err := h.resolve(r.PathValue("database"))
	if q.Fail(err); q.Err != nil {
		return nil, q.Err
	}
	if d := h.used(namespace); d != nil && !h.opts.IgnoreReturns {
		d.mu.Lock()
		c := d.names[prefix.Fold(tag)]
		d.mu.Unlock()
		if issued, ok := h.ranges.claim(c, end, last); ok {
			ctx, cancel := h.finish(r)
			defer cancel()
			_, _ = issued.Return(ctx, last) // if it fails, it is a gap
		}
	}
	return nil, nil
}
