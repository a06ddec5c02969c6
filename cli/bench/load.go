package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	Count    int64         // 0: no matter how many
	Duration time.Duration // 0: no matter how long
	Rate     int64         // a second, over all callers; 0: as fast as they can
	Patience time.Duration // how long a caller goes on without getting one
	OneIn    int           // of the calls that need no waiting, one in so many is timed

	start   time.Time
	callers []*caller
	stop    atomic.Bool // nobody is to begin another call
}

// caller is one goroutine of a load.
type caller struct {
	load     *load
	number   int
	from     source
	seen     histogram
	greatest time.Duration
	stall    stall
	untimed  int // calls that are not to be timed, before the next one that is
	ids      atomic.Int64
	waits    atomic.Int64
	failures int64
	_        [64]byte // what the neighbour counts is on another cache line
}

// taken is what came of a load.
type taken struct {
	progress
	failures int64
	latency  percentiles
	sampling sampling
}

// progress is what was done in a time.
type progress struct {
	elapsed time.Duration
	ids     int64
	waits   int64 // calls that waited, however often
}

func (p progress) perSecond() float64 { return float64(p.ids) / max(p.elapsed.Seconds(), 1e-9) }

// since is a line about what was done after another progress.
func (p progress) since(last progress) string {
	done := progress{p.elapsed - last.elapsed, p.ids - last.ids, p.waits - last.waits}
	return fmt.Sprintf("%3.0f s  %.0f ids/s  %d calls waited", p.elapsed.Seconds(), done.perSecond(), done.waits)
}

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

// run returns when all callers have ended: by the load's own end, by ctx, or because one of them failed for good.
// What was taken until then counts in any case.
func (l *load) run(ctx context.Context) (taken, error) {
	running, working := errgroup.WithContext(ctx)
	defer context.AfterFunc(working, func() { l.stop.Store(true) })()
	if l.Duration > 0 {
		end := l.Duration
		if l.Rate > 0 {
			end += 2 * l.period() // the schedule ends it, but for callers that cannot keep up
		}
		defer time.AfterFunc(end, func() { l.stop.Store(true) }).Stop()
	}
	for _, c := range l.callers {
		running.Go(func() error { return c.work(working) })
	}
	err := cmp.Or(running.Wait(), context.Cause(ctx))

	t, seen := taken{progress: l.soFar()}, make(histogram)
	var greatest time.Duration
	for _, c := range l.callers {
		t.failures += c.failures
		greatest = max(greatest, c.greatest)
		for at, n := range c.seen {
			seen[at] += n
		}
	}
	t.latency, t.sampling = summarize(seen, t.ids, greatest)
	t.sampling.OneIn = l.OneIn
	return t, err
}

func (l *load) now() time.Duration { return time.Since(l.start) }

// soFar may be asked while the callers run.
func (l *load) soFar() progress {
	p := progress{elapsed: l.now()}
	for _, c := range l.callers {
		p.ids += c.ids.Load()
		p.waits += c.waits.Load()
	}
	return p
}

// work takes this caller's share: of the calls of all, one after the other, every so manieth. At full speed all are due from
// the start. At a rate one call follows the other every 1/Rate of a second, and each is made when it is due. Nobody can sleep
// for so short a time, so a caller sleeps for a period and then makes the calls that have come due. It never makes one before
// it is due; if it wakes late, or a call keeps it, it makes up for that.
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
			for l.Rate == 0 && c.untimed > 0 && index+callers < l.Count && c.from.tryNext() { // as take does, and nothing in between
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

// take takes one identifier, which was due then; at full speed nothing ever is. To read the clock takes as long as to take
// a number that is in hand, so of those calls one in OneIn is timed: at random, since ranges are powers of two, and every
// hundredth call could always or never be the one that changes to the next range. A call that finds nothing in hand takes
// so long that the clock does not matter: each one is timed.
func (c *caller) take(ctx context.Context, due time.Duration) error {
	delay := c.stall.delay(due)
	if delay == 0 && c.untimed > 0 && c.from.tryNext() {
		c.untimed--
		return nil
	}
	began := c.load.now()
	inHand := c.from.tryNext()
	if !inHand {
		if err := c.await(ctx, began); err != nil {
			return err
		}
	}
	ended := c.load.now()
	lasted := delay + ended - began
	c.greatest = max(c.greatest, lasted)
	c.seen[place{rounded(lasted), !inHand || delay > 0}]++
	switch {
	case !inHand:
		c.stall.extend(due, began, ended)
	case delay == 0:
		c.untimed = rand.IntN(2*c.load.OneIn - 1)
	}
	return nil
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
		c.failures++
		if !errors.Is(err, allocator.ErrUnavailable) || c.ids.Load() == 0 || lasted > c.load.Patience {
			return err
		}
	}
}

// source gives identifiers to one caller.
type source struct {
	tryNext func() bool                     // takes one if that needs no waiting
	next    func(ctx context.Context) error // takes one, however long that takes
}

// rotation takes from collections in turn.
func rotation(collections []*allocator.Collection, at int) source {
	turn := func(taken bool) bool {
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
			return turn(ok)
		},
		next: func(ctx context.Context) error {
			_, err := collections[at].Next(ctx)
			turn(err == nil)
			return err
		},
	}
}

// due is when the call of an index is to be made.
func (l *load) due(index int64) time.Duration {
	if l.Rate == 0 {
		return 0
	}
	return time.Duration(float64(index) * (float64(time.Second) / float64(l.Rate)))
}

// period is the shortest sleep of a caller: longer where there are many, which would do nothing but wake up.
func (l *load) period() time.Duration {
	return max(time.Millisecond, time.Duration(len(l.callers))*20*time.Microsecond)
}

// stall is the latest time in which a caller could not ask because a call of its kept it waiting. Who only counts how
// long calls take leaves out those that could not be made meanwhile; here a call that came due in that time counts from
// when it was due.
type stall struct{ from, until time.Duration }

// delay is how long a call that was due then was held up.
func (s *stall) delay(due time.Duration) time.Duration {
	if due <= s.from {
		return 0
	}
	return max(0, s.until-due)
}

// extend adds a call that waited; it begins a stall of its own unless an earlier one held it up.
func (s *stall) extend(due, began, ended time.Duration) {
	if due >= s.until {
		s.from = began
	}
	s.until = ended
}
