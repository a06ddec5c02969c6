package cli

import (
	"fmt"
	"math"
	"strconv"
)

// bounds are where somebody's integers end: those of 32 bits, those that JavaScript's numbers hold exactly, and hilo's.
var bounds = []struct {
	name string
	max  int64
}{
	{"2^31-1", math.MaxInt32},
	{"2^53-1", 1<<53 - 1},
	{"2^63-1", math.MaxInt64},
}

// headroom is how far a counter is from a bound that somebody's integers have.
type headroom struct {
	Bound       string   `json:"bound"`
	Left        int64    `json:"left"`
	Used        float64  `json:"usedPercent"`
	SecondsLeft *float64 `json:"secondsLeft,omitempty"` // at the rate seen; missing where there is none
}

// headrooms gives the headroom to all bounds.
func headrooms(top int64) []headroom { return headroomsAt(top, 0) }

// headroomsAt is headrooms with the time left at a rate, in numbers a second; 0: not known.
func headroomsAt(top int64, rate float64) []headroom { return headroomsTo(math.MaxInt64, top, rate) }

// headroomsTo is headroomsAt where the allocators end at a limit of their own, which then is the last bound.
func headroomsTo(limit, top int64, rate float64) []headroom {
	all := make([]headroom, len(bounds))
	for i, bound := range bounds {
		if i == len(bounds)-1 && limit != bound.max {
			bound.name, bound.max = strconv.FormatInt(limit, 10), limit
		}
		all[i] = headroom{
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

// share is Used in few letters.
func (h headroom) share() string {
	switch {
	case h.Left == 0:
		return "past"
	case h.Used > 0 && h.Used < 0.1:
		return "<0.1%"
	}
	return strconv.FormatFloat(min(h.Used, 99.9), 'f', 1, 64) + "%"
}

// timeLeft is SecondsLeft in few letters: "12 s", "3.4 h", "25 d", "2.9M y"; "past" a bound that is reached, and "–"
// where no rate is known.
func (h headroom) timeLeft() string {
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
			return brief(count) + " " + unit.name
		}
	}
	return brief(seconds/(365.25*86400)) + " y"
}

// brief is a number of 0 or more in at most five letters: 0.05, 7.5, 123, 12.3k, 1.2M, 3.4G.
func brief(number float64) string {
	unit := ""
	for _, next := range []string{"k", "M", "G", "T", "P", "E"} {
		if number < 999.5 {
			break
		}
		number, unit = number/1000, next
	}
	switch {
	case number == 0 || number >= 99.95:
		return strconv.FormatFloat(number, 'f', 0, 64) + unit
	case number >= 9.995 || unit != "":
		return strconv.FormatFloat(number, 'f', 1, 64) + unit
	case number < 0.005:
		return "0.00"
	}
	return strconv.FormatFloat(number, 'f', 2, 64)
}

// percent is Used, which is 0 or 100 only where that is exact.
func (h headroom) percent() string {
	switch {
	case h.Used > 0 && h.Used < 0.01:
		return "less than 0.01%"
	case h.Left > 0 && h.Used > 99.99:
		return "more than 99.99%"
	}
	return fmt.Sprintf("%.2f%%", h.Used)
}
