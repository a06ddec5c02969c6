package cli

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// shiftCollection is a collection and how it fares. While it fails it is asked without waiting, so that it does not hold
// up the others.
type shiftCollection struct {
	*allocator.Collection
	failing atomic.Bool
	again   atomic.Int64 // while it fails: when it is asked again, counted from the beginning of the shift
	trouble trouble      // of its own: what stands there, or a rule, refuses it
}

func newShiftCollection(c *allocator.Collection, log *zap.Logger) *shiftCollection {
	return &shiftCollection{
		Collection: c,
		trouble:    trouble{log: log.With(zap.String("collection", c.Name())), failed: "no ids to be had, trying on", over: "ids again"},
	}
}

// ask asks for one identifier; it is there or not. It waits only while nobody knows that the collection fails.
func (s *shift) ask(ctx context.Context, c *shiftCollection) (id prefix.ID, there bool, err error) {
	if !c.failing.Load() {
		id, err = c.NextID(ctx)
	} else {
		now, again := time.Since(s.began), c.again.Load()
		if int64(now) < again || !c.again.CompareAndSwap(again, int64(now+retryAfter)) {
			return id, false, nil
		}
		over, end := context.WithCancel(ctx)
		end() // who asks with it gets what is in hand, or at once why there is nothing
		if id, err = c.NextID(over); lasting(err) {
			id, err = c.NextID(ctx) // says it without the end of over
		}
	}
	switch {
	case err == nil:
		s.serves(c)
	case ctx.Err() == nil && !lasting(err):
		s.fails(c, err)
	}
	return id, err == nil, err
}

// fails notes that a collection gave none. Only who waited knows that servers are away: who asked at once may have come
// while a range was under way.
func (s *shift) fails(c *shiftCollection, err error) {
	waited := !errors.Is(err, context.Canceled)
	if waited {
		c.again.Store(int64(time.Since(s.began) + retryAfter))
		c.failing.Store(true)
	} else if !c.failing.Load() {
		return // it was served meanwhile
	}
	why := s.explain(beforeItsEnd(err))
	switch {
	case errors.Is(err, allocator.ErrNotSeeded) || errors.Is(err, allocator.ErrCorrupt):
		c.trouble.add(why)
		s.settle()
	case waited:
		s.trouble.add(why)
	default:
		s.trouble.remind(why)
	}
}

// serves notes that a collection gave one.
func (s *shift) serves(c *shiftCollection) {
	if c.failing.Load() && c.failing.Swap(false) {
		c.trouble.end()
		s.settle()
	}
}

// settle ends the trouble with the servers when no collection has it any more.
func (s *shift) settle() {
	for _, c := range s.from {
		if c.failing.Load() && !c.trouble.on.Load() {
			return
		}
	}
	s.trouble.end()
}

// beforeItsEnd is err without the end of the context that was asked with.
func beforeItsEnd(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if many, ok := inner.(interface{ Unwrap() []error }); ok {
			return many.Unwrap()[0]
		}
	}
	return err
}

// serverErrors is how many attempts failed.
func (s *shift) serverErrors() int64 {
	n := s.trouble.errors.Load()
	for _, c := range s.from {
		n += c.trouble.errors.Load()
	}
	return n
}
