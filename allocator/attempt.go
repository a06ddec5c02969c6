package allocator

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// refill is one attempt to get a range, on a goroutine of the queue: no caller
// who leaves cancels it, only a Close that runs out of time.
func (a *Allocator) refill(c *Collection) {
	now := a.now()
	c.mu.Lock()
	if c.closed {
		c.land(fmt.Errorf("%s: %w", c.name, ErrClosed))
		c.mu.Unlock()
		return
	}
	if wait, down := a.server.gate(now); wait > 0 { // somebody else tried meanwhile
		c.fail(attemptError(c.name, down))
		c.mu.Unlock()
		return
	}
	c.request(now)
	request := scripts.NextRequest{
		Token:         c.sent.token,
		Name:          c.name,
		Capacity:      c.sent.size,
		Limit:         a.opts.Limit,
		GuardGap:      a.opts.GuardGap,
		RequireSeeded: a.opts.RequireSeeded,
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.opts.RefillTimeout)
	defer cancel()
	c.flight.cancel = cancel
	c.mu.Unlock()

	t := &c.counter.taught
	request.Floor, _, request.LeastGap = a.server.recall(t, now)
	keys := scripts.Keys{
		Counter: a.server.keys.HiLo(c.name),
		Server:  a.server.keys.Server(),
		Other:   a.server.keys.Identity(c.name),
	}
	got, err := a.server.backend.next(ctx, keys, request)

	var s *span
	if err == nil {
		a.server.remember(t, a.now(), got)
		s, err = a.newSpan(c, request.Token, got)
	}
	c.arrive(s, got, err)
}

// request prepares the next request, with mu held. One whose reply never came
// is sent again as it was, so that no range is lost with a reply, unless more
// is needed now.
func (c *Collection) request(now time.Duration) {
	var wanted int64
	if len(c.takers) > 0 {
		wanted = c.takers[0].n
	}
	if c.sent.token != "" && wanted <= c.sent.size {
		return
	}
	opts := &c.a.opts
	capacity := nextCapacity(c.capacity, now-c.asked, opts.MinCapacity, opts.MaxCapacity)
	c.sent = request{token: rand.Text(), size: capacity, capacity: capacity, at: now}
	if wanted >= capacity { // a range of its own, that tells nothing of the rate
		c.sent.size, c.sent.capacity = wanted, 0
	}
}

func (a *Allocator) newSpan(c *Collection, token string, got scripts.Range) (*span, error) {
	adds, err := a.server.adding(got)
	if err != nil {
		return nil, err
	}
	s := &span{
		size:  got.High - got.Low + 1,
		base:  got.Low - 1,
		head:  c.name + a.opts.Separator + adds.ServerPrefix,
		from:  adds,
		token: token,
		epoch: got.Epoch,
	}
	if adds.NodeTag != "" {
		s.tail = "-" + adds.NodeTag
	}
	return s, nil
}

// arrive takes the outcome of an attempt.
func (c *Collection) arrive(s *span, got scripts.Range, err error) {
	now := c.a.now()
	if err == nil || scripts.Answered(err) {
		c.a.server.report(now, nil)
	} else {
		c.a.server.report(now, err)
	}
	if got.Evidence != "" {
		logJump(c.a.opts.Logger, c.a.server.keys.HiLo(c.name), got)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.add(got)
	if err != nil {
		c.fail(attemptError(c.name, err))
		return
	}
	if c.sent.capacity > 0 {
		c.capacity, c.asked = c.sent.capacity, c.sent.at
	}
	c.sent = request{}
	c.backoff.reset()
	c.refused = nil
	c.serve(s)
	c.land(nil)
	if len(c.takers) > 0 {
		c.launch(now)
	}
	c.plan(now)
}

// serve gives a new range first to the callers of Take that it is large enough
// for, and keeps the rest, with mu held.
func (c *Collection) serve(s *span) {
	for len(c.takers) > 0 {
		t := c.takers[0]
		last, ok := s.carve(t.n)
		if !ok {
			break
		}
		t.got <- taken{batch: c.batch(s, last, t.n)}
		c.takers = c.takers[1:]
	}
	if s.left() == 0 {
		c.tally.apart += s.size
		return
	}
	c.ahead = append(c.ahead, s)
}

// fail ends the flight with an error for all that wait, with mu held. The next
// caller starts the next attempt, when its back-off has passed; so nobody
// retries for a collection that nobody uses.
func (c *Collection) fail(err error) {
	c.tally.failures++
	if scripts.Answered(err) {
		c.sent = request{}
		c.refused = err
		c.backoff.fail(c.a.now())
	}
	for _, t := range c.takers {
		t.got <- taken{err: err}
	}
	c.takers = nil
	c.land(err)
	if s := c.cur.Load(); s != nil {
		for !s.lookAfter(1) {
		}
	}
}
