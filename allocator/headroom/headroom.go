// Package headroom says how far a counter is from the bounds that integers have, and how long it takes to get there. Its
// functions do no I/O, and may be called side by side. It imports nothing of hilo.
package headroom

import (
	"math"
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

// bounds are where integers end: those of 32 bits, those that JavaScript's numbers hold exactly, and hilo's.
var bounds = []struct {
	name string
	max  int64
}{
	{"2^31-1", math.MaxInt32},
	{"2^53-1", 1<<53 - 1},
	{"2^63-1", math.MaxInt64},
}

// At gives the headroom of a counter at top, its Max, 0 to 2^63-1, to all bounds: 2^31-1, 2^53-1 and 2^63-1, in this order. The
// time left is that at a rate, in numbers a second; 0: not known.
func At(top int64, rate float64) []Headroom { return To(math.MaxInt64, top, rate) }

// To is like At for allocators with an Options.Limit, 1 to 2^63-1, which is the last bound then, named by its digits.
func To(limit, top int64, rate float64) []Headroom {
	all := make([]Headroom, len(bounds))
	for i, bound := range bounds {
		if i == len(bounds)-1 && limit != bound.max {
			bound.name, bound.max = strconv.FormatInt(limit, 10), limit
		}
		all[i] = Headroom{
			Bound: bound.name,
			Left:  max(0, bound.max-top),
			Used:  min(100, float64(top)/float64(bound.max)*100),
		}
		if rate > 0 {
			seconds := float64(all[i].Left) / rate
			all[i].SecondsLeft = &seconds
		}
	}
	return all
}
