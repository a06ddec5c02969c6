package examine

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// timedLoad measures the latency of the calls of a load.
type timedLoad struct {
	load
	From     issuer
	Patience time.Duration // maximum time for which a caller retries one call
	OneIn    int           // one in so many calls that do not wait is timed
	callers  []*caller
}

// issuer issues identifiers, as an allocator.Collection does.
type issuer interface {
	TryNext() (id string, inHand bool)
	Next(ctx context.Context) (string, error)
}

// caller is one goroutine of a timedLoad.
type caller struct {
	*timedLoad
	seen     histogram
	greatest time.Duration
	blocked  interval
	untimed  int // calls until the next one that is timed
	ids      atomic.Int64
	waits    atomic.Int64
	_        [64]byte // keeps the counters of two callers on different cache lines
}

// loadResult is the measurement of a load.
type loadResult struct {
	loadProgress
	latency  percentiles
	sampling sampling
}

// loadProgress is a snapshot of a load.
type loadProgress struct {
	elapsed time.Duration
	ids     int64
	waits   int64 // calls that waited at least once
}

func (p loadProgress) perSecond() float64 { return float64(p.ids) / max(p.elapsed.Seconds(), 1e-9) }

// begin starts the schedule.
func (l *timedLoad) begin() {
	l.OneIn, l.Batch = max(l.OneIn, 1), 1024
	// A period grows with the number of goroutines, because waking up takes processor time.
	l.Period = max(time.Millisecond, time.Duration(l.Goroutines)*20*time.Microsecond)
	for range l.Goroutines {
		l.callers = append(l.callers, &caller{timedLoad: l, seen: make(histogram)})
	}
	l.Take = func(ctx context.Context, goroutine int, first, n int64) (int64, error) {
		return n, l.callers[goroutine].takeAll(ctx, first, n)
	}
	l.load.begin()
}

// measure runs the load until its own end, until ctx ends, or until a caller fails permanently. The result covers all calls until
// then, even with an error.
func (l *timedLoad) measure(ctx context.Context) (loadResult, error) {
	err := l.run(ctx)
	result, seen := loadResult{loadProgress: l.snapshot()}, make(histogram)
	var greatest time.Duration
	for _, c := range l.callers {
		greatest = max(greatest, c.greatest)
		for at, n := range c.seen {
			seen[at] += n
		}
	}
	var calls map[time.Duration]float64
	calls, result.sampling = seen.estimate(result.ids)
	result.latency, result.sampling.OneIn = percentilesOf(calls, greatest), l.OneIn
	return result, err
}

// snapshot may be called while the callers run.
func (l *timedLoad) snapshot() loadProgress {
	p := loadProgress{elapsed: l.now()}
	for _, c := range l.callers {
		p.ids += c.ids.Load()
		p.waits += c.waits.Load()
	}
	return p
}

// takeAll makes n calls, and fewer if the load is stopped.
func (c *caller) takeAll(ctx context.Context, first, n int64) error {
	for i := int64(0); i < n && !c.stop.Load(); {
		if err := c.take(ctx, c.due(first+i*int64(c.Goroutines))); err != nil {
			return err
		}
		taken := int64(1)
		for ; c.Rate == 0 && c.untimed > 0 && i+taken < n && c.tryNext(); taken++ { // take, without its overhead
			c.untimed--
		}
		c.ids.Add(taken)
		i += taken
	}
	return nil
}

// take takes one identifier that is due. Reading the clock takes as long as taking a number in hand, so one in OneIn of these calls is
// timed. The sample is random because the sizes of ranges are powers of two: every hundredth call could always, or never, be
// the one that changes to the next range. A call that waits takes much longer than reading the clock and is always timed.
func (c *caller) take(ctx context.Context, due time.Duration) error {
	delay := c.blocked.delay(due)
	if delay == 0 && c.untimed > 0 && c.tryNext() {
		c.untimed--
		return nil
	}
	began := c.now()
	inHand := c.tryNext()
	if !inHand {
		if err := c.wait(ctx, began); err != nil {
			return err
		}
	}
	ended := c.now()
	lasted := delay + ended - began
	c.greatest = max(c.greatest, lasted)
	c.seen[bucket{rounded(lasted), !inHand || delay > 0}]++
	switch {
	case !inHand:
		c.blocked.extend(due, began, ended)
	case delay == 0:
		c.untimed = rand.IntN(2*c.OneIn - 1)
	}
	return nil
}

// tryNext takes an identifier without waiting, and reports whether one was in hand.
func (c *caller) tryNext() bool {
	_, inHand := c.From.TryNext()
	return inHand
}

// wait takes an identifier that is not in hand. While the server is unavailable it retries at the pace of the allocator's
// back-off. A caller that has not received an identifier yet fails at once.
func (c *caller) wait(ctx context.Context, began time.Duration) error {
	c.waits.Add(1)
	for {
		_, err := c.From.Next(ctx)
		if err == nil {
			return nil
		}
		lasted := c.now() - began
		c.greatest = max(c.greatest, lasted) // includes failures
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, allocator.ErrUnavailable) || c.ids.Load() == 0 || lasted > c.Patience {
			return err
		}
	}
}

// interval is the last time in which a caller made no calls because one of them waited. Timing only the calls that were made
// hides those that could not start (coordinated omission), so a call that came due in the interval is timed from its due time.
type interval struct{ from, until time.Duration }

// delay returns how long the interval delayed a call.
func (i *interval) delay(due time.Duration) time.Duration {
	if due <= i.from {
		return 0
	}
	return max(0, i.until-due)
}

// extend adds a call that waited. A call that was due in the interval extends it, and a later one begins a new interval.
func (i *interval) extend(due, began, ended time.Duration) {
	if due >= i.until {
		i.from = began
	}
	i.until = ended
}
