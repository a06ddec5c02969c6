package show

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator/headroom"
)

const (
	maxHistory = 60 // readings kept of each counter
	maxJumps   = 20

	// Headroom is low if this percentage of the numbers up to the bound that alarms is used, or if the rest lasts less than
	// lowLeft.
	lowUsed = 90.0
	lowLeft = 7 * 24 * time.Hour
)

// counter is a counter of one server with its history.
type counter struct {
	polledCounter // the newest reading
	server        *server
	seq           int64 // state.seq of the result that changed it last
	meter         meter
	rate          float64 // numbers reserved a second, less those returned
	rated         bool    // whether the rate is known
	headroom      []headroom.Headroom
	jumps         []jump    // since the first poll
	history       []reading // since the first poll, thinned out
}

// jump is an increase of the number of jumps.
type jump struct {
	at time.Time
	shownJump
}

// reading is an entry of the history of a counter.
type reading struct {
	at          time.Time
	max, ranges int64
	rate        float64
}

// evidenceOf returns the evidence that follows from the replication ids before and after.
func evidenceOf(before, after string) string {
	if before != "" && before != after {
		return "the server was restarted or promoted"
	}
	return "a client had seen greater numbers, or the counter was missing"
}

// columns are the types of the columns that store ids, the narrowest first.
var columns = []string{"int", "double", "bigint"}

// alarmBound returns the name of the bound that alarms, which is the greatest number of the type of the columns, or the limit if
// that is lower.
func alarmBound(column string, limit int64) string {
	bounds := headroom.To(limit, 0, 0)
	greatest := headroom.Find(bounds, map[string]string{"int": "2^31-1", "double": "2^53-1"}[column])
	if last := bounds[len(bounds)-1]; last.Left < greatest.Left {
		return last.Bound
	}
	return greatest.Bound
}

// read adds a reading and reports whether the displayed values changed. moved tells whether the interval of the server changed.
func (c *counter) read(seen polledCounter, moved bool) (changed bool) {
	before, rate, rated := c.Counter, c.rate, c.rated
	c.polledCounter = seen
	c.rate, c.rated = c.meter.read(seen.at, seen.Max)
	c.rate = rounded(c.rate)
	changed = moved || c.headroom == nil || c.Counter != before || c.rate != rate || c.rated != rated
	if changed {
		c.headroom = headroom.Within(c.server.low, c.server.limit, c.Max, c.rate)
		for i := range c.headroom {
			h := &c.headroom[i]
			if h.Used < 100 {
				h.Used = min(rounded(h.Used), 99.9)
			}
			if h.SecondsLeft != nil {
				*h.SecondsLeft = rounded(*h.SecondsLeft)
			}
		}
	}
	c.remember(seen.at)
	return changed
}

// remember adds a reading to the history. It thins out the history to at most maxHistory readings that are evenly spaced.
func (c *counter) remember(at time.Time) {
	now, n := reading{at, c.Max, c.Ranges, c.rate}, len(c.history)
	if n > 0 {
		last := c.history[n-1]
		spacing := last.at.Sub(c.history[0].at) / (maxHistory / 2)
		if last.max == now.max && last.ranges == now.ranges && last.rate == now.rate || at.Sub(last.at) < spacing {
			return
		}
	}
	if n == maxHistory {
		for i := range maxHistory / 2 {
			c.history[i] = c.history[2*i]
		}
		c.history = c.history[:maxHistory/2]
	}
	c.history = append(c.history, now)
}

// rounded rounds a number to three significant digits.
func rounded(number float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(number, 'g', 3, 64), 64)
	return short
}

// nextOf returns the headroom to the nearest bound that is not reached, or to the limit if the counter is exhausted.
func nextOf(all []headroom.Headroom) headroom.Headroom {
	next := all[len(all)-1]
	for _, h := range all {
		if h.Left > 0 && h.Left < next.Left {
			next = h
		}
	}
	return next
}

// secondsTo returns the seconds until a counter exceeds a bound.
func secondsTo(h headroom.Headroom) float64 {
	switch {
	case h.Left == 0:
		return 0
	case h.SecondsLeft == nil:
		return math.Inf(1)
	}
	return *h.SecondsLeft
}

// critical returns the headroom to the bound that alarms.
func (c *counter) critical() headroom.Headroom { return headroom.Find(c.headroom, c.server.alarm) }

// criticalLeft returns the seconds until the counter exceeds the bound that alarms.
func (c *counter) criticalLeft() float64 { return secondsTo(c.critical()) }

func (c *counter) low() bool {
	return c.critical().Used >= lowUsed || c.criticalLeft() < lowLeft.Seconds()
}

// jumpedSince reports whether the counter jumped after a time.
func (c *counter) jumpedSince(t time.Time) bool {
	return len(c.jumps) > 0 && c.lastJump().at.After(t)
}

func (c *counter) lastJump() jump { return c.jumps[len(c.jumps)-1] }

// alarmed reports whether the counter jumped since the first poll or has low headroom.
func (c *counter) alarmed() bool { return len(c.jumps) > 0 || c.low() }

// sorts lists the sort keys. The first is the default.
var sorts = []string{"alarm", "rate", "name", "max", "ranges", "epoch", "left"}

// counters returns the counters of all servers whose names contain filter, ignoring case.
func (s *state) counters(filter string) iter.Seq[*counter] {
	filter = strings.ToLower(filter)
	return func(yield func(*counter) bool) {
		for _, server := range s.servers {
			for _, c := range server.counters {
				if strings.Contains(strings.ToLower(c.label()), filter) && !yield(c) {
					return
				}
			}
		}
	}
}

// sorted returns the result of counters in order.
func (s *state) sorted(by, filter string, reverse bool) []*counter {
	order := orders[by]
	return slices.SortedFunc(s.counters(filter), func(a, b *counter) int {
		ordered := order(a, b)
		if reverse {
			ordered = -ordered
		}
		return cmp.Or(ordered, byName(a, b), strings.Compare(a.label(), b.label()), strings.Compare(a.server.name, b.server.name))
	})
}

var orders = map[string]func(a, b *counter) int{
	"alarm": func(a, b *counter) int {
		if a.alarmed() && b.alarmed() {
			return cmp.Or(cmp.Compare(a.criticalLeft(), b.criticalLeft()), byRate(a, b))
		}
		return cmp.Or(trueFirst(a.alarmed(), b.alarmed()), byRate(a, b))
	},
	"rate":   byRate,
	"name":   byName,
	"max":    func(a, b *counter) int { return cmp.Compare(b.Max, a.Max) },
	"ranges": func(a, b *counter) int { return cmp.Compare(b.Ranges, a.Ranges) },
	"epoch":  func(a, b *counter) int { return cmp.Compare(b.Jumps, a.Jumps) },
	"left": func(a, b *counter) int {
		return cmp.Compare(secondsTo(nextOf(a.headroom)), secondsTo(nextOf(b.headroom)))
	},
}

// byHeadroom sorts the counter with the least headroom first.
func byHeadroom(a, b *counter) int {
	return cmp.Or(trueFirst(a.low(), b.low()), cmp.Compare(a.criticalLeft(), b.criticalLeft()),
		cmp.Compare(b.critical().Used, a.critical().Used), byName(a, b))
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func byRate(a, b *counter) int { return cmp.Compare(b.rate, a.rate) }

func byName(a, b *counter) int {
	return strings.Compare(strings.ToLower(a.label()), strings.ToLower(b.label()))
}
