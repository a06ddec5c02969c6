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

// load is a number of callers that take identifiers, each as fast as it can or all together at a rate, until the
// first of Count and Duration is reached.
type load struct {
	Count    int64         // 0 means no limit
	Duration time.Duration // 0 means no limit
	Rate     int64         // a second, over all callers; 0 means full speed
	Patience time.Duration // how long a caller retries without getting one
	OneIn    int           // of the calls that do not wait, one in so many is timed

	start   time.Time
	callers []*caller
	stop    atomic.Bool // no caller begins another call
}

// caller is one goroutine of a load.
type caller struct {
	load     *load
	number   int
	from     source
	seen     histogram
	greatest time.Duration
	blocked  interval
	untimed  int // calls before the next one that is timed
	ids      atomic.Int64
	waits    atomic.Int64
	failures int64
	_        [64]byte // keeps the counters of two callers on different cache lines
}

// loadResult is what a load measured.
type loadResult struct {
	loadProgress
	failures int64
	latency  percentiles
	sampling sampling
	calls    map[time.Duration]float64 // by their latency, estimated
	progress []loadProgress            // from the start to the end, about every 100 ms
}

// loadProgress is what was done so far.
type loadProgress struct {
	elapsed time.Duration
	ids     int64
	waits   int64 // calls that waited, once or more
}

func (p loadProgress) perSecond() float64 { return float64(p.ids) / max(p.elapsed.Seconds(), 1e-9) }

func newLoad(l *load, sources []source) *load {
	l.OneIn, l.start = max(l.OneIn, 1), time.Now()
	l.Count = cmp.Or(l.Count, math.MaxInt64)
	if l.Rate > 0 && l.Duration > 0 { // no more come due before the end
		l.Count = min(l.Count, int64(math.Ceil(l.Duration.Seconds()*float64(l.Rate))))
	}
	for i, from := range sources {
		l.callers = append(l.callers, &caller{load: l, number: i, from: from, seen: make(histogram)})
	}
	return l
}

// run returns when all callers have ended: by the load's own end, by ctx, or because one of them failed for good. The result
// is of all calls until then.
func (l *load) run(ctx context.Context) (loadResult, error) {
	running, working := errgroup.WithContext(ctx)
	defer context.AfterFunc(working, func() { l.stop.Store(true) })()
	if l.Duration > 0 {
		end := l.Duration
		if l.Rate > 0 {
			end += 2 * l.period() // the schedule ends it, unless callers are late
		}
		defer time.AfterFunc(end, func() { l.stop.Store(true) }).Stop()
	}
	for _, c := range l.callers {
		running.Go(func() error { return c.work(working) })
	}
	err := cmp.Or(running.Wait(), context.Cause(ctx))

	result, seen := loadResult{loadProgress: l.soFar()}, make(histogram)
	var greatest time.Duration
	for _, c := range l.callers {
		result.failures += c.failures
		greatest = max(greatest, c.greatest)
		for at, n := range c.seen {
			seen[at] += n
		}
	}
	result.calls, result.sampling = seen.estimate(result.ids)
	result.latency, result.sampling.OneIn = percentilesOf(result.calls, greatest), l.OneIn
	return result, err
}

func (l *load) now() time.Duration { return time.Since(l.start) }

// soFar may be called while the callers run.
func (l *load) soFar() loadProgress {
	p := loadProgress{elapsed: l.now()}
	for _, c := range l.callers {
		p.ids += c.ids.Load()
		p.waits += c.waits.Load()
	}
	return p
}

// work makes this caller's calls: of n callers, the first makes call 0, n, 2n and so on. At full speed all are due from the
// start. At a rate, a call is due every 1/Rate of a second and is never made early. No goroutine can sleep for so short a time,
// so a caller sleeps for a period and then makes the calls that have come due. It catches up when it is late.
func (c *caller) work(ctx context.Context) error {
	l := c.load
	callers, period := int64(len(l.callers)), l.period()
	end := l.due(l.Count) // when the next one would be due
	index := int64(c.number)
	if l.Rate > 0 {
		base.Sleep(ctx, period*time.Duration(c.number)/time.Duration(callers)-l.now())
	}
	for !l.stop.Load() {
		woke := l.now()
		for ; index < l.Count && l.due(index) <= woke && !l.stop.Load(); index += callers {
			if err := c.take(ctx, l.due(index)); err != nil {
				return err
			}
			taken := int64(1)
			for l.Rate == 0 && c.untimed > 0 && index+callers < l.Count && c.from.tryNext() { // as take does, with nothing in between
				c.untimed--
				index += callers
				taken++
			}
			c.ids.Add(taken)
		}
		if index >= l.Count {
			base.Sleep(ctx, end-l.now())
			return nil
		}
		base.Sleep(ctx, min(end, max(l.due(index), woke+period))-l.now())
	}
	return nil
}

// take takes one identifier, which was due then, or at full speed at no time. Reading the clock takes as long as taking
// a number in hand, so one in OneIn of these calls is timed. They are chosen at random: ranges are powers of two, so every
// hundredth call could always or never be the one that changes to the next range. A call that finds none in hand takes
// so long that the clock does not matter, and is always timed.
func (c *caller) take(ctx context.Context, due time.Duration) error {
	delay := c.blocked.delay(due)
	if delay == 0 && c.untimed > 0 && c.from.tryNext() {
		c.untimed--
		return nil
	}
	began := c.load.now()
	inHand := c.from.tryNext()
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

// wait takes an identifier that is not in hand. While the server is unavailable it retries, as often as the allocator's back-off
// permits; but a caller that never got an identifier fails at once.
func (c *caller) wait(ctx context.Context, began time.Duration) error {
	c.waits.Add(1)
	for {
		err := c.from.next(ctx)
		if err == nil {
			return nil
		}
		lasted := c.load.now() - began
		c.greatest = max(c.greatest, lasted) // also if it fails
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.failures++
		if !errors.Is(err, allocator.ErrUnavailable) || c.ids.Load() == 0 || lasted > c.load.Patience {
			return err
		}
	}
}

// source issues identifiers to one caller.
type source struct {
	tryNext func() bool                     // takes one if it is in hand
	next    func(ctx context.Context) error // takes one, and may wait
}

// rotation returns a source that takes from collections in turn.
func rotation(collections []*allocator.Collection, at int) source {
	advance := func(taken bool) bool {
		if taken {
			if at++; at == len(collections) {
				at = 0
			}
		}
		return taken
	}
	return source{
		tryNext: func() bool {
			_, ok := collections[at].TryNext()
			return advance(ok)
		},
		next: func(ctx context.Context) error {
			_, err := collections[at].Next(ctx)
			advance(err == nil)
			return err
		},
	}
}

// due returns when the call of an index is to be made.
func (l *load) due(index int64) time.Duration {
	if l.Rate == 0 {
		return 0
	}
	return time.Duration(float64(index) * (float64(time.Second) / float64(l.Rate)))
}

// period returns the shortest sleep of a caller. It is longer with many callers, which would spend their time on waking up.
func (l *load) period() time.Duration {
	return max(time.Millisecond, time.Duration(len(l.callers))*20*time.Microsecond)
}

// interval is the newest time in which a caller made no calls because one of them waited. Timing only the calls that were made
// hides those that could not start (coordinated omission); here a call that came due in the interval is timed from then.
type interval struct{ from, until time.Duration }

// delay returns how late a call is that was due then.
func (i *interval) delay(due time.Duration) time.Duration {
	if due <= i.from {
		return 0
	}
	return max(0, i.until-due)
}

// extend adds a call that waited. It begins a new interval unless it was due in this one.
func (i *interval) extend(due, began, ended time.Duration) {
	if due >= i.until {
		i.from = began
	}
	i.until = ended
}
