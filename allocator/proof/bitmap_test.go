package proof

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBitmapFindsDuplicates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                         string
		added                        [][2]int64
		again, count, greatest, gaps int64
	}{
		{"nothing", nil, 0, 0, 0, 0},
		{"one number", [][2]int64{{1, 1}}, 0, 1, 1, 0},
		{"one number with a gap before it", [][2]int64{{2, 2}}, 0, 1, 2, 1},
		{"the same again", [][2]int64{{5, 9}, {5, 9}}, 5, 5, 9, 1},
		{"an overlap by one", [][2]int64{{1, 64}, {64, 128}}, 1, 128, 128, 0},
		{"neighbours in any order", [][2]int64{{65, 70}, {1, 64}}, 0, 70, 70, 0},
		{"over the border of a page", [][2]int64{{pageMask - 1, pageMask + 3}, {pageMask, pageMask + 1}}, 2, 5, pageMask + 3, 1},
		{"whole pages", [][2]int64{{1, 5 * pageMask}, {3 * pageMask, 3 * pageMask}}, 1, 5 * pageMask, 5 * pageMask, 0},
		{"a page that ends where a later one begins", [][2]int64{{1, pageMask}, {2*pageMask + 2, 3 * pageMask}}, 0, 2*pageMask - 1, 3 * pageMask, 1},
		{"the greatest numbers", [][2]int64{{1, 3}, {math.MaxInt64 - 2, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}}, 1, 6, math.MaxInt64, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var b bitmap
			var again int64
			for _, r := range test.added {
				again += b.add(r[0], r[1])
			}
			if again != test.again || b.Count != test.count || b.Greatest != test.greatest || b.Gaps() != test.gaps {
				t.Errorf("%d again, %d numbers up to %d, %d gaps", again, b.Count, b.Greatest, b.Gaps())
			}
			if got := b.Missing(); got != test.greatest-test.count {
				t.Errorf("%d missing", got)
			}
		})
	}
}

// TestBitmapAgreesWithAPlainSet adds random runs to both.
func TestBitmapAgreesWithAPlainSet(t *testing.T) {
	t.Parallel()
	const top = 3 * pageMask
	var b bitmap
	plain := make([]bool, top+1)
	for range 200 {
		low := 1 + rand.Int64N(top-1)
		high := min(top, low+rand.Int64N(1000))
		var want int64
		for n := low; n <= high; n++ {
			if plain[n] {
				want++
			}
			plain[n] = true
		}
		if again := b.add(low, high); again != want {
			t.Fatalf("%d..%d: %d again, want %d", low, high, again, want)
		}
	}
	var count, gaps, greatest int64
	for n := int64(1); n <= top; n++ {
		if !plain[n] {
			continue
		}
		count++
		greatest = n
		if n > 1 && !plain[n-1] {
			gaps++
		}
	}
	if b.Count != count || b.Gaps() != gaps || b.Greatest != greatest {
		t.Errorf("%d numbers up to %d, %d gaps; want %d up to %d, %d", b.Count, b.Greatest, b.Gaps(), count, greatest, gaps)
	}
}

func TestBitmapOfFarNumbersIsSmall(t *testing.T) {
	t.Parallel()
	var b bitmap
	for n := int64(1); n > 0; n *= 2 { // up to 2^62
		b.add(n, n)
	}
	if len(b.pages) > 63-pageShift+1 {
		t.Errorf("%d pages", len(b.pages))
	}
	if !slices.Equal([]int64{63, 61, 1 << 62}, []int64{b.Count, b.Gaps(), b.Greatest}) {
		t.Errorf("%d numbers, %d gaps, up to %d", b.Count, b.Gaps(), b.Greatest)
	}
}
