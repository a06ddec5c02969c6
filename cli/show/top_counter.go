package show

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/headroom"
)

// Rates are over rateWindow, seen at points that are at least ratePoint apart: ranges are rare, and the rarer the larger
// they are.
const (
	rateWindow = time.Minute
	ratePoint  = rateWindow / 12
)

const (
	maxHistory = 60 // readings that are kept of each counter
	maxJumps   = 20

	// Headroom is little where so much of the numbers up to the next bound is used, or the rest lasts no longer.
	littleUsed = 90.0
	littleLeft = 7 * 24 * time.Hour
)

// counter is a counter of one server and its past.
type counter struct {
	admin.Counter
	identity bool
	server   *server
	turn     int64         // of the look that changed it last
	points   []seenCounter // the oldest first; the last is the newest reading
	rate     float64       // numbers a second that were issued, net of what was returned
	rated    bool          // the rate is known
	headroom []headroom.Headroom
	jumps    []jump    // since the first look
	history  []reading // since the first look, thinned
}

// jump is an increase of the epoch.
type jump struct {
	at       time.Time
	by       int64 // difference of Max to the look before
	epoch    int64
	evidence string
}

// reading is what a counter was at a time.
type reading struct {
	at          time.Time
	max, ranges int64
	rate        float64
}

// label returns the name as commands take it: that of an identity ends in |.
func (c *counter) label() string {
	if c.identity {
		return c.Name + "|"
	}
	return c.Name
}

// matches reports whether the name contains a text, whatever their letter case.
func (c *counter) matches(filter string) bool {
	return strings.Contains(strings.ToLower(c.label()), strings.ToLower(filter))
}

// evidenceOf returns what showed that writes were lost, as far as it follows from the replication ids before and after.
func evidenceOf(before, after string) string {
	if before != "" && before != after {
		return "the server was restarted or promoted"
	}
	return "a client had seen greater numbers, or the counter was missing"
}

// read adds a reading, forgets those that are no longer needed, and reports whether what is shown of the counter changed.
func (c *counter) read(seen seenCounter, limit int64) (changed bool) {
	before, rate, rated := c.Counter, c.rate, c.rated
	c.Counter, c.identity = seen.Counter, seen.identity
	if n := len(c.points); n > 1 && c.points[n-1].at.Sub(c.points[n-2].at) < ratePoint {
		c.points = c.points[:n-1]
	}
	c.points = append(c.points, seen)
	for len(c.points) > 2 && seen.at.Sub(c.points[1].at) >= rateWindow {
		c.points = slices.Delete(c.points, 0, 1)
	}
	first := c.points[0]
	if c.rate, c.rated = 0, len(c.points) > 1; c.rated {
		c.rate = rounded(max(0, float64(seen.Max-first.Max)/seen.at.Sub(first.at).Seconds()))
	}
	changed = c.Counter != before || c.rate != rate || c.rated != rated
	if changed || c.headroom == nil {
		c.headroom = headroom.To(limit, c.Max, c.rate)
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

// remember adds a reading to the history, which has at most maxHistory of them, evenly spread over the time since the first.
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

// rounded returns a number in three digits, since no more of it is significant.
func rounded(number float64) float64 {
	if number == 0 {
		return 0
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(number, 'g', 3, 64), 64)
	return short
}

// next returns the headroom to the nearest bound, which may be a limit, or nil where nothing is left to the limit.
func (c *counter) next() *headroom.Headroom {
	nearest := &c.headroom[len(c.headroom)-1]
	if nearest.Left == 0 {
		return nil
	}
	for i := range c.headroom {
		if h := &c.headroom[i]; h.Left > 0 && h.Left < nearest.Left {
			nearest = h
		}
	}
	return nearest
}

// left returns the seconds until the counter is past its next bound.
func (c *counter) left() float64 {
	switch h := c.next(); {
	case h == nil:
		return 0
	case h.SecondsLeft != nil:
		return *h.SecondsLeft
	}
	return math.Inf(1)
}

// low reports whether little headroom is left.
func (c *counter) low() bool {
	h := c.next()
	return h == nil || h.Used >= littleUsed || c.left() < littleLeft.Seconds()
}

// jumpedSince reports whether the counter jumped after a time.
func (c *counter) jumpedSince(t time.Time) bool {
	return len(c.jumps) > 0 && c.jumps[len(c.jumps)-1].at.After(t)
}

// alarmed reports whether the counter jumped since the first look, or has little headroom.
func (c *counter) alarmed() bool { return len(c.jumps) > 0 || c.low() }

// sorts are the keys to sort by. The first is the default: what is alarming, then by rate.
var sorts = []string{"alarm", "rate", "name", "max", "ranges", "epoch", "left"}

// sorted returns the counters of all servers whose names contain filter, in order.
func (s *state) sorted(by, filter string, reverse bool) []*counter {
	var all []*counter
	for _, server := range s.servers {
		for _, c := range server.counters {
			if c.matches(filter) {
				all = append(all, c)
			}
		}
	}
	order := orders[by]
	slices.SortFunc(all, func(a, b *counter) int {
		ordered := order(a, b)
		if reverse {
			ordered = -ordered
		}
		return cmp.Or(ordered, byName(a, b), strings.Compare(a.label(), b.label()), strings.Compare(a.server.name, b.server.name))
	})
	return all
}

var orders = map[string]func(a, b *counter) int{
	"alarm": func(a, b *counter) int {
		if a.alarmed() && b.alarmed() {
			return cmp.Or(cmp.Compare(a.left(), b.left()), byRate(a, b))
		}
		return cmp.Or(compareBool(b.alarmed(), a.alarmed()), byRate(a, b))
	},
	"rate":   byRate,
	"name":   byName,
	"max":    func(a, b *counter) int { return cmp.Compare(b.Max, a.Max) },
	"ranges": func(a, b *counter) int { return cmp.Compare(b.Ranges, a.Ranges) },
	"epoch":  func(a, b *counter) int { return cmp.Compare(b.Epoch, a.Epoch) },
	"left":   func(a, b *counter) int { return cmp.Compare(a.left(), b.left()) },
}

func byRate(a, b *counter) int { return cmp.Compare(b.rate, a.rate) }

func byName(a, b *counter) int {
	return strings.Compare(strings.ToLower(a.label()), strings.ToLower(b.label()))
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
