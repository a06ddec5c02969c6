package allocator

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hilo-id/hilo/prefix"
)

// Range is consecutive numbers, both ends included.
type Range struct{ Low, High int64 }

// Batch is consecutive identifiers that belong to the caller alone. What is not used of it is a gap: it cannot be given
// back.
type Batch struct {
	span *span
	name string
	low  int64
	n    int64
}

// Range is the batch's numbers; 0..0 for the zero Batch.
func (b Batch) Range() Range {
	if b.n == 0 {
		return Range{}
	}
	return Range{Low: b.low, High: b.low + b.n - 1}
}

// Len is how many there are.
func (b Batch) Len() int64 { return b.n }

// All gives each identifier as text, in order.
func (b Batch) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range b.n {
			if !yield(b.span.text(b.low + i)) {
				return
			}
		}
	}
}

// IDs gives each identifier in its parts, in order.
func (b Batch) IDs() iter.Seq[prefix.ID] {
	return func(yield func(prefix.ID) bool) {
		for i := range b.n {
			if !yield(b.span.id(b.name, b.low+i)) {
				return
			}
		}
	}
}

// Strings is all identifiers as texts, which share one piece of memory.
func (b Batch) Strings() []string {
	if b.n == 0 {
		return nil
	}
	var buf [640]byte
	var ends [10]bounds
	longest := b.span.appendText(buf[:0], b.low+b.n-1)
	var text strings.Builder
	text.Grow(int(b.n) * len(longest))
	ids := make([]string, b.n)
	next := texts{all: buf[:0], each: ends[:0]}
	for i := int64(0); i < b.n; {
		if !next.advance() {
			next = next.of(b.span, b.low+i, b.n-i)
		}
		i += next.write(&text, ids[i:])
	}
	return ids
}

// taker is a caller of Take that waits for a range. got has a buffer, so that nobody who gives waits.
type taker struct {
	n   int64
	got chan takeResult
}

// takeResult is what a taker gets.
type takeResult struct {
	batch Batch
	err   error
}

// Take gives n consecutive identifiers, 1 to 2^40: out of what is in hand, or by one request of that size. When ctx
// ends first, nothing is taken. Errors: as the other methods', and ErrInvalidOptions for another n.
func (c *Collection) Take(ctx context.Context, n int64) (Batch, error) {
	if n < 1 || n > largestRange {
		return Batch{}, fmt.Errorf("allocator: %s: %w: Take of %d: must be 1 to %d", c.name, ErrInvalidOptions, n, int64(largestRange))
	}
	if ctx.Err() != nil {
		return Batch{}, fmt.Errorf("allocator: %w", ended(ctx, c.name, nil))
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

// takeOrQueue takes from a range in hand or joins those who wait for one.
func (c *Collection) takeOrQueue(n int64) (Batch, *taker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return Batch{}, nil, fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	now := c.a.now()
	if batch, ok := c.fromHand(now, n); ok {
		c.plan(now) // the mark may have been passed over
		return batch, nil, nil
	}
	t := &taker{n: n, got: make(chan takeResult, 1)}
	c.takers = append(c.takers, t)
	c.waits.Add(1)
	c.launch(now)
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

// batch is the n indexes of s up to last.
func (c *Collection) batch(s *span, last, n int64) Batch {
	return Batch{span: s, name: c.name, low: s.base + last - n + 1, n: n}
}

// await waits for what takeOrQueue queued.
func (c *Collection) await(ctx context.Context, t *taker) (Batch, error) {
	select {
	case got := <-t.got:
		return got.batch, got.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.takers, t); i >= 0 {
		c.takers = slices.Delete(c.takers, i, i+1)
		return Batch{}, c.ended(ctx)
	}
	got := <-t.got // served just now: it is in the channel
	return got.batch, got.err
}
