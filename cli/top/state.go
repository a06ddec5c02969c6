package top

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// Rates are over rateWindow, seen at points that are at least ratePoint apart: ranges come seldom, and the more seldom
// the larger they are.
const (
	rateWindow = time.Minute
	ratePoint  = rateWindow / 12
)

// state is what the looks at all servers amount to. It does no I/O and reads no clock.
type state struct {
	servers []*server
	events  []event // the newest last
}

type server struct {
	name      string
	last      look // the latest; of one that found it down, what it said of itself is from before
	downSince time.Time
	counters  map[string]*counter
}

// counter is a counter of one server and how it went.
type counter struct {
	allocator.Counter
	server   *server
	points   []seenCounter // the oldest first; the last is the newest reading
	rate     float64       // numbers a second that went out, net of what came back
	rated    bool          // the rate is known
	headroom []headroom.Headroom
	jumped   time.Time // when the epoch was seen to change; zero: never
}

// event is something that happened to a server or a counter.
type event struct {
	at      time.Time
	text    string
	trouble bool
}

func newState(targets []target.Target) *state {
	s := &state{}
	for _, t := range targets {
		s.servers = append(s.servers, &server{name: t.Label()})
	}
	return s
}

// down is how many servers are.
func (s *state) down() (n int) {
	for _, server := range s.servers {
		if server.last.down != "" {
			n++
		}
	}
	return n
}

// take takes a look in.
func (s *state) take(l look) {
	server := s.servers[l.server]
	before := server.last
	if l.down != "" {
		if before.down == "" {
			s.eventf(l.at, true, "%s is down: %s", server.name, l.brief)
			server.downSince = l.at
		}
		l.about, l.replicas = before.about, before.replicas
	} else {
		if before.down != "" {
			s.eventf(l.at, false, "%s is back after %s", server.name, shortly(l.at.Sub(server.downSince)))
		}
		if before.Role != "" && l.Role != "" && before.Role != l.Role {
			s.eventf(l.at, l.Role == "replica", "%s was a %s and is a %s", server.name, before.Role, l.Role)
		}
		s.takeCounters(server, l)
	}
	l.counters = nil
	server.last = l
}

func (s *state) takeCounters(server *server, l look) {
	before := server.counters
	server.counters = make(map[string]*counter, len(l.counters))
	for _, seen := range l.counters {
		c := before[seen.Name]
		if c == nil {
			c = &counter{server: server}
		} else {
			s.compare(c, seen)
			delete(before, seen.Name)
		}
		c.read(seen)
		server.counters[seen.Name] = c
	}
	for name := range before {
		s.eventf(l.at, true, "%s on %s is gone: its counter was removed", name, server.name)
	}
}

// compare finds out what else happened to a counter than that ranges were given.
func (s *state) compare(c *counter, now seenCounter) {
	switch {
	case now.Epoch != c.Epoch:
		s.eventf(now.at, true, "%s on %s: epoch %d → %d after lost writes, Max %d → %d",
			now.Name, c.server.name, c.Epoch, now.Epoch, c.Max, now.Max)
		c.jumped = now.at
	case now.Ranges == c.Ranges && now.Max > c.Max:
		s.eventf(now.at, false, "%s on %s was seeded: Max %d → %d", now.Name, c.server.name, c.Max, now.Max)
	case now.Ranges < c.Ranges:
		s.eventf(now.at, true, "%s on %s went back: %d ranges → %d, Max %d → %d",
			now.Name, c.server.name, c.Ranges, now.Ranges, c.Max, now.Max)
	default:
		return
	}
	c.points = nil // what lies between was not issued
}

// read adds a reading, and forgets those that are no longer needed.
func (c *counter) read(seen seenCounter) {
	c.Counter = seen.Counter
	if n := len(c.points); n > 1 && c.points[n-1].at.Sub(c.points[n-2].at) < ratePoint {
		c.points = c.points[:n-1]
	}
	c.points = append(c.points, seen)
	for len(c.points) > 2 && seen.at.Sub(c.points[1].at) >= rateWindow {
		c.points = slices.Delete(c.points, 0, 1)
	}
	first := c.points[0]
	if c.rate, c.rated = 0, len(c.points) > 1; c.rated {
		c.rate = max(0, float64(seen.Max-first.Max)/seen.at.Sub(first.at).Seconds())
	}
	c.headroom = headroom.At(c.Max, c.rate)
}

func (s *state) eventf(at time.Time, trouble bool, format string, values ...any) {
	const kept = 100
	s.events = append(s.events, event{at: at, trouble: trouble, text: fmt.Sprintf(format, values...)})
	s.events = s.events[max(0, len(s.events)-kept):]
}

// sorts are the keys to sort by; the first is the one without being asked.
var sorts = []string{"rate", "name", "max", "ranges", "epoch", "left"}

// sorted gives the counters of all servers whose names have filter in them, in order.
func (s *state) sorted(by, filter string, reverse bool) []*counter {
	filter = strings.ToLower(filter)
	var all []*counter
	for _, server := range s.servers {
		for _, c := range server.counters {
			if strings.Contains(strings.ToLower(c.Name), filter) {
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
		return cmp.Or(ordered, byName(a, b), strings.Compare(a.Name, b.Name), strings.Compare(a.server.name, b.server.name))
	})
	return all
}

var orders = map[string]func(a, b *counter) int{
	"rate":   func(a, b *counter) int { return cmp.Compare(b.rate, a.rate) },
	"name":   byName,
	"max":    func(a, b *counter) int { return cmp.Compare(b.Max, a.Max) },
	"ranges": func(a, b *counter) int { return cmp.Compare(b.Ranges, a.Ranges) },
	"epoch":  func(a, b *counter) int { return cmp.Compare(b.Epoch, a.Epoch) },
	"left":   func(a, b *counter) int { return cmp.Compare(a.left(), b.left()) },
}

func byName(a, b *counter) int {
	return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
}

// left is the time until the counter is past its next bound.
func (c *counter) left() float64 {
	for _, h := range c.headroom {
		if h.Left > 0 && h.SecondsLeft != nil {
			return *h.SecondsLeft
		}
	}
	return math.Inf(1)
}
