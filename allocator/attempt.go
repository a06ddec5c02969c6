package allocator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// refill gets a range from the first server that gives one, on a goroutine of the queue: no caller who leaves cancels
// it, only a Close that runs out of time.
func (a *Allocator) refill(c *Collection) {
	var made *span
	err := a.firstOf(func(s *server, last bool) (err error) {
		made, err = c.attempt(s, last)
		return err
	})
	c.end(made, err)
}

// firstOf asks the servers one after the other until one serves. A server that was left for others is asked last, for
// want of a better one: it may be back, and an error while one server is up helps nobody. An error that another server
// could not help with ends it.
func (a *Allocator) firstOf(ask func(s *server, last bool) error) error {
	now := a.now()
	var first, last []*server
	for _, s := range a.servers {
		if len(a.servers) > 1 && !s.isLeft(now) {
			first = append(first, s)
		} else {
			last = append(last, s)
		}
	}
	var failures []error
	for i, s := range append(first, last...) {
		err := ask(s, i >= len(first))
		if err == nil {
			return nil
		}
		if !anotherMayHelp(err) {
			return err
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// attempt asks one server; last: there is no better one to ask.
func (c *Collection) attempt(s *server, last bool) (*span, error) {
	c.counter.asking.Lock()
	defer c.counter.asking.Unlock()
	uncalled, callOff := context.WithCancel(context.Background())
	defer callOff()
	sent, err := c.prepare(uncalled, callOff, s, last)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(uncalled, c.a.opts.attemptTimeout()) // not before it is this one's turn
	defer cancel()
	began := c.a.now()
	got, err := s.backend.next(ctx, s.keysOf(c.name), sent.request)
	return c.settle(s, sent, began, got, err)
}

// inquiry is one request to one server, ready to be sent.
type inquiry struct {
	request scripts.NextRequest
	ctx     context.Context //nolint:containedctx // it lives as long as the inquiry: Close calls that off
}

// prepare makes the next request to a server, with the counter's asking held: it is what this client knows of the
// counter now that nothing else is under way. It gives an error when somebody else found the server away meanwhile.
// Close calls off the request by ctx.
func (c *Collection) prepare(ctx context.Context, callOff context.CancelFunc, s *server, last bool) (inquiry, error) {
	a := c.a
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return inquiry{}, fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	now := a.now()
	if down := s.gate(now, last); down != nil {
		return inquiry{}, s.failed(c.name, down)
	}
	c.request(s, now)
	known := s.recall(&c.counter.told[s.index])
	c.flight.cancel = callOff
	return inquiry{
		ctx: ctx,
		request: scripts.NextRequest{
			Token:         c.sent.token,
			Name:          c.name,
			Capacity:      c.sent.size,
			Limit:         a.opts.Limit,
			Floor:         known.Floor,
			Epoch:         known.Epoch,
			GuardGap:      a.opts.GuardGap,
			LeastGap:      known.LeastGap(now),
			RequireSeeded: a.opts.RequireSeeded,
			RequirePrefix: a.opts.RequirePrefix || len(a.servers) > 1,
		},
	}, nil
}

// settle takes in what a server answered, with the counter's asking still held, so that the next request knows of it.
func (c *Collection) settle(s *server, sent inquiry, began time.Duration, got scripts.Range, err error) (*span, error) {
	a, now := c.a, c.a.now()
	given := got.High > 0 // also where it was not confirmed
	if given {
		s.remember(&c.counter.told[s.index], now, got)
	}
	if got.Evidence != "" {
		s.jumped(s.keys.HiLo(c.name), got)
	}
	var from *source
	if err == nil {
		from, err = a.accept(sent.ctx, s, began, got)
		if identity, ok := a.lines.Load(lineKey{s, s.keys.Identity(c.name)}); ok && err == nil {
			err = s.onlyKind(s.keys.HiLo(c.name), got, &identity.(*line).told)
		}
	}
	off := err != nil && errors.Is(sent.ctx.Err(), context.Canceled) // called off by Close: it says nothing about the server
	if !off {
		err = a.inTime(err)
		s.count(&s.refills, now-began, err)
		s.report(a.now(), err, false) // a check may have taken long
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if got.Evidence != "" {
		c.tally.jumps++
	}
	switch {
	case err == nil:
		return newSpan(c, from, sent.request.Token, got), nil
	case given: // discarded
		c.tally.add(got.High - got.Low + 1)
	}
	if scripts.Answered(err) || given {
		c.sent = nil
	}
	if off {
		return nil, fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	return nil, s.failed(c.name, err)
}

// request chooses token and size of the next request to a server, with mu held. One whose reply never came is sent
// again as it was, so that no range is lost with a reply, unless it was another server.
func (c *Collection) request(s *server, now time.Duration) {
	if c.sent != nil && c.sent.server == s {
		return
	}
	var wanted int64
	if len(c.takers) > 0 {
		wanted = c.takers[0].n
	}
	opts := &c.a.opts
	capacity := nextCapacity(c.capacity, now-c.asked, opts.MinCapacity, opts.MaxCapacity)
	c.sent = &sending{server: s, token: rand.Text(), size: capacity, capacity: capacity, at: now}
	if wanted >= capacity { // a range of its own, that tells nothing of the rate
		c.sent.size, c.sent.capacity = wanted, 0
	}
}

// newSpan makes a range of what a server gave.
func newSpan(c *Collection, from *source, token string, got scripts.Range) *span {
	made := &span{
		size:    got.High - got.Low + 1,
		base:    got.Low - 1,
		head:    c.name + c.a.opts.Separator + from.ServerPrefix,
		from:    from,
		token:   token,
		epoch:   got.Epoch,
		written: got.Written,
		before:  got.Before,
	}
	if from.NodeTag != "" {
		made.tail = "-" + from.NodeTag
	}
	return made
}

// end ends the flight with a range or with an error for all that wait.
func (c *Collection) end(made *span, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.fail(err)
		return
	}
	c.arrive(made)
}

// arrive puts a new range in hand, unless Close has stopped waiting for it, with mu held.
func (c *Collection) arrive(s *span) {
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

// serve gives a new range first to the callers of Take that it is large enough for, and keeps the rest, with mu held.
func (c *Collection) serve(s *span) {
	for len(c.takers) > 0 {
		t := c.takers[0]
		last, ok := s.carve(t.n)
		if !ok {
			break
		}
		t.got <- takeResult{batch: c.batch(s, last, t.n)}
		c.takers = c.takers[1:]
	}
	if s.left() == 0 {
		c.tally.apart += s.size
		return
	}
	c.ahead = append(c.ahead, s)
}

// fail ends the flight with an error for all that wait, with mu held. The next caller starts the next attempt, when its
// back-off has passed; so nobody retries for a collection that nobody uses.
func (c *Collection) fail(err error) {
	if !errors.Is(err, ErrClosed) { // called off
		c.tally.failures++
	}
	if refused(err) {
		c.refused = err
		c.backoff.fail(c.a.now(), longestBackoff)
	}
	for _, t := range c.takers { // there may be enough in hand for one that waits behind a larger one
		if batch, ok := c.fromHand(c.a.now(), t.n); ok {
			t.got <- takeResult{batch: batch}
		} else {
			t.got <- takeResult{err: err}
		}
	}
	c.takers = nil
	c.land(err)
	if s := c.cur.Load(); s != none {
		for !s.lookAfter(1) {
		}
	}
}
