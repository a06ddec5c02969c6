package term

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	maxBins   = 10 // with bounds of 1, 2 and 5; where they are more, only powers of ten are bounds
	maxBinBar = 40 // columns
	binTexts  = 25 // columns beside the bar
	maxBound  = 1e18
)

// Histogram returns a table of how many calls took how long, with a bar in each row, for so many columns. counts has the
// number of calls by their time; it may be estimated, and so need not be whole.
func (s Style) Histogram(counts map[time.Duration]float64, columns int) Table {
	t, width := Table{Style: s}, min(max(columns-binTexts, minBar), maxBinBar)
	for _, b := range Bins(counts) {
		share := b.Share
		if b.Count > 0 {
			share = max(share, 1/float64(8*width)) // the least that can be seen
		}
		t.Add("≤ "+Short(int64(b.Bound)), bar(share, width, " "), b.Count)
	}
	return t
}

// Bin is how many calls took at most Bound, and more than the Bound of the bin before.
type Bin struct {
	Bound time.Duration
	Count int64
	Share float64 // of the largest bin
}

// Bins returns bins for all calls, which are counted by their time; counts may be estimated, and so need not be whole.
func Bins(counts map[time.Duration]float64) []Bin {
	if len(counts) == 0 {
		return nil
	}
	times := slices.Sorted(maps.Keys(counts))
	bounds := binBounds(min(times[0], maxBound), min(times[len(times)-1], maxBound))
	sums := make([]float64, len(bounds))
	for took, n := range counts {
		at, _ := slices.BinarySearch(bounds, took)
		sums[min(at, len(sums)-1)] += n
	}
	bins, greatest := make([]Bin, len(bounds)), max(slices.Max(sums), 1e-9)
	for i, n := range sums {
		bins[i] = Bin{bounds[i], int64(math.Round(n)), n / greatest}
	}
	return bins
}

// Blocks returns numbers of 0 or more as a line of blocks, of which the highest is the greatest number.
func Blocks(numbers []float64) string {
	const heights = "▁▂▃▄▅▆▇█"
	var line strings.Builder
	greatest := 1e-9
	for _, n := range numbers {
		greatest = max(greatest, n)
	}
	for _, n := range numbers {
		line.WriteRune([]rune(heights)[int(n/greatest*7)])
	}
	return line.String()
}

// binBounds returns the upper bounds of bins from one time to another, both at most maxBound.
func binBounds(from, to time.Duration) []time.Duration {
	for _, steps := range [][]int64{{1, 2, 5}, {1}} {
		var bounds []time.Duration
		for power := int64(1); power <= maxBound; power *= 10 {
			for _, step := range steps {
				bound, whole := time.Duration(step*power), len(bounds) > 0 && bounds[len(bounds)-1] >= to
				if bound >= from && !whole {
					bounds = append(bounds, bound)
				}
			}
		}
		if len(bounds) <= maxBins || len(steps) == 1 {
			return bounds
		}
	}
	return nil
}
