package bench

import (
	"context"
	"math"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
)

// keepPace takes the identifiers that the schedule has for this caller, each when it is due: of the callers' calls
// together, one follows the other every 1/Rate of a second. Nobody can sleep for so short a time, so a caller sleeps
// for a period and then makes the calls that have come due. It never makes one before it is due; if it wakes late,
// or a call keeps it, it makes up for that.
func (c *caller) keepPace(ctx context.Context) error {
	l := c.load
	callers, calls, period := int64(len(l.callers)), l.scheduled(), l.period()
	end := l.due(calls) // when the next one would be due
	index := int64(c.number)
	l.pause(ctx, period*time.Duration(c.number)/time.Duration(callers))
	for !l.stop.Load() {
		woke := l.now()
		for ; index < calls && l.due(index) <= woke && !l.stop.Load(); index += callers {
			if err := c.take(ctx, l.due(index)); err != nil {
				return err
			}
			c.ids.Add(1)
		}
		if index >= calls {
			l.pause(ctx, end)
			return nil
		}
		l.pause(ctx, min(end, max(l.due(index), woke+period)))
	}
	return nil
}

// due is when the call of an index is to be made.
func (l *load) due(index int64) time.Duration {
	return time.Duration(float64(index) * (float64(time.Second) / float64(l.Rate)))
}

// scheduled is how many calls come due before the end.
func (l *load) scheduled() int64 {
	calls := int64(math.MaxInt64)
	if l.Count > 0 {
		calls = l.Count
	}
	if l.Duration > 0 {
		calls = int64(min(float64(calls), math.Ceil(l.Duration.Seconds()*float64(l.Rate))))
	}
	return calls
}

// period is the shortest sleep of a caller: longer where there are many, which would do nothing but wake up.
func (l *load) period() time.Duration {
	return max(time.Millisecond, time.Duration(len(l.callers))*20*time.Microsecond)
}

// pause returns when the time has come or ctx has ended.
func (l *load) pause(ctx context.Context, until time.Duration) {
	if rest := until - l.now(); rest > 0 {
		base.Sleep(ctx, rest)
	}
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
