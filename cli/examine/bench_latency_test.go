package examine

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRoundedLatencyIsNear(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// All orders of magnitude are equally likely.
		d := time.Duration(rapid.Int64Range(0, 1<<rapid.IntRange(0, 62).Draw(t, "size")-1).Draw(t, "duration"))
		top := rounded(d)
		if top < d || float64(top) > float64(d)*(1+1.0/64) || rounded(top) != top {
			t.Fatalf("%v is rounded to %v, and that to %v", d, top, rounded(top))
		}
		if next := rounded(top + 1); next <= top {
			t.Fatalf("%v is rounded to %v, but the next duration after that to %v", d, top, next)
		}
	})
}

func TestRoundedLatencies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		d, want time.Duration
	}{
		{"nothing", 0, 0},
		{"a clock that goes back", -time.Second, 0},
		{"the last exact value", 127, 127},
		{"the first rounded value", 128, 129},
		{"a bound", 129, 129},
		{"the greatest", math.MaxInt64, math.MaxInt64},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := rounded(test.d); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

// A thousand of a million calls with numbers in hand were timed, and so were all of the 1,500 calls that waited.
func TestEstimateWeighsTheSample(t *testing.T) {
	t.Parallel()
	seen := make(histogram)
	for i := range 1000 {
		seen[bucket{rounded(time.Duration(51 + i%50)), false}]++
	}
	for i := range 1500 {
		seen[bucket{rounded(time.Duration(i+1) * time.Microsecond), true}]++
	}
	calls, s := seen.estimate(1_001_500)
	p := percentilesOf(calls, 1500*time.Microsecond)
	if s.Timed != 1000 || s.Waited != 1500 {
		t.Errorf("%+v", s)
	}
	if p.P50 != 75 && p.P50 != 76 || p.P99 > 100 || p.Greatest != 1_500_000 {
		t.Errorf("%+v", p)
	}
	about(t, "p99.9", p.P999, 500*time.Microsecond) // 1,001 of the calls were longer
	about(t, "p99.99", p.P9999, 1400*time.Microsecond)
}

func TestPercentilesOfFewCalls(t *testing.T) {
	t.Parallel()
	if calls, s := histogram(nil).estimate(0); len(calls) > 0 || s != (sampling{}) {
		t.Errorf("got %v, %+v, want none", calls, s)
	}
	if p := percentilesOf(nil, 0); p != (percentiles{}) {
		t.Errorf("got %+v, want none", p)
	}
	// The sample has no call that found a number in hand.
	one := histogram{bucket{rounded(100), true}: 1}
	calls, _ := one.estimate(50)
	if p := percentilesOf(calls, 100); p != (percentiles{100, 100, 100, 100, 100}) {
		t.Errorf("got %+v", p)
	}
}

func TestClockCostIsShort(t *testing.T) {
	t.Parallel()
	if cost := clockCost(); cost < 0 || cost > time.Millisecond {
		t.Errorf("%v", cost)
	}
}
