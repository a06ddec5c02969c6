package counters

import (
	"math"
	"testing"

	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/term"
)

func TestHeadroomOfACounterThatIsPast(t *testing.T) {
	t.Parallel()
	got := headroom.At(1<<53-1, 0)
	if got[0].Left != 0 || got[0].Used != 100 || got[1].Left != 0 || percent(got[1]) != "100.00%" || percent(got[2]) != "0.10%" {
		t.Errorf("%+v", got)
	}
	if got := headroom.At(math.MaxInt64-1, 0); got[2].Left != 1 || percent(got[2]) != "more than 99.99%" {
		t.Errorf("%+v", got)
	}
	if got := headroom.At(0, 0); percent(got[0]) != "0.00%" {
		t.Errorf("%+v", got)
	}
}

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
			for i, h := range headroom.At(test.top, test.rate) {
				if got := term.TimeLeft(h.Left, h.SecondsLeft); got != test.want[i] {
					t.Errorf("%s: %q, want %q", h.Bound, got, test.want[i])
				}
			}
		})
	}
}
