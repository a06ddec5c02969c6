// Package headroom says how far a counter is from the bounds that integers have, and how long it takes to get there. Its
// functions do no I/O, and may be called side by side. It imports nothing of hilo.
package headroom

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Headroom is how far a counter is from a bound that somebody's integers have. Left is how many numbers are left, 0 at the
// bound and past it; Used is how much of them is used, 0 to 100 percent; SecondsLeft is how long the rest lasts, nil where no
// rate is known.
type Headroom struct {
	Bound       string   `json:"bound"`
	Left        int64    `json:"left"`
	Used        float64  `json:"usedPercent"`
	SecondsLeft *float64 `json:"secondsLeft,omitempty"` // at the rate seen; missing where there is none
}

// maxExact is the greatest of JavaScript's exact numbers.
const maxExact = 1<<53 - 1

// names are those of the bounds that have one. Others are named by their digits.
var names = map[int64]string{math.MaxInt32: "2^31-1", maxExact: "2^53-1", math.MaxInt64: "2^63-1"}

// At returns the headroom of a counter at top, its Max, 0 to 2^63-1, to all bounds: 2^31-1, 2^53-1 and 2^63-1, in this order. The
// time left is at rate, in numbers a second. 0 means unknown.
func At(top int64, rate float64) []Headroom { return To(math.MaxInt64, top, rate) }

// To is like At for allocators with an Options.Limit, 1 to 2^63-1. The limit replaces 2^63-1 as the last bound, and is named by
// its digits, unless it is one of the other bounds: then that bound is the last, and appears once.
func To(limit, top int64, rate float64) []Headroom { return Within(1, limit, top, rate) }

// Within is like To for a server that issues the numbers from low to limit. Used is the share of those up to each bound.
func Within(low, limit, top int64, rate float64) []Headroom {
	all := make([]Headroom, 0, len(names))
	for _, bound := range []int64{math.MaxInt32, maxExact} {
		if bound != limit {
			all = append(all, of(low, bound, top, rate))
		}
	}
	return append(all, of(low, limit, top, rate))
}

func of(low, bound, top int64, rate float64) Headroom {
	top = max(top, low-1)
	h := Headroom{Bound: cmp.Or(names[bound], strconv.FormatInt(bound, 10)), Left: max(0, bound-top), Used: 100}
	if top < bound {
		h.Used = float64(top-(low-1)) / float64(bound-(low-1)) * 100
	}
	if rate > 0 {
		seconds := float64(h.Left) / rate
		h.SecondsLeft = &seconds
	}
	return h
}

// Bounds returns the names of the bounds of allocators or servers with these limits, in the order of To. If the limits differ,
// the last is "limit".
func Bounds(limits ...int64) []string {
	if slices.Min(limits) != slices.Max(limits) {
		return []string{names[math.MaxInt32], names[maxExact], "limit"}
	}
	var all []string
	for _, h := range To(limits[0], 0, 0) {
		all = append(all, h.Bound)
	}
	return all
}

// Find returns the headroom to the bound of this name, or to the last one, the limit, if there is none.
func Find(all []Headroom, bound string) Headroom {
	if i := slices.IndexFunc(all, func(h Headroom) bool { return h.Bound == bound }); i >= 0 {
		return all[i]
	}
	return all[len(all)-1]
}
