package term

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

func TestHistogramChoosesBounds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		counts  map[time.Duration]float64
		columns int
		want    string
	}{
		{"none", nil, 80, ""},
		{
			"bounds of 1, 2 and 5", map[time.Duration]float64{150: 8000.4, 200: 1, 201: 4000, 1900: 1}, 33,
			"≤ 200ns  ████████  8,001|≤ 500ns  ███▉      4,000|≤ 1µs                  0|≤ 2µs    ▏             1",
		},
		{
			"powers of ten", map[time.Duration]float64{30: 80_000, 3e6: 20_000}, 35,
			"≤ 100ns  ██████████  80,000|≤ 1µs                     0|≤ 10µs                    0|≤ 100µs                   0|" +
				"≤ 1ms                     0|≤ 10ms   ██▌         20,000",
		},
		{"a duration of 0", map[time.Duration]float64{0: 1}, 30, "≤ 1ns  ████████  1"},
		{"a duration beyond all bounds", map[time.Duration]float64{math.MaxInt64: 1}, 30, "≤ 277777h46m40s  ████████  1"},
	} {
		table := grouped.Histogram(test.counts, test.columns)
		var b strings.Builder
		if err := table.Write(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(strings.ReplaceAll(b.String(), "\n", "|"), "|"); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

func TestBlocksDrawsNumbers(t *testing.T) {
	t.Parallel()
	for want, numbers := range map[string][]float64{"": nil, "▁": {0}, "█": {5}, "▁▂▄█": {0, 1, 3, 7}} {
		if got := Blocks(numbers); got != want {
			t.Errorf("%v: got %q, want %q", numbers, got, want)
		}
	}
}

func TestHistogramFitsATerminal(t *testing.T) {
	t.Parallel()
	counts := make(map[time.Duration]float64)
	for d := time.Duration(1); d < time.Minute; d *= 3 {
		counts[d] = float64(time.Minute / d)
	}
	for _, columns := range []int{50, 80, 200} {
		table := grouped.Histogram(counts, columns)
		lines := table.Lines(0, 0, len(table.rows))
		if len(lines) > maxBins+2 {
			t.Errorf("got %d rows", len(lines))
		}
		for _, line := range lines {
			if got := ansi.StringWidth(line); got > columns {
				t.Errorf("got %d columns, want at most %d: %q", got, columns, line)
			}
		}
	}
}
