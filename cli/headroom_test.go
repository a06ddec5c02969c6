package cli

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
			for i, h := range headroomsAt(test.top, test.rate) {
				if got := h.timeLeft(); got != test.want[i] {
					t.Errorf("%s: %q, want %q", h.Bound, got, test.want[i])
				}
			}
		})
	}
}

func TestNumbersAreBrief(t *testing.T) {
	t.Parallel()
	for number, want := range map[float64]string{
		0: "0", 0.001: "0.00", 0.05: "0.05", 7.5: "7.50", 9.999: "10.0", 12.34: "12.3", 99.96: "100", 999.4: "999", 999.6: "1.0k",
		12345: "12.3k", 123456: "123k", 999_999: "1.0M", 1e18: "1.0E", 9e20: "900E",
	} {
		if got := brief(number); got != want {
			t.Errorf("%g: %q, want %q", number, got, want)
		}
	}
}
