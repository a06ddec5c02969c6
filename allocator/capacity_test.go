package allocator

import (
	"testing"
	"time"
)

func TestNextCapacityGivesTheKnownAnswers(t *testing.T) {
	t.Parallel()
	type row struct {
		Last    int64
		Seconds *float64
		Want    int64
	}
	for _, row := range vectors[row](t, "capacity.json") {
		last, since := int64(0), time.Duration(0) // a first request has none before it
		if row.Seconds != nil {
			last, since = row.Last, time.Duration(*row.Seconds*float64(time.Second))
		}
		if got := nextCapacity(last, since, defaultMinCapacity, defaultMaxCapacity); got != row.Want {
			t.Errorf("after %d and %v: %d, want %d", row.Last, since, got, row.Want)
		}
	}
}

func TestDemandFollowsTheRate(t *testing.T) {
	t.Parallel()
	const horizon = 13 * time.Second
	var d demand
	if got := d.want(time.Microsecond, 16, horizon); got != 16 {
		t.Errorf("a burst at the start wants %d, want no more than it used, 16", got)
	}
	d = demand{}
	now, total := time.Duration(0), int64(0)
	var steady int64
	for range 100 {
		now += time.Second
		total += 1000
		steady = d.want(now, total, horizon)
	}
	if steady < 12_900 || steady > 13_001 {
		t.Errorf("1000/s wants %d, want 13000", steady)
	}
	if got := d.want(now, total, horizon); got != steady {
		t.Errorf("asked again at once: %d, want %d", got, steady)
	}
	if got := d.want(now+10*horizon, total, horizon); got > 2 {
		t.Errorf("after a long idle time it wants %d", got)
	}
}

func TestBackoffDelayDoublesUpToItsBoundAndIsSpread(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for failures, want := range []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second} {
		if low, high := backoffDelay(failures, longestBackoff, 0), backoffDelay(failures, longestBackoff, 1); low != want/2 || high != want {
			t.Errorf("failure %d: %v to %v, want %v to %v", failures, low, high, want/2, want)
		}
	}
	if got := backoffDelay(1<<30, longestBackoffOfMany, 1); got != longestBackoffOfMany {
		t.Errorf("after very many failures: %v", got)
	}
}

func TestBackoffCountsSimultaneousFailuresOnce(t *testing.T) {
	t.Parallel()
	var b backoff
	for range 32 {
		b.fail(time.Minute, longestBackoff)
	}
	if b.failures != 1 || b.wait(time.Minute) > firstBackoff {
		t.Errorf("after 32 failures at one time: %+v", b)
	}
}
