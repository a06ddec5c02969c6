package allocator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// runRefill gets a range from the first server that issues one, and ends the refill with it or with an error for all callers
// that wait. A caller that gives up does not cancel it, only a Close that runs out of time does. A *fleet.CeilingError is
// returned, and the refill goes on after it.
func (c *Collection) runRefill() error {
	var made *span
	err := c.a.fleet.First(func(s *fleet.Server, last bool) (err error) {
		made, err = c.attempt(s, last)
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.As(err, new(*fleet.CeilingError)) && !c.closed:
		return err
	case err != nil:
		c.fail(err)
	default:
		c.install(made)
	}
	return nil
}

// attempt asks one server for a range. last reports that there is no better server to ask. Only Fleet.Abort cancels it.
func (c *Collection) attempt(s *fleet.Server, last bool) (*span, error) {
	sent, err := c.prepare(s)
	if err != nil {
		return nil, err
	}
	reply, err := s.Issue(context.Background(), fleet.Request{
		Kind: fleet.Range, Name: c.name, Count: sent.size, Limit: c.a.opts.Limit, Token: sent.token, Last: last,
	})
	return c.recordReply(reply, err)
}

// prepare chooses the size and the token of the next request, to s. One without a reply is repeated as it was, so that no range is
// lost with a reply. At another server it has another token.
func (c *Collection) prepare(s *fleet.Server) (request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return request{}, fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	if c.sent != nil {
		if c.sent.to != s {
			c.sent.to, c.sent.token = s, rand.Text()
		}
		return *c.sent, nil
	}
	opts, now := &c.a.opts, c.a.fleet.Now()
	capacity := nextCapacity(c.capacity, now-c.asked, opts.MinCapacity, opts.MaxCapacity)
	if c.refill != nil { // at least twice as many as callers wait for one
		capacity = max(capacity, min(2*c.refill.callers.Load(), opts.MaxCapacity))
	}
	c.sent = &request{to: s, token: rand.Text(), size: capacity, capacity: capacity, at: now}
	if len(c.waiters) > 0 && c.waiters[0].n >= capacity { // a range of its own, which is no measure of the rate
		c.sent.size, c.sent.capacity = c.waiters[0].n, 0
	}
	return *c.sent, nil
}

// recordReply records the reply to a request and returns its range.
func (c *Collection) recordReply(reply fleet.Reply, err error) (*span, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply.Evidence != "" {
		c.tally.jumps++
	}
	if err == nil {
		return newSpan(c, reply), nil
	}
	if reply.Low > 0 { // in conflict, and discarded
		c.tally.add(reply.High - reply.Low + 1)
	}
	if reply.Low > 0 || scripts.Answered(err) || errors.As(err, new(*fleet.CeilingError)) {
		c.sent = nil
	}
	return nil, err
}

func newSpan(c *Collection, reply fleet.Reply) *span {
	made := &span{
		size:    reply.High - reply.Low + 1,
		base:    reply.Low - 1,
		head:    c.name + c.a.opts.Separator + reply.Issuer.Desc.ServerPrefix,
		from:    reply.Issuer,
		token:   reply.Token,
		epoch:   reply.Epoch,
		written: reply.Written,
		before:  reply.Before,
	}
	if tag := reply.Issuer.Desc.NodeTag; tag != "" {
		made.tail = "-" + tag
	}
	return made
}

// install adds a new range to those in hand, unless Close has stopped waiting for it, with mu held.
func (c *Collection) install(s *span) {
	if c.sent.capacity > 0 {
		c.capacity, c.asked = c.sent.capacity, c.sent.at
	}
	c.sent = nil
	c.backoff = fleet.Backoff{}
	c.failed = nil
	c.tally.add(s.size) // together with the range, which would look burnt until then
	if !c.sealed {
		c.distribute(s)
	}
	c.finishRefill(nil)
	now := c.a.fleet.Now()
	if len(c.waiters) > 0 {
		c.startRefill(now)
	}
	c.plan(now)
}

// distribute serves the waiting callers of Take from a new range, as far as it is large enough, and keeps the rest, with mu
// held.
func (c *Collection) distribute(s *span) {
	for len(c.waiters) > 0 {
		t := c.waiters[0]
		last, ok := s.carve(t.n)
		if !ok {
			break
		}
		t.got <- result{batch: c.batch(s, last, t.n)}
		c.waiters = c.waiters[1:]
	}
	if s.left() == 0 {
		c.tally.apart += s.size
		return
	}
	c.ahead = append(c.ahead, s)
}

// fail ends the refill with an error for all callers that wait, with mu held. The next call, or the recovery of a server,
// starts the next attempt.
func (c *Collection) fail(err error) {
	if !errors.Is(err, ErrClosed) { // canceled
		c.tally.failures++
	}
	if c.failed = err; failure.Refused(err) {
		c.backoff.Fail(c.a.fleet.Now(), fleet.MaxBackoff)
	}
	for _, t := range c.waiters { // there may be enough in hand for a caller behind a larger one
		if batch, ok := c.fromHand(c.a.fleet.Now(), t.n); ok {
			t.got <- result{batch: batch}
		} else {
			t.got <- result{err: err}
		}
	}
	c.waiters = nil
	c.finishRefill(err)
	if s := c.cur.Load(); s != none {
		for !s.lookAfter(1) {
		}
	}
}
