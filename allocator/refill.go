package allocator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
)

// wait puts the next range in use, or waits for the refill in flight until the caller's ctx ends. After nil the caller tries
// again.
func (c *Collection) wait(ctx context.Context) error {
	f, err := c.refillOrAdvance()
	if f == nil || err != nil {
		return err
	}
	if ctx.Err() == nil { // otherwise a refill that has ended could win the select
		c.waits.Add(1)
		f.callers.Add(1)
		select {
		case <-f.done:
			return f.err
		case <-ctx.Done():
			f.callers.Add(-1)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended(ctx)
}

// ended returns the error of a caller whose ctx is done, with the reason why it got nothing until then. mu is held.
func (c *Collection) ended(ctx context.Context) error {
	why := c.failed
	if !failure.Refused(why) {
		_, why = c.a.fleet.RetryDelay(c.name, c.a.fleet.Servers()...)
		why = errors.Join(why, c.a.fleet.WhyWaiting(fleet.Range, c.name))
	}
	return failure.Ended(ctx, c.name, why)
}

// refillOrAdvance puts the next range in use, or returns the refill to wait for.
func (c *Collection) refillOrAdvance() (*refill, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	now := c.a.fleet.Now()
	if c.advance(now) {
		return nil, nil
	}
	return c.startRefill(now), nil
}

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

// plan fetches the next range if less is held than the horizon takes, or else marks the index at which to check again, with
// mu held. A refill in flight plans again when it ends.
//
// The next check is at least a step away, a fraction of what the horizon takes, and the step is held on top. Without a
// minimum step every call could trigger a check. Checks slow the callers, which lowers demand, which keeps the stock just
// above the threshold.
func (c *Collection) plan(now time.Duration) {
	s := c.cur.Load()
	if c.closed || s == none {
		return
	}
	if c.refill != nil {
		s.lookAfter(s.size + 1)
		return
	}
	var ahead int64
	for _, next := range c.ahead {
		ahead += next.left()
	}
	want := c.demand.want(now, c.tally.used+s.used(), c.a.horizon)
	step := max(1, want/64)
	for {
		spare := s.left() + ahead - want
		if spare < step {
			c.startRefill(now)
			s.lookAfter(s.size + 1)
			return
		}
		if s.lookAfter(max(step, spare/2)) {
			return
		}
	}
}

// startRefill starts a refill unless one is in flight, with mu held. The first attempt follows the back-off of the collection
// and of the servers.
func (c *Collection) startRefill(now time.Duration) *refill {
	if c.refill != nil {
		return c.refill
	}
	f := &refill{done: make(chan struct{})}
	c.refill = f
	delay, _ := c.a.fleet.RetryDelay(c.name, c.a.fleet.Servers()...)
	f.timer = time.AfterFunc(max(delay, c.backoff.Wait(now)), c.goRefill)
	return f
}

// goRefill runs a refill in the background as soon as there is a slot. It has none while it waits for a ceiling, which may take
// seconds, so that other collections are served.
func (c *Collection) goRefill() {
	c.a.refilling.Go(func() {
		for again := true; again; {
			c.a.refillSlots <- struct{}{}
			err := c.runRefill()
			<-c.a.refillSlots
			again = c.a.fleet.AwaitRaise(err)
		}
	})
}

// finishRefill ends the refill, with mu held. Its callers try again, or return err.
func (c *Collection) finishRefill(err error) {
	f := c.refill
	c.refill = nil
	f.err = err
	close(f.done)
}

const (
	growWithin = 30 * time.Second
	shrinkPast = 60 * time.Second
)

// nextCapacity returns the size of the next range. last is the size of the range before it, or 0. It is doubled if the next
// range is requested within 30 s, and halved after more than 60 s, as RavenDB's clients do.
func nextCapacity(last int64, since time.Duration, minCapacity, maxCapacity int64) int64 {
	switch {
	case last == 0:
		return minCapacity
	case since < growWithin:
		return min(last*2, maxCapacity)
	case since > shrinkPast:
		return max(last/2, minCapacity)
	default:
		return last
	}
}

// demand measures how fast numbers are used, which decides how many to hold. total is the number of numbers used until the
// last measurement, at the time at, and weight the number of those used in the horizon before it, with older ones fading.
type demand struct {
	weight float64
	total  int64
	at     time.Duration
}

// want returns how many numbers the horizon takes at the current rate. The rate is a running mean over the last horizon, so
// that it never exceeds what was used lately and a short burst does not count as a rate.
func (d *demand) want(now time.Duration, total int64, horizon time.Duration) int64 {
	if elapsed := now - d.at; elapsed > 0 {
		fade := math.Exp(-elapsed.Seconds() / horizon.Seconds())
		rate := float64(total-d.total) / elapsed.Seconds()
		d.weight = d.weight*fade + rate*horizon.Seconds()*(1-fade)
		d.total, d.at = total, now
	}
	return int64(math.Ceil(d.weight))
}
