package examine

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
)

// load runs callers that take identifiers until Count or Duration is reached.
type load struct {
	From     source
	Callers  int
	Count    int64         // 0 means no limit
	Duration time.Duration // 0 means no limit
	Rate     int64         // calls per second of all callers; 0 means full speed
	Patience time.Duration // maximum time for which a caller retries one call
	OneIn    int           // one in so many calls that do not wait is timed

	start   time.Time
	callers []*caller
	stop    atomic.Bool // no caller starts another call
}

// source issues identifiers, as an allocator.Collection does.
type source interface {
	TryNext() (id string, inHand bool)
	Next(ctx context.Context) (string, error)
}

// caller is one goroutine of a load.
type caller struct {
	load     *load
	number   int
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

func newLoad(l *load) *load {
	l.OneIn, l.start = max(l.OneIn, 1), time.Now()
	l.Count = cmp.Or(l.Count, math.MaxInt64)
	if l.Rate > 0 && l.Duration > 0 {
		l.Count = min(l.Count, int64(math.Ceil(l.Duration.Seconds()*float64(l.Rate)))) // as many come due in Duration
	}
	for i := range l.Callers {
		l.callers = append(l.callers, &caller{load: l, number: i, seen: make(histogram)})
	}
	return l
}

// run runs the load until its own end, until ctx ends, or until a caller fails permanently. The result covers all calls until
// then, even with an error.
func (l *load) run(ctx context.Context) (loadResult, error) {
	running, working := errgroup.WithContext(ctx)
	defer context.AfterFunc(working, func() { l.stop.Store(true) })()
	if l.Duration > 0 {
		end := l.Duration
		if l.Rate > 0 {
			end += 2 * l.period() // Count ends the load first, unless the callers are late
		}
		defer time.AfterFunc(end, func() { l.stop.Store(true) }).Stop()
	}
	for _, c := range l.callers {
		running.Go(func() error { return c.run(working) })
	}
	err := cmp.Or(running.Wait(), context.Cause(ctx))

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

func (l *load) now() time.Duration { return time.Since(l.start) }

// snapshot may be called while the callers run.
func (l *load) snapshot() loadProgress {
	p := loadProgress{elapsed: l.now()}
	for _, c := range l.callers {
		p.ids += c.ids.Load()
		p.waits += c.waits.Load()
	}
	return p
}

// run makes every nth call of the load, where n is the number of callers. At full speed all calls are due at the start. At a
// rate one is due every 1/Rate seconds, and none is made early. A goroutine cannot sleep for so short a time, so the caller
// sleeps for a period and then makes all calls that have come due. A caller that is late catches up.
func (c *caller) run(ctx context.Context) error {
	l := c.load
	callers, period := int64(l.Callers), l.period()
	end := l.due(l.Count)
	index := int64(c.number)
	if l.Rate > 0 {
		base.Sleep(ctx, period*time.Duration(c.number)/time.Duration(callers)-l.now())
	}
	for index < l.Count && !l.stop.Load() {
		woke := l.now()
		for ; index < l.Count && l.due(index) <= woke && !l.stop.Load(); index += callers {
			if err := c.take(ctx, l.due(index)); err != nil {
				return err
			}
			taken := int64(1)
			for l.Rate == 0 && c.untimed > 0 && index+callers < l.Count && c.tryNext() { // take, without its overhead
				c.untimed--
				index += callers
				taken++
			}
			c.ids.Add(taken)
		}
		base.Sleep(ctx, min(end, max(l.due(index), woke+period))-l.now())
	}
	return nil
}

// take takes one identifier. Reading the clock takes as long as taking a number in hand, so one in OneIn of these calls is
// timed. The sample is random because the sizes of ranges are powers of two: every hundredth call could always, or never, be
// the one that changes to the next range. A call that waits takes much longer than reading the clock and is always timed.
func (c *caller) take(ctx context.Context, due time.Duration) error {
	delay := c.blocked.delay(due)
	if delay == 0 && c.untimed > 0 && c.tryNext() {
		c.untimed--
		return nil
	}
	began := c.load.now()
	inHand := c.tryNext()
	if !inHand {
		if err := c.wait(ctx, began); err != nil {
			return err
		}
	}
	ended := c.load.now()
	lasted := delay + ended - began
	c.greatest = max(c.greatest, lasted)
	c.seen[bucket{rounded(lasted), !inHand || delay > 0}]++
	switch {
	case !inHand:
		c.blocked.extend(due, began, ended)
	case delay == 0:
		c.untimed = rand.IntN(2*c.load.OneIn - 1)
	}
	return nil
}

// tryNext takes an identifier without waiting, and reports whether one was in hand.
func (c *caller) tryNext() bool {
	_, inHand := c.load.From.TryNext()
	return inHand
}

// wait takes an identifier that is not in hand. While the server is unavailable it retries at the pace of the allocator's
// back-off. A caller that has not received an identifier yet fails at once.
func (c *caller) wait(ctx context.Context, began time.Duration) error {
	c.waits.Add(1)
	for {
		_, err := c.load.From.Next(ctx)
		if err == nil {
			return nil
		}
		lasted := c.load.now() - began
		c.greatest = max(c.greatest, lasted) // includes failures
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, allocator.ErrUnavailable) || c.ids.Load() == 0 || lasted > c.load.Patience {
			return err
		}
	}
}

// due returns the scheduled time of a call. At full speed there is no schedule, and it is 0.
func (l *load) due(index int64) time.Duration {
	if l.Rate == 0 {
		return 0
	}
	return time.Duration(float64(index) * (float64(time.Second) / float64(l.Rate)))
}

// period returns the minimum sleep of a caller. It grows with the number of callers, because waking up takes processor time.
func (l *load) period() time.Duration {
	return max(time.Millisecond, time.Duration(l.Callers)*20*time.Microsecond)
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
