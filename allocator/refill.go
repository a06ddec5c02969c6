package allocator

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// flight is one refill, shared by all that wait for it. It belongs to the collection's mu until done is closed, which
// is when it is over; err is set before that, and says why no range came. timer is set while it waits for a back-off to
// pass, cancel while an attempt is under way.
type flight struct {
	done   chan struct{}
	err    error
	timer  *time.Timer
	cancel context.CancelFunc
}

// wait blocks until it makes sense to try again: it puts the next range in use or waits for the refill under way, each
// caller as long as its own ctx lasts.
func (c *Collection) wait(ctx context.Context) error {
	f, err := c.refillOrAdvance()
	if f == nil || err != nil {
		return err
	}
	if ctx.Err() == nil { // else a refill that is over already might win
		c.waits.Add(1)
		select {
		case <-f.done:
			return f.err
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended(ctx)
}

// ended is the error of a caller whose ctx is done: that, and why there was nothing for it until then. With mu held.
func (c *Collection) ended(ctx context.Context) error {
	why := c.refused
	if why == nil {
		if _, down := c.a.gate(0); down != nil {
			why = attemptError(c.name, down)
		}
	}
	return ended(ctx, c.name, why)
}

// refillOrAdvance puts the next range in use, or else gives the refill to wait for.
func (c *Collection) refillOrAdvance() (*flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	now := c.a.now()
	if c.advance(now) {
		return nil, nil
	}
	return c.launch(now), nil
}

// inHand reports whether the range in use has numbers left.
func (c *Collection) inHand() bool {
	return c.cur.Load().left() > 0
}

// advance puts the next range in use when the current one is used up, with mu held. It reports whether there are
// numbers in hand.
func (c *Collection) advance(now time.Duration) bool {
	for !c.inHand() {
		if len(c.ahead) == 0 {
			return false
		}
		c.tally.used += c.cur.Load().size
		c.cur.Store(c.ahead[0])
		c.ahead[0] = nil
		c.ahead = c.ahead[1:]
	}
	c.plan(now)
	return true
}

// lookAhead is for the caller that reached the mark.
func (c *Collection) lookAhead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan(c.a.now())
}

// plan fetches the next range when less is held than the horizon takes, or marks where in the range to look again, with
// mu held. While a refill is under way nobody needs to look: it plans again when it lands.
//
// The next look is at least a step away, a part of what the horizon takes, and the step is held on top. Without it
// looks could come to follow one another: they slow the callers down, so that less is wanted, so that what is held
// remains just enough, and the next number is reason to look again.
func (c *Collection) plan(now time.Duration) {
	s := c.cur.Load()
	if c.closed || s == none {
		return
	}
	if c.flight != nil {
		s.lookAfter(s.size + 1)
		return
	}
	var ahead int64
	for _, next := range c.ahead {
		ahead += next.left()
	}
	want := c.demand.want(now, c.tally.used+s.used(), c.a.horizon())
	step := max(1, want/64)
	for {
		spare := s.left() + ahead - want
		if spare < step {
			c.launch(now)
			s.lookAfter(s.size + 1)
			return
		}
		if s.lookAfter(max(step, spare/2)) {
			return
		}
	}
}

// launch starts a refill unless one is under way, with mu held. It begins when the back-off of the collection and of
// the server have passed.
func (c *Collection) launch(now time.Duration) *flight {
	if c.flight != nil {
		return c.flight
	}
	f := &flight{done: make(chan struct{})}
	c.flight = f
	delay, _ := c.a.gate(now)
	if delay = max(delay, c.backoff.wait(now)); delay > 0 {
		f.timer = time.AfterFunc(delay, func() { c.a.refills.push(c) })
	} else {
		c.a.refills.push(c)
	}
	return f
}

// land ends the flight, with mu held. Whoever waited for it looks again, or gets err.
func (c *Collection) land(err error) {
	f := c.flight
	c.flight = nil
	f.err = err
	close(f.done)
}

// refillers bounds the goroutines of one allocator, and with them its concurrent requests, however many collections it
// has.
const refillers = 32

// queue runs refills on up to refillers goroutines, which end when there is nothing left to do. The zero value needs
// run.
type queue struct {
	run func(*Collection)

	mu      sync.Mutex // guards what follows; below Collection.mu
	waiting []*Collection
	running int
	workers sync.WaitGroup
}

func (q *queue) push(c *Collection) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, c)
	if q.running < refillers {
		q.running++
		q.workers.Go(q.work)
	}
}

func (q *queue) work() {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.waiting = nil
			q.running--
			q.mu.Unlock()
			return
		}
		c := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.run(c)
	}
}
