package examine

import (
	"cmp"
	"context"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hilo-id/hilo/cli/internal/base"
)

// load makes calls on goroutines until Count or Duration is reached. The calls are numbered from 0, and goroutine g of n makes the
// calls g, g+n, g+2n and so on. At a rate call i is due after i/Rate seconds, and none is made early. A load runs once.
type load struct {
	Goroutines int
	Count      int64         // 0 means no limit
	Duration   time.Duration // 0 means no limit
	Rate       float64       // calls per second of all goroutines; 0 means full speed
	Period     time.Duration // minimum sleep of a goroutine at a rate
	Batch      int64         // maximum n of Take
	// Take makes up to n calls of a goroutine, which begin with the given one, and returns how many it made. An error ends the load.
	Take func(ctx context.Context, goroutine int, first, n int64) (made int64, err error)

	start time.Time
	stop  atomic.Bool // no call is started any more
}

// begin starts the schedule.
func (l *load) begin() {
	l.start, l.Count = time.Now(), cmp.Or(l.Count, math.MaxInt64)
	if l.Rate > 0 && l.Duration > 0 {
		l.Count = min(l.Count, int64(math.Ceil(l.Duration.Seconds()*l.Rate))) // as many come due in Duration
	}
}

// run makes the calls. It returns the error that ended the load, or the cause if ctx ends.
func (l *load) run(ctx context.Context) error {
	running, working := errgroup.WithContext(ctx)
	defer context.AfterFunc(working, func() { l.stop.Store(true) })()
	if l.Duration > 0 {
		end := l.Duration
		if l.Rate > 0 {
			end += 2 * l.Period // Count ends the load first, unless the goroutines are late
		}
		defer time.AfterFunc(end, func() { l.stop.Store(true) }).Stop()
	}
	for g := range l.Goroutines {
		running.Go(func() error { return l.work(working, g) })
	}
	return cmp.Or(running.Wait(), context.Cause(ctx))
}

// work makes the calls of one goroutine. It cannot sleep for as short a time as a call takes, so it sleeps for a period and then
// makes all calls that have come due. When it is late it catches up.
func (l *load) work(ctx context.Context, goroutine int) error {
	all, end := int64(l.Goroutines), l.due(l.Count)
	next := int64(goroutine)
	if l.Rate > 0 {
		base.Sleep(ctx, l.Period*time.Duration(goroutine)/time.Duration(all)-l.now())
	}
	for next < l.Count && !l.stop.Load() {
		woke := l.now()
		for n := l.ready(next, woke); n > 0 && !l.stop.Load(); n = l.ready(next, woke) {
			made, err := l.Take(ctx, goroutine, next, n)
			if err != nil {
				return err
			}
			next += made * all
		}
		base.Sleep(ctx, min(end, max(l.due(next), woke+l.Period))-l.now())
	}
	return nil
}

// ready returns how many calls of a goroutine, from next on, are due at a time, at most Batch.
func (l *load) ready(next int64, at time.Duration) int64 {
	last := l.Count - 1
	if l.Rate > 0 {
		last = min(last, int64(at.Seconds()*l.Rate)+1)
		for last >= next && l.due(last) > at { // by one or two, for the rounding
			last--
		}
	}
	if last < next {
		return 0
	}
	return min(l.Batch, (last-next)/int64(l.Goroutines)+1)
}

// due returns the scheduled time of a call. At full speed there is no schedule, and it is 0.
func (l *load) due(call int64) time.Duration {
	if l.Rate == 0 {
		return 0
	}
	return time.Duration(float64(call) * (float64(time.Second) / l.Rate))
}

func (l *load) now() time.Duration { return time.Since(l.start) }
