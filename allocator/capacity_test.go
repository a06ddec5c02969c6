package allocator

import (
	"testing"
	"time"
)

func TestNextCapacityMatchesTheVectors(t *testing.T) {
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
		t.Errorf("at 1000/s: got %d, want 13000", steady)
	}
	if got := d.want(now, total, horizon); got != steady {
		t.Errorf("asked again at once: %d, want %d", got, steady)
	}
	if got := d.want(now+10*horizon, total, horizon); got > 2 {
		t.Errorf("after a long idle time it wants %d", got)
	}
}
