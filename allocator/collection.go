package allocator

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/memory"
	"github.com/hilo-id/hilo/prefix"
)

// Collection hands out the identifiers of one collection. It is safe for concurrent use. As long as numbers are in
// hand, each of its methods costs one atomic addition and takes no lock; ctx matters only when a caller has to wait for
// Redis.
//
// The errors of all its methods: ErrClosed, ErrUnavailable, ErrExhausted, ErrNotSeeded, ErrMixed, ErrUnguarded,
// ErrPrefixMissing, ErrPrefixConflict, ErrNotDurable, ErrCorrupt. When ctx ended first the error matches both ctx.Err()
// and one of these.
type Collection struct {
	// cur is the range in use, none before the first one.
	cur atomic.Pointer[span]
	// several says that there is more than one server, so that a number alone is not unique.
	several bool
	// closed says that no refill begins any more, and sealed that what was in hand is gone. Both are guarded by mu.
	closed, sealed bool
	a              *Allocator
	// name is the collection as the caller spells it; all spellings share counter.
	name    string
	counter *counter
	// waits counts calls that found nothing in hand.
	waits atomic.Int64

	// mu guards what follows, closed and sealed, and every store to cur. Hot callers do not take it: they load cur and
	// count on the span. It is never held during I/O.
	mu sync.Mutex
	// ahead are the ranges that were fetched and are not in use yet, the oldest first.
	ahead []*span
	// flight is the one refill under way, nil where there is none.
	flight *flight
	// takers are the callers of Take that wait for a range, in the order in which they came.
	takers []*taker
	// sent is the request that got no reply so far, nil where there is none.
	sent *sending
	// capacity is that of the newest range, 0 before the first one, and asked when that was asked for.
	capacity int64
	asked    time.Duration
	demand   demand
	// backoff follows refusals of this collection's requests. refused is the latest of them, nil after a range.
	backoff backoff
	refused error
	tally   tally
}

// counter is a counter in Redis as this client knows it. Collections whose names differ in letter case only share it.
type counter struct {
	// asking lets one request for the counter out at a time: each has to know the floor that the one before left. It is
	// taken before Collection.mu, and held during I/O by design.
	asking sync.Mutex
	// told is what each server said, by server.index. Each is guarded by the server's mu.
	told []memory.Counter
}

// sending is what has to be the same when a request is sent again: to which server it went, its token, and size, how
// many numbers it asks for. capacity is what nextCapacity says, or 0 where Take asked for a size of its own.
type sending struct {
	server   *server
	token    string
	size     int64
	capacity int64
	at       time.Duration
}

// Name is the collection as the caller spells it.
func (c *Collection) Name() string { return c.name }

// Next gives the next identifier as text, `orders/NorthServer/1-A`.
func (c *Collection) Next(ctx context.Context) (string, error) {
	s, i, ok := c.tryTake()
	if !ok {
		var err error
		if s, i, err = c.take(ctx, s, i); err != nil {
			return "", err
		}
	}
	return s.text(s.base + i), nil
}

// NextID gives the next identifier in its parts.
func (c *Collection) NextID(ctx context.Context) (prefix.ID, error) {
	s, i, ok := c.tryTake()
	if !ok {
		var err error
		if s, i, err = c.take(ctx, s, i); err != nil {
			return prefix.ID{}, err
		}
	}
	return s.id(c.name, s.base+i), nil
}

// NextNumber gives the next number alone, 1 to Options.Limit. With more than one server, each of which counts from 1,
// it is ErrPrefixed.
func (c *Collection) NextNumber(ctx context.Context) (int64, error) {
	if c.several {
		return 0, fmt.Errorf("allocator: %s: %w: there are several servers; take the identifier", c.name, ErrPrefixed)
	}
	s, i, ok := c.tryTake()
	if !ok {
		var err error
		if s, i, err = c.take(ctx, s, i); err != nil {
			return 0, err
		}
	}
	return s.base + i, nil
}

// AppendNext appends the next identifier to dst. On an error it returns dst as it was.
func (c *Collection) AppendNext(ctx context.Context, dst []byte) ([]byte, error) {
	s, i, ok := c.tryTake()
	if !ok {
		var err error
		if s, i, err = c.take(ctx, s, i); err != nil {
			return dst, err
		}
	}
	return s.appendText(dst, s.base+i), nil
}

// TryNext gives the next identifier if one is in hand. It never waits and does no I/O; where it fails it has the next
// range fetched.
func (c *Collection) TryNext() (string, bool) {
	for {
		s, i, ok := c.tryTake()
		if ok || c.checkIndex(s, i) {
			return s.text(s.base + i), true
		}
		if _, err := c.refillOrAdvance(); err != nil || !c.inHand() {
			return "", false
		}
	}
}

// tryTake is the hot path: one pointer, one addition, one comparison. Below the mark an index is a number without more
// ado; otherwise checkIndex tells.
func (c *Collection) tryTake() (s *span, i int64, ok bool) {
	s = c.cur.Load()
	i = s.taken.Add(1)
	return s, i, i < s.mark.Load()
}

// checkIndex reports whether index i of s, at or past the mark, is a number, and has the caller that took the mark
// itself look ahead.
func (c *Collection) checkIndex(s *span, i int64) bool {
	if i > s.size {
		return false
	}
	if i == s.mark.Load() {
		c.lookAhead()
	}
	return true
}

// take gives an index of a span to one caller; s and i are what tryTake gave.
func (c *Collection) take(ctx context.Context, s *span, i int64) (*span, int64, error) {
	for ok := false; !ok && !c.checkIndex(s, i); s, i, ok = c.tryTake() {
		if err := c.wait(ctx); err != nil {
			return nil, 0, fmt.Errorf("allocator: %w", err)
		}
	}
	return s, i, nil
}
