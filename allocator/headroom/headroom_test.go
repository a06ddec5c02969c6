package headroom

import (
	"math"
	"strings"
	"testing"
)

func TestHeadroomEndsAtEachBound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		limit int64
		top   int64
		bound [3]string
		left  [3]int64
		used  [3]float64
	}{
		{
			"of a new counter", math.MaxInt64, 0,
			[3]string{"2^31-1", "2^53-1", "2^63-1"}, [3]int64{math.MaxInt32, 1<<53 - 1, math.MaxInt64}, [3]float64{0, 0, 0},
		},
		{
			"past two", math.MaxInt64, 1 << 53,
			[3]string{"2^31-1", "2^53-1", "2^63-1"}, [3]int64{0, 0, math.MaxInt64 - 1<<53}, [3]float64{100, 100, 100.0 / 1024},
		},
		{
			"to a limit", 1000, 250,
			[3]string{"2^31-1", "2^53-1", "1000"}, [3]int64{math.MaxInt32 - 250, 1<<53 - 251, 750}, [3]float64{25000.0 / math.MaxInt32, 25000.0 / (1<<53 - 1), 25},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for i, h := range To(test.limit, test.top, 2) {
				if h.Bound != test.bound[i] || h.Left != test.left[i] || math.Abs(h.Used-test.used[i]) > 1e-9 {
					t.Errorf("%+v, want %s, %d, %v", h, test.bound[i], test.left[i], test.used[i])
				}
				if *h.SecondsLeft != float64(h.Left)/2 {
					t.Errorf("%s: %v s", h.Bound, *h.SecondsLeft)
				}
			}
		})
	}
	for limit, want := range map[int64]string{math.MaxInt32: "2^53-1 2^31-1", 1<<53 - 1: "2^31-1 2^53-1", math.MaxInt64: "2^31-1 2^53-1 2^63-1"} {
		var got []string
		for _, h := range To(limit, 1, 0) {
			got = append(got, h.Bound)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("bounds of a limit of %d: got %s, want %s", limit, got, want)
		}
	}
	for _, h := range At(1, 0) {
		if h.SecondsLeft != nil {
			t.Errorf("%+v: at no rate", h)
		}
	}
}

func TestWithinCountsTheNumbersOfAnInterval(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		top  int64
		left int64
		used float64
	}{
		{"a missing counter", 0, 1000, 0},
		{"half", 9500, 500, 50},
		{"the end", 10_000, 0, 100},
		{"past it", 10_001, 0, 100},
	}
	for _, test := range tests {
		all := Within(9001, 10_000, test.top, 0)
		if h := all[len(all)-1]; h.Bound != "10000" || h.Left != test.left || h.Used != test.used {
			t.Errorf("%s: got %+v, want %d left of 10000 and %v%% used", test.name, h, test.left, test.used)
		}
	}
	if h := Within(1<<40, 1<<41, 0, 0)[0]; h.Left != 0 || h.Used != 100 {
		t.Errorf("an interval above 2^31: got %+v, want nothing left", h)
	}
}

func TestBoundsNamesThoseOfDifferentLimits(t *testing.T) {
	t.Parallel()
	for want, limits := range map[string][]int64{
		"2^31-1 2^53-1 2^63-1": {math.MaxInt64, math.MaxInt64}, "2^31-1 2^53-1 limit": {math.MaxInt64, math.MaxInt32}, "2^53-1 2^31-1": {math.MaxInt32},
	} {
		if got := strings.Join(Bounds(limits...), " "); got != want {
			t.Errorf("bounds of %d: got %s, want %s", limits, got, want)
		}
	}
	all := To(math.MaxInt32, 7, 0)
	if got := Find(all, "2^31-1"); got != all[1] {
		t.Errorf("got %+v, want %+v", got, all[1])
	}
	if got := Find(all, "limit"); got != all[1] {
		t.Errorf("without such a bound: got %+v, want the last, %+v", got, all[1])
	}
}
