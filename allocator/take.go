package allocator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
)

// Next issues the next identifier as text, such as orders/NorthServer/1-A.
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

// NextID issues the next identifier in its parts.
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

// NextNumber issues the next number alone, 1 to [Options.Limit]. With more than one server it returns ErrPrefixed, before
// anything is taken, unless the server's interval is known to be disjoint from that of each other server.
func (c *Collection) NextNumber(ctx context.Context) (int64, error) {
	if c.several {
		if err := c.awaitUniqueNumbers(ctx); err != nil {
			return 0, fmt.Errorf("allocator: %s: %w", c.name, err)
		}
	}
	s, i, ok := c.tryTake()
	if !ok {
		var err error
		if s, i, err = c.take(ctx, s, i); err != nil {
			return 0, err
		}
	}
	if c.several && !s.from.UniqueNumber() { // the number is a gap
		return 0, fmt.Errorf("allocator: %s: %w: another server may issue the same number; take the identifier", c.name, ErrPrefixed)
	}
	return s.base + i, nil
}

// awaitUniqueNumbers returns nil if the next number, of a range in hand or of one that is to be fetched, is no other server's. It
// is apart from NextNumber, which took 8 % more time with these lines in it.
func (c *Collection) awaitUniqueNumbers(ctx context.Context) error {
	if c.cur.Load().from.UniqueNumber() {
		return nil
	}
	return c.a.fleet.AwaitUniqueNumbers(ctx, c.name)
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

// TryNext issues the next identifier if one is in hand. It never waits and does no I/O. If it fails, the next range is
// fetched in the background.
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

// tryTake is the hot path, with one pointer, one addition and one comparison. An index below the mark is a number. At or
// past it checkIndex decides. The callers repeat the call of take because tryTake is inlined, and a function with both is
// not.
func (c *Collection) tryTake() (s *span, i int64, ok bool) {
	s = c.cur.Load()
	i = s.taken.Add(1)
	return s, i, i < s.mark.Load()
}

// checkIndex reports whether index i of s, at or past the mark, is a number. The caller that took the mark itself looks
// ahead.
func (c *Collection) checkIndex(s *span, i int64) bool {
	if i > s.size {
		return false
	}
	if i == s.mark.Load() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.plan(c.a.fleet.Now())
	}
	return true
}

// take returns a span and an index of it for one caller. s and i are the results of tryTake.
func (c *Collection) take(ctx context.Context, s *span, i int64) (*span, int64, error) {
	for ok := false; !ok && !c.checkIndex(s, i); s, i, ok = c.tryTake() {
		if err := c.wait(ctx); err != nil {
			return nil, 0, fmt.Errorf("allocator: %w", err)
		}
	}
	return s, i, nil
}

// Take issues n consecutive identifiers, 1 to 2^40, from a range in hand or by one request of that size. If ctx ends first,
// nothing is taken. It returns the errors of the other methods, and ErrInvalidOptions for another n.
func (c *Collection) Take(ctx context.Context, n int64) (Batch, error) {
	if n < 1 || n > maxRange {
		return Batch{}, fmt.Errorf("allocator: %s: %w: Take of %d: must be 1 to %d", c.name, ErrInvalidOptions, n, int64(maxRange))
	}
	if ctx.Err() != nil {
		return Batch{}, fmt.Errorf("allocator: %w", failure.Ended(ctx, c.name, nil))
	}
	batch, t, err := c.takeOrQueue(n)
	if err == nil && t != nil {
		batch, err = c.await(ctx, t)
	}
	if err != nil {
		return Batch{}, fmt.Errorf("allocator: %w", err)
	}
	return batch, nil
}

// takeOrQueue takes from a range in hand, or queues the caller for one.
func (c *Collection) takeOrQueue(n int64) (Batch, *waiter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return Batch{}, nil, fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	now := c.a.fleet.Now()
	if batch, ok := c.fromHand(now, n); ok {
		c.plan(now) // the mark may have been skipped
		return batch, nil, nil
	}
	t := &waiter{n: n, got: make(chan result, 1)}
	c.waiters = append(c.waiters, t)
	c.waits.Add(1)
	c.startRefill(now)
	return Batch{}, t, nil
}

// fromHand takes n from a range in hand that is large enough, with mu held.
func (c *Collection) fromHand(now time.Duration, n int64) (Batch, bool) {
	if c.advance(now) {
		cur := c.cur.Load()
		if last, ok := cur.carve(n); ok {
			return c.batch(cur, last, n), true
		}
	}
	for _, s := range c.ahead {
		if last, ok := s.carve(n); ok {
			return c.batch(s, last, n), true
		}
	}
	return Batch{}, false
}

// batch returns the n indexes of s up to last.
func (c *Collection) batch(s *span, last, n int64) Batch {
	return Batch{span: s, c: c, low: s.base + last - n + 1, n: n}
}

func (c *Collection) await(ctx context.Context, t *waiter) (Batch, error) {
	select {
	case got := <-t.got:
		return got.batch, got.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiters, t); i >= 0 {
		c.waiters = slices.Delete(c.waiters, i, i+1)
		return Batch{}, c.ended(ctx)
	}
	got := <-t.got // the batch, which was sent just now
	return got.batch, got.err
}
