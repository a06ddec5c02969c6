package allocator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// refill gets a range from the first server that gives one, on a goroutine of
// the queue: no caller who leaves cancels it, only a Close that runs out of
// time.
func (a *Allocator) refill(c *Collection) {
	var failures []error
	for _, s := range a.inOrder() {
		got, err := c.attempt(s)
		if err == nil {
			c.arrive(got)
			return
		}
		if refused(err) || errors.Is(err, ErrClosed) {
			failures = []error{err}
			break
		}
		failures = append(failures, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(errors.Join(failures...))
}

// inOrder is the servers in the order in which a refill asks them: those that
// were left for others come last and are asked for want of a better. They may be
// back, and an error while one server is up helps nobody.
func (a *Allocator) inOrder() []*server {
	if len(a.servers) == 1 {
		return a.servers
	}
	now := a.now()
	var first, last []*server
	for _, s := range a.servers {
		if s.isLeft(now) {
			last = append(last, s)
		} else {
			first = append(first, s)
		}
	}
	return append(first, last...)
}

// attempt asks one server, unless it failed a moment ago.
func (c *Collection) attempt(s *server) (*span, error) {
	a := c.a
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	now := a.now()
	if wait, down := s.gate(now); wait > 0 { // somebody else tried meanwhile
		c.mu.Unlock()
		return nil, s.failed(c.name, down)
	}
	c.request(s, now)
	request := scripts.NextRequest{
		Token:         c.sent.token,
		Name:          c.name,
		Capacity:      c.sent.size,
		Limit:         a.opts.Limit,
		GuardGap:      a.opts.GuardGap,
		RequireSeeded: a.opts.RequireSeeded,
	}
	uncalled, callOff := context.WithCancel(context.Background())
	defer callOff()
	c.flight.cancel = callOff
	c.mu.Unlock()

	t := &c.counter.taught[s.index]
	keys := scripts.Keys{Counter: s.keys.HiLo(c.name), Server: s.keys.Server(), Other: s.keys.Identity(c.name)}
	c.counter.refilling.Lock()
	defer c.counter.refilling.Unlock()
	ctx, cancel := context.WithTimeout(uncalled, a.opts.attemptTimeout()) // not before it is this one's turn
	defer cancel()
	began := a.now()
	request.Floor, _, request.LeastGap = s.recall(t, began)
	got, err := s.backend.next(ctx, keys, request)

	now = a.now()
	if got.High > 0 { // also where it was not confirmed
		s.remember(t, now, got)
	}
	if got.Evidence != "" {
		s.jumped(keys.Counter, got)
	}
	var made *span
	if err == nil {
		made, err = a.newSpan(c, s, request.Token, got)
	}
	off := err != nil && uncalled.Err() != nil // called off by Close: it says nothing about the server
	if !off {
		s.count(&s.refills, now-began, err)
		s.report(now, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if got.Evidence != "" {
		c.tally.jumps++
	}
	if err != nil {
		if got.High > 0 { // discarded
			c.tally.add(got.High - got.Low + 1)
		}
		if scripts.Answered(err) || got.High > 0 {
			c.sent = nil
		}
		if off {
			return nil, fmt.Errorf("%s: %w", c.name, ErrClosed)
		}
		return nil, s.failed(c.name, err)
	}
	return made, nil
}

// request prepares the next request to a server, with mu held. One whose reply
// never came is sent again as it was, so that no range is lost with a reply,
// unless more is needed now or it was another server.
func (c *Collection) request(s *server, now time.Duration) {
	var wanted int64
	if len(c.takers) > 0 {
		wanted = c.takers[0].n
	}
	if c.sent != nil && c.sent.server == s && wanted <= c.sent.size {
		return
	}
	opts := &c.a.opts
	capacity := nextCapacity(c.capacity, now-c.asked, opts.MinCapacity, opts.MaxCapacity)
	c.sent = &sending{server: s, token: rand.Text(), size: capacity, capacity: capacity, at: now}
	if wanted >= capacity { // a range of its own, that tells nothing of the rate
		c.sent.size, c.sent.capacity = wanted, 0
	}
}

// newSpan makes a range of what a server gave, unless its identifiers could be
// another server's too.
func (a *Allocator) newSpan(c *Collection, s *server, token string, got scripts.Range) (*span, error) {
	from, err := a.source(s, got)
	if err != nil {
		return nil, err
	}
	made := &span{
		size:  got.High - got.Low + 1,
		base:  got.Low - 1,
		head:  c.name + a.opts.Separator + from.ServerPrefix,
		from:  from,
		token: token,
		epoch: got.Epoch,
		order: got.Ranges,
		after: got.Before,
	}
	if from.NodeTag != "" {
		made.tail = "-" + from.NodeTag
	}
	return made, nil
}

// arrive puts a new range in hand, unless Close has stopped waiting for it.
func (c *Collection) arrive(s *span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent.capacity > 0 {
		c.capacity, c.asked = c.sent.capacity, c.sent.at
	}
	c.sent = nil
	c.backoff.reset()
	c.refused = nil
	c.tally.add(s.size) // not before it is in hand, else it would look burnt until then
	if c.sealed {
		c.land(nil)
		return
	}
	c.serve(s)
	c.land(nil)
	now := c.a.now()
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
	if !errors.Is(err, ErrClosed) { // called off
		c.tally.failures++
	}
	if refused(err) {
		c.refused = err
		c.backoff.fail(c.a.now(), longestBackoff)
	}
	for _, t := range c.takers {
		t.got <- taken{err: err}
	}
	c.takers = nil
	c.land(err)
	if s := c.cur.Load(); s != none {
		for !s.lookAfter(1) {
		}
	}
}
