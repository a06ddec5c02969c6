package term

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	maxBins   = 10 // with the bounds 1, 2 and 5; if there are more, only powers of ten are bounds
	maxBinBar = 40 // columns
	binTexts  = 25 // columns for the texts beside the bar
	maxBound  = 1e18
)

// Histogram returns a table, for a terminal of the given width, of calls by their duration. A row counts the calls that took at
// most its bound, and longer than the bound of the row before. counts holds the number of calls of each duration; estimates may
// be fractional.
func (s Style) Histogram(counts map[time.Duration]float64, columns int) Table {
	t, width := Table{Style: s}, min(max(columns-binTexts, minBar), maxBinBar)
	if len(counts) == 0 {
		return t
	}
	times := slices.Sorted(maps.Keys(counts))
	from, to := min(times[0], maxBound), min(times[len(times)-1], maxBound)
	bounds := binBounds(from, to, 1, 2, 5)
	if len(bounds) > maxBins {
		bounds = binBounds(from, to, 1)
	}
	sums := make([]float64, len(bounds))
	for took, n := range counts {
		at, _ := slices.BinarySearch(bounds, took)
		sums[min(at, len(sums)-1)] += n
	}
	greatest := max(slices.Max(sums), 1e-9)
	for i, n := range sums {
		count, share := int64(math.Round(n)), n/greatest
		if count > 0 {
			share = max(share, 1/float64(8*width)) // the shortest visible bar
		}
		t.Add("≤ "+Short(int64(bounds[i])), bar(share, width, " "), count)
	}
	return t
}

// Blocks draws non-negative numbers as blocks whose height is relative to the largest number.
func Blocks(numbers []float64) string {
	const heights = "▁▂▃▄▅▆▇█"
	var line strings.Builder
	greatest := slices.Max(append([]float64{1e-9}, numbers...))
	for _, n := range numbers {
		line.WriteRune([]rune(heights)[int(n/greatest*7)])
	}
	return line.String()
}

// binBounds returns the upper bounds of bins for durations between from and to, which are at most maxBound. The bounds are
// the given steps, in ascending order, times powers of ten.
func binBounds(from, to time.Duration, steps ...int64) (bounds []time.Duration) {
	for power := int64(1); ; power *= 10 {
		for _, step := range steps {
			bound := time.Duration(step * power)
			if bound >= from {
				bounds = append(bounds, bound)
			}
			if bound >= to {
				return bounds
			}
		}
	}
}
