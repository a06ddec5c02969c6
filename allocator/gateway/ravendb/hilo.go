package ravendb

import (
	"cmp"
	"context"
	"errors"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

const (
	minCapacity = 32
	maxCapacity = 1 << 20
	maxEnd      = math.MaxInt64 - maxCapacity // of a range: some clients count on past it
)

// hiloRange is the JSON of a range.
type hiloRange struct {
	Prefix                 string
	Low, High, LastSize    int64
	ServerTag, LastRangeAt string
}

func (h *Handler) hiloNext(ctx context.Context, q *form.Query) (any, error) {
	separator := h.opts.Allocator.Separator
	tag, size, lastMax := q.Name("tag", "", separator), parseSize(q), q.NumberOr("lastMax", 0)
	at, known := parseTime(q.Get("lastRangeAt"))
	if theirs := q.Get("identityPartsSeparator"); theirs != "" && theirs != separator {
		q.Fail(sentinel.Invalidf("identityPartsSeparator is %.64q: here it is %q", theirs, separator))
	}
	d, err := h.database(ctx, q, q.Request.PathValue("database"))
	if err != nil {
		return nil, err
	}
	name, err := d.names.Admit(prefix.Fold(tag), tag)
	if err != nil {
		return nil, err
	}
	c := collection{d, name}
	if issued, ok := h.ranges.find(c, lastMax); ok { // some clients send local time without a zone
		at, known = issued.at, true
	}
	got, first, err := h.next(ctx, c, capacity(size, max(0, time.Since(at)), known))
	if err != nil {
		return nil, err
	}
	h.ranges.add(c, got)
	return hiloRange{
		Prefix: tag + separator + first.ServerPrefix,
		Low:    got.Range().Low, High: got.Range().High, LastSize: got.Len(),
		ServerTag: first.NodeTag, LastRangeAt: time.Now().UTC().Format(wireTime),
	}, nil
}

// next issues a range of a size, or of what is left below the limit.
func (h *Handler) next(ctx context.Context, c collection, size int64) (got allocator.Batch, first prefix.ID, err error) {
	ids, err := c.d.ids.Collection(c.name)
	if err := cmp.Or(err, h.opts.Masters.VerifyRange(ctx, c.d.namespace, first)); err != nil {
		return got, first, err
	}
	got, err = ids.Take(ctx, size)
	if errors.Is(err, allocator.ErrExhausted) {
		for _, stats := range c.d.ids.Stats().Collections {
			if stats.Name == c.name && stats.Held > 0 {
				got, err = ids.Take(ctx, min(stats.Held, size))
			}
		}
	}
	if err != nil {
		return got, first, err
	}
	for first = range got.IDs() {
		break
	}
	return got, first, cmp.Or(c.d.recordTag(first.NodeTag), h.opts.Masters.VerifyRange(ctx, c.d.namespace, first))
}

// plainReturn matches the query of a return whose collection every client spells alike. Node.js and Java escape the tag in a request for
// a range, but not here: they send a&b as a, and a%62 as ab. Java sends 日 as "?". A name such as a&end=96&last=50# still arrives as a
// whole return of a, which nothing tells from a real one.
var plainReturn = regexp.MustCompile(`^tag=[A-Za-z0-9._~/-]+&end=[0-9]+&last=[0-9]+$`)

func (h *Handler) hiloReturn(ctx context.Context, q *form.Query) (any, error) {
	tag, end, last := q.Name("tag", "", h.opts.Allocator.Separator), q.Number("end"), q.Number("last")
	namespace, err := h.resolve(q.Request.PathValue("database"))
	if q.Fail(err); q.Err != nil {
		return nil, q.Err
	}
	if d, ok := h.databases.Get(namespace); ok && !h.opts.IgnoreReturns && plainReturn.MatchString(q.Request.URL.RawQuery) {
		name, _ := d.names.Get(prefix.Fold(tag))
		if issued, ok := h.ranges.claim(collection{d, name}, end, last); ok {
			_, _ = issued.Return(ctx, last) // if it fails, it is a gap
		}
	}
	return nil, nil
}

// capacity returns the size of the next range by RavenDB's rule: the size of the one before, doubled if it is requested within
// 30 s and halved after more than 60 s. known reports whether the time of the one before is known.
func capacity(last int64, since time.Duration, known bool) int64 {
	switch {
	case known && since < 30*time.Second:
		return min(max(minCapacity, 2*last), maxCapacity)
	case known && since > 60*time.Second:
		return max(minCapacity, last/2)
	}
	return max(minCapacity, last)
}

// parseSize returns lastBatchSize, which is 0 if absent. A greater number than maxCapacity counts as maxCapacity.
func parseSize(q *form.Query) int64 {
	if text := q.Get("lastBatchSize"); len(text) > len("1048576") && strings.Trim(text, "0123456789") == "" {
		return maxCapacity
	}
	return min(q.NumberOr("lastBatchSize", 0), maxCapacity)
}

// wireTime is the layout of times in replies: clients need seven digits and a Z.
const wireTime = "2006-01-02T15:04:05.0000000Z"

// parseTime parses a time as any of the clients writes it: with or without a fraction of any length, with or without a
// zone. UTC is the default. It returns false if there is no time.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} { // which accept a fraction
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
