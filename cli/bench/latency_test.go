package bench

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestABucketIsNearWhatIsInIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Of all sizes alike.
		d := time.Duration(rapid.Int64Range(0, 1<<rapid.IntRange(0, 62).Draw(t, "size")-1).Draw(t, "duration"))
		b := bucketOf(d)
		if top := edge(b); top < d || float64(top) > float64(d)*(1+1.0/bucketsPerDoubling) {
			t.Fatalf("%v is in bucket %d, up to %v", d, b, top)
		}
		if b > 0 && edge(b-1) >= d {
			t.Fatalf("%v is in bucket %d, but the one before goes up to %v", d, b, edge(b-1))
		}
	})
}

func TestBucketsBeginAndEndWhereTheyShould(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		d      time.Duration
		bucket int
	}{
		{"nothing", 0, 0},
		{"a clock that goes back", -time.Second, 0},
		{"the last alone in its bucket", 127, 127},
		{"the first that is not", 128, 128},
		{"its neighbour", 129, 128},
		{"the greatest", math.MaxInt64, 58*bucketsPerDoubling - 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := bucketOf(test.d); got != test.bucket {
				t.Errorf("%d, want %d", got, test.bucket)
			}
		})
	}
}

// TestASampleStandsForWhatWasNotTimed: of a million calls in hand a thousand are timed, all of the 1,500 that waited are.
func TestASampleStandsForWhatWasNotTimed(t *testing.T) {
	t.Parallel()
	seen := make(histogram)
	for i := range 1000 {
		seen[place{bucketOf(time.Duration(51 + i%50)), false}]++
	}
	for i := range 1500 {
		seen[place{bucketOf(time.Duration(i+1) * time.Microsecond), true}]++
	}
	p, s := summarize(seen, 1_001_500, 1500*time.Microsecond)
	if s.Timed != 1000 || s.Waited != 1500 {
		t.Errorf("%+v", s)
	}
	if p.P50 != 75 && p.P50 != 76 || p.P99 > 100 || p.Greatest != 1_500_000 {
		t.Errorf("%+v", p)
	}
	about(t, "p99.9", p.P999, 500*time.Microsecond) // 1,001 of the calls were longer
	about(t, "p99.99", p.P9999, 1400*time.Microsecond)
}

func TestPercentilesOfNextToNothing(t *testing.T) {
	t.Parallel()
	if p, s := summarize(nil, 0, 0); p != (percentiles{}) || s != (sampling{}) {
		t.Errorf("%+v, %+v", p, s)
	}
	// None of those in hand was in the sample.
	one := histogram{place{bucketOf(100), true}: 1}
	if p, _ := summarize(one, 50, 100); p != (percentiles{100, 100, 100, 100, 100}) {
		t.Errorf("%+v", p)
	}
}

func TestTheClockCostsSomethingAndNotMuch(t *testing.T) {
	t.Parallel()
	if cost := clockCost(); cost < 0 || cost > time.Millisecond {
		t.Errorf("%v", cost)
	}
}
