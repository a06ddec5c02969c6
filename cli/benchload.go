package cli

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// load is a number of callers that take identifiers, each as fast as it can or all together at a rate, until the
// first of Count and Duration is reached.
type load struct {
	Count    int64         // 0: no matter how many
	Duration time.Duration // 0: no matter how long
	Rate     int64         // a second, over all callers; 0: as fast as they can
	Patience time.Duration // how long a caller goes on without getting one
	OneIn    int           // of the calls that need no waiting, one in so many is timed

	start   time.Time
	callers []caller
	stripes []latencies
	claimed atomic.Int64 // of Count, at full speed
	stop    atomic.Bool  // nobody is to begin another call
}

// caller is one goroutine of a load.
type caller struct {
	load     *load
	number   int
	from     source
	seen     *latencies
	greatest time.Duration
	ids      atomic.Int64
	waits    atomic.Int64
	failures atomic.Int64
	_        [64]byte // what the neighbour counts is on another cache line
}

// taken is what came of a load.
type taken struct {
	ids      int64
	waits    int64 // calls that waited, however often
	failures int64
	elapsed  time.Duration
	latency  percentiles
	sampling sampling
}

func (t taken) perSecond() float64 { return float64(t.ids) / max(t.elapsed.Seconds(), 1e-9) }

// stripesAtMost bounds what the histograms need.
const stripesAtMost = 64

func newLoad(l *load, sources []source) *load {
	l.OneIn = max(l.OneIn, 1)
	l.callers = make([]caller, len(sources))
	l.stripes = make([]latencies, min(len(sources), stripesAtMost))
	for i := range l.callers {
		c := &l.callers[i]
		c.load, c.number, c.from, c.seen = l, i, sources[i], &l.stripes[i%len(l.stripes)]
	}
	return l
}

// run returns when all callers have ended: by the load's own end, by ctx, or because one of them failed for good.
// What was taken until then counts in any case.
func (l *load) run(ctx context.Context) (taken, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { l.stop.Store(true) })()
	l.start = time.Now()
	if l.Duration > 0 {
		end := l.Duration
		if l.Rate > 0 {
			end += 2 * l.period() // the schedule ends it, but for callers that cannot keep up
		}
		defer time.AfterFunc(end, func() { l.stop.Store(true) }).Stop()
	}
	var running sync.WaitGroup
	for i := range l.callers {
		running.Go(func() {
			if err := l.callers[i].work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()

	t := taken{elapsed: l.now()}
	var greatest time.Duration
	for i := range l.callers {
		t.failures += l.callers[i].failures.Load()
		greatest = max(greatest, l.callers[i].greatest)
	}
	t.ids, t.waits = l.soFar()
	t.latency, t.sampling = summarize(l.stripes, t.ids, greatest)
	t.sampling.OneIn = l.OneIn
	return t, context.Cause(ctx)
}

func (l *load) now() time.Duration { return time.Since(l.start) }

// soFar may be asked while the callers run.
func (l *load) soFar() (ids, waits int64) {
	for i := range l.callers {
		ids += l.callers[i].ids.Load()
		waits += l.callers[i].waits.Load()
	}
	return ids, waits
}

func (c *caller) work(ctx context.Context) error {
	if c.load.Rate > 0 {
		return c.keepPace(ctx)
	}
	return c.rush(ctx)
}

// rush takes identifiers at full speed. To read the clock takes as long as to take a number that is in hand, so one
// call in OneIn is timed: the last of a portion, whose size is random, since ranges are powers of two and every
// hundredth call could always or never be the one that changes to the next range. A call that finds nothing in hand
// takes so long that the clock does not matter: each one is timed.
func (c *caller) rush(ctx context.Context) error {
	for !c.load.stop.Load() {
		portion := c.load.claim(1 + rand.Int64N(int64(2*c.load.OneIn-1)))
		if portion == 0 {
			return nil
		}
		left, err := c.takePortion(ctx, portion)
		c.ids.Add(portion - left)
		if err != nil {
			return err
		}
	}
	return nil
}

// claim is how many of n identifiers a caller may take, so that all callers together take Count.
func (l *load) claim(n int64) int64 {
	if l.Count == 0 {
		return n
	}
	return max(0, min(n, l.Count-(l.claimed.Add(n)-n)))
}

// takePortion gives what is left of the portion, which is something only after an error or a stop.
func (c *caller) takePortion(ctx context.Context, portion int64) (int64, error) {
	for left := portion; ; {
		for left > 1 && c.from.tryNext() {
			left--
		}
		began := c.load.now()
		if left == 1 && c.from.tryNext() {
			c.saw(&c.seen.inHand, c.load.now()-began)
			return 0, nil
		}
		if err := c.await(ctx, began); err != nil {
			return left, err
		}
		c.saw(&c.seen.waited, c.load.now()-began)
		if left--; left == 0 || c.load.stop.Load() {
			return left, nil
		}
	}
}

func (c *caller) saw(h *histogram, d time.Duration) {
	h.add(d)
	c.greatest = max(c.greatest, d)
}

// await takes an identifier that was not in hand. Where the server fails it tries again, which the allocator lets
// happen only as often as its back-off permits; but a caller that never got one gives up at once.
func (c *caller) await(ctx context.Context, began time.Duration) error {
	c.waits.Add(1)
	for {
		err := c.from.next(ctx)
		if err == nil {
			return nil
		}
		lasted := c.load.now() - began
		c.greatest = max(c.greatest, lasted) // it counts, whatever comes of it
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.failures.Add(1)
		if !errors.Is(err, allocator.ErrUnavailable) || c.ids.Load() == 0 || lasted > c.load.Patience {
			return err
		}
	}
}
