package headroom

import (
	"math"
	"testing"
)

func TestTimeLeftIsBrief(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		top  int64
		rate float64
		want [3]string
	}{
		{"nothing known", 1, 0, [3]string{"–", "–", "–"}},
		{"slow", 0, 1, [3]string{"68.0 y", "285M y", "292G y"}},
		{"fast", 0, 1e6, [3]string{"35.8 min", "285 y", "292k y"}},
		{"soon", math.MaxInt32 - 50, 1, [3]string{"50.0 s", "285M y", "292G y"}},
		{"past one", math.MaxInt32, 1, [3]string{"past", "285M y", "292G y"}},
		{"at the end", math.MaxInt64, 1, [3]string{"past", "past", "past"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for i, h := range At(test.top, test.rate) {
				if got := h.TimeLeft(); got != test.want[i] {
					t.Errorf("%s: %q, want %q", h.Bound, got, test.want[i])
				}
			}
		})
	}
}
