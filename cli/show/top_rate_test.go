package show

import (
	"math"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/target"
)

// rates polls a counter once a second and returns its rate at each poll, or -1 if it is unknown.
func rates(t *testing.T, seconds int, maxAt func(second float64) int64) (all []float64) {
	t.Helper()
	s := newState([]target.Target{{Name: "north"}}, math.MaxInt64)
	for second := range seconds {
		maximum := maxAt(float64(second))
		s.merge(at(float64(second), counterOf("orders", maximum, int64(second), 0)))
		c := s.servers[0].counters["orders"]
		if got, want := len(c.meter.points), int(rateWindow/ratePoint)+2; got > want {
			t.Fatalf("got %d points after %d s, want at most %d", got, second, want)
		}
		if !c.rated {
			all = append(all, -1)
		} else {
			all = append(all, c.rate)
		}
	}
	return all
}

// ranges returns the Max of a worker that uses perSecond numbers a second from the start until a time, in ranges of a size. It
// reserves a range when the one before is used.
func ranges(perSecond, size, until float64) func(float64) int64 {
	return func(second float64) int64 {
		return int64(size * (1 + math.Floor(min(second, until)*perSecond/size)))
	}
}

func TestTotalRateIsUnknownUntilTheFirstRate(t *testing.T) {
	t.Parallel()
	s := newState([]target.Target{{Name: "north"}}, math.MaxInt64)
	figure := func() string { return (top{}).summarize(s).Rate.Figure }
	if got := figure(); got != "0/s" {
		t.Errorf("no counter: got %q, want 0/s", got)
	}
	for second, want := range []string{unknown, "32.0/s"} {
		s.merge(at(float64(second), counterOf("orders", 32*int64(1+second), int64(second), 0)))
		if got := figure(); got != want {
			t.Errorf("poll %d: got %q, want %q", second, got, want)
		}
	}
}

func TestMeterIsExactFromTheSecondRangeOn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		perSecond, size float64
		seconds, exact  int
		tolerance       float64
	}{
		{"large ranges", 300, 8192, 1200, 85, 0.03},
		{"small ranges", 300, 32, 1200, 30, 0.03},
		{"one by one", 300, 1, 1200, 5, 0.03},
		{"a range each six minutes", 1, 360, 3600, 725, 0.03},
		{"slower than the window", 0.02, 32, 20000, 3300, 0.03},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := rates(t, test.seconds, ranges(test.perSecond, test.size, math.Inf(1)))
			if got[0] != -1 {
				t.Errorf("got %g after one poll, want an unknown rate", got[0])
			}
			for second, rate := range got {
				off := math.Abs(rate-test.perSecond) / test.perSecond
				if second >= test.exact && off > test.tolerance {
					t.Fatalf("got %g after %d s, want %g within %g %%", rate, second, test.perSecond, 100*test.tolerance)
				}
			}
		})
	}
}

// TestMeterFallsToZero stops a worker, after which the rate falls slowly.
func TestMeterFallsToZero(t *testing.T) {
	t.Parallel()
	got := rates(t, 1000, ranges(300, 8192, 400))
	for second := 400; second < 999; second++ {
		if got[second+1] > got[second] || got[second]-got[second+1] > 100 {
			t.Errorf("got %g after %d s, then %g, want a slow fall", got[second], second, got[second+1])
		}
	}
	if got := got[400+int(rateWindow/time.Second)]; got != 0 {
		t.Errorf("got %g five minutes after the last range, want 0", got)
	}
}

// TestMeterLeavesOutReturnedNumbers has a worker that uses 5 of 32 numbers a second and returns the rest.
func TestMeterLeavesOutReturnedNumbers(t *testing.T) {
	t.Parallel()
	got := rates(t, 600, func(second float64) int64 {
		if int(second)%2 == 1 {
			return 5*int64(second) + 32
		}
		return 5 * int64(second)
	})
	for second, rate := range got[20:] {
		if rate < 4 || rate > 6.5 {
			t.Fatalf("got %g after %d s, want 5", rate, second+20)
		}
	}
}

// TestMeterLeavesOutJumps restarts the server of three workers, which use 60 numbers a second together. The counter jumps, and then
// each of them reserves a range within three seconds.
func TestMeterLeavesOutJumps(t *testing.T) {
	t.Parallel()
	const size, perSecond, restart, jump = 512, 60.0, 200, 3_000_000
	s := newState([]target.Target{{Name: "north"}}, math.MaxInt64)
	taken := int64(0)
	for second := range 600 {
		counter := counterOf("orders", 0, 0, 0)
		for worker := range 3 {
			taken = max(taken, int64(float64(second)*perSecond/size)+1)
			if second > restart+worker { // what it holds is reserved once more
				taken = max(taken, int64(float64(second)*perSecond/size)+int64(worker)+1)
			}
		}
		counter.Max, counter.Ranges = taken*size, taken
		if second > restart {
			counter.Max, counter.Jumps = counter.Max+jump, 1
		}
		result := at(float64(second), counter)
		if second == restart+1 {
			result.counters[0].low = counter.Max - size + 1
		}
		s.merge(result)
		if rate := s.servers[0].counters["orders"].rate; second > 60 && math.Abs(rate-perSecond) > perSecond/5 {
			t.Fatalf("got %g a second after %d s, want about %g", rate, second, perSecond)
		}
	}
	if got := s.servers[0].counters["orders"].jumps; len(got) != 1 || got[0].By < jump {
		t.Errorf("got the jumps %+v, want one", got)
	}
}
