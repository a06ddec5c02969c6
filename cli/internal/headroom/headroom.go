// Package headroom says how far a counter is from the bounds that integers have, and how long it takes to get there.
//
// It may import term.
package headroom

import (
	"fmt"
	"math"
	"strconv"

	"github.com/hilo-id/hilo/cli/internal/term"
)

// Bounds are where somebody's integers end: those of 32 bits, those that JavaScript's numbers hold exactly, and hilo's.
var Bounds = []struct {
	Name string
	max  int64
}{
	{"2^31-1", math.MaxInt32},
	{"2^53-1", 1<<53 - 1},
	{"2^63-1", math.MaxInt64},
}

// Headroom is how far a counter is from a bound that somebody's integers have.
type Headroom struct {
	Bound       string   `json:"bound"`
	Left        int64    `json:"left"`
	Used        float64  `json:"usedPercent"`
	SecondsLeft *float64 `json:"secondsLeft,omitempty"` // at the rate seen; missing where there is none
}

// At gives the headroom to all bounds, with the time left at a rate, in numbers a second; 0: not known.
func At(top int64, rate float64) []Headroom { return To(math.MaxInt64, top, rate) }

// To is At where the allocators end at a limit of their own, which then is the last bound.
func To(limit, top int64, rate float64) []Headroom {
	all := make([]Headroom, len(Bounds))
	for i, bound := range Bounds {
		if i == len(Bounds)-1 && limit != bound.max {
			bound.Name, bound.max = strconv.FormatInt(limit, 10), limit
		}
		all[i] = Headroom{
			Bound: bound.Name,
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

// Share is Used in few letters.
func (h Headroom) Share() string {
	switch {
	case h.Left == 0:
		return "past"
	case h.Used > 0 && h.Used < 0.1:
		return "<0.1%"
	}
	return strconv.FormatFloat(min(h.Used, 99.9), 'f', 1, 64) + "%"
}

// TimeLeft is SecondsLeft in few letters: "12 s", "3.4 h", "25 d", "2.9M y"; "past" a bound that is reached, and "–"
// where no rate is known.
func (h Headroom) TimeLeft() string {
	switch {
	case h.Left == 0:
		return "past"
	case h.SecondsLeft == nil:
		return "–"
	}
	seconds := *h.SecondsLeft
	for _, unit := range []struct {
		name    string
		seconds float64
		upTo    float64 // of the unit
	}{{"s", 1, 90}, {"min", 60, 90}, {"h", 3600, 36}, {"d", 86400, 500}} {
		if count := seconds / unit.seconds; count < unit.upTo {
			return term.Brief(count) + " " + unit.name
		}
	}
	return term.Brief(seconds/(365.25*86400)) + " y"
}

// Percent is Used, which is 0 or 100 only where that is exact.
func (h Headroom) Percent() string {
	switch {
	case h.Used > 0 && h.Used < 0.01:
		return "less than 0.01%"
	case h.Left > 0 && h.Used > 99.99:
		return "more than 99.99%"
	}
	return fmt.Sprintf("%.2f%%", h.Used)
}
