package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// Rates are over rateWindow, seen at points that are at least ratePoint apart: ranges come seldom, and the more seldom
// the larger they are.
const (
	rateWindow = time.Minute
	ratePoint  = rateWindow / 12
)

// topState is what the looks at all servers amount to. It does no I/O and reads no clock.
type topState struct {
	servers []topServer
	events  []topEvent // the newest last
}

type topServer struct {
	name     string
	last     look // the last one that found the server up; zero: none
	seen     time.Time
	due      time.Time // when the next look should have begun
	down     string    // why it is, or ""
	since    time.Time // it is up, or down
	counters map[string]*topCounter
}

// topCounter is a counter of one server and how it went.
type topCounter struct {
	allocator.Counter
	server  string
	points  []ratePoints // the oldest first; the last is the newest reading
	jumped  time.Time    // when the epoch was seen to change; zero: never
	present bool         // at the look that is being taken in
}

type ratePoints struct {
	at  time.Time
	max int64
}

// topEvent is something that happened to a server or a counter.
type topEvent struct {
	at      time.Time
	text    string
	trouble bool
}

func newTopState(names []string) *topState {
	s := &topState{}
	for _, name := range names {
		s.servers = append(s.servers, topServer{name: name, counters: make(map[string]*topCounter)})
	}
	return s
}

// take takes a look in.
func (s *topState) take(l look) {
	server := &s.servers[l.server]
	first := server.seen.IsZero()
	wasDown := server.down
	server.seen, server.due, server.down = l.at, l.at.Add(l.pause), l.down
	switch {
	case l.down != "" && (wasDown == "" || first):
		server.since = l.at
		s.eventf(l.at, true, "%s is down: %s", server.name, l.brief)
	case l.down == "" && wasDown != "":
		s.eventf(l.at, false, "%s is back after %s", server.name, shortly(l.at.Sub(server.since)))
		server.since = l.at
	case first:
		server.since = l.at
	}
	if l.down != "" {
		server.last.brief = l.brief
		return
	}
	if before := server.last.role; before != "" && l.role != "" && before != l.role {
		s.eventf(l.at, l.role == "replica", "%s was a %s and is a %s", server.name, before, l.role)
	}
	s.takeCounters(server, l)
	server.last = l
	server.last.counters = nil
}

func (s *topState) takeCounters(server *topServer, l look) {
	for _, seen := range l.counters {
		c := server.counters[seen.Name]
		if c == nil {
			c = &topCounter{server: server.name}
			server.counters[seen.Name] = c
		} else {
			s.compare(c, seen)
		}
		c.Counter, c.present = seen.Counter, true
		c.point(seen.at, seen.Max)
	}
	for name, c := range server.counters {
		if !c.present {
			delete(server.counters, name)
			s.eventf(l.at, true, "%s on %s is gone: its counter was removed", name, server.name)
		}
		c.present = false
	}
}

// compare finds out what else happened to a counter than that ranges were given.
func (s *topState) compare(c *topCounter, now seenCounter) {
	switch {
	case now.Epoch != c.Epoch:
		s.eventf(now.at, true, "%s on %s: epoch %d → %d after lost writes, Max %d → %d",
			now.Name, c.server, c.Epoch, now.Epoch, c.Max, now.Max)
		c.jumped = now.at
		c.points = nil // the gap was not issued
	case now.Ranges == c.Ranges && now.Max > c.Max:
		s.eventf(now.at, false, "%s on %s was seeded: Max %d → %d", now.Name, c.server, c.Max, now.Max)
		c.points = nil
	case now.Ranges < c.Ranges:
		s.eventf(now.at, true, "%s on %s went back: %d ranges → %d, Max %d → %d",
			now.Name, c.server, c.Ranges, now.Ranges, c.Max, now.Max)
		c.points = nil
	}
}

// point adds a reading, and forgets those that are no longer needed.
func (c *topCounter) point(at time.Time, max int64) {
	if n := len(c.points); n > 1 && c.points[n-1].at.Sub(c.points[n-2].at) < ratePoint {
		c.points = c.points[:n-1]
	}
	c.points = append(c.points, ratePoints{at, max})
	for len(c.points) > 2 && at.Sub(c.points[1].at) >= rateWindow {
		c.points = slices.Delete(c.points, 0, 1)
	}
}

// rate is how many numbers a second went out, net of what came back; false: not known yet.
func (c *topCounter) rate() (perSecond float64, known bool) {
	if len(c.points) < 2 {
		return 0, false
	}
	first, last := c.points[0], c.points[len(c.points)-1]
	return max(0, float64(last.max-first.max)/last.at.Sub(first.at).Seconds()), true
}

const eventsKept = 100

func (s *topState) eventf(at time.Time, trouble bool, format string, values ...any) {
	s.events = append(s.events, topEvent{at: at, trouble: trouble, text: fmt.Sprintf(format, values...)})
	if len(s.events) > eventsKept {
		s.events = slices.Delete(s.events, 0, len(s.events)-eventsKept)
	}
}

// topSorts are the keys to sort by; the first is the one without being asked.
var topSorts = []string{"rate", "name", "max", "ranges", "epoch", "left"}

const flagSort = "sort"

// sorted gives the counters of all servers whose names have filter in them, in order.
func (s *topState) sorted(by, filter string, reverse bool) []*topCounter {
	filter = strings.ToLower(filter)
	var all []*topCounter
	for i := range s.servers {
		for _, c := range s.servers[i].counters {
			if strings.Contains(strings.ToLower(c.Name), filter) {
				all = append(all, c)
			}
		}
	}
	order := topOrders[by]
	slices.SortFunc(all, func(a, b *topCounter) int {
		ordered := order(a, b)
		if reverse {
			ordered = -ordered
		}
		return cmp.Or(ordered, byName(a, b), strings.Compare(a.Name, b.Name), strings.Compare(a.server, b.server))
	})
	return all
}

var topOrders = map[string]func(a, b *topCounter) int{
	"rate":   func(a, b *topCounter) int { return cmp.Compare(b.orderRate(), a.orderRate()) },
	"name":   byName,
	"max":    func(a, b *topCounter) int { return cmp.Compare(b.Max, a.Max) },
	"ranges": func(a, b *topCounter) int { return cmp.Compare(b.Ranges, a.Ranges) },
	"epoch":  func(a, b *topCounter) int { return cmp.Compare(b.Epoch, a.Epoch) },
	"left":   func(a, b *topCounter) int { return cmp.Compare(a.orderLeft(), b.orderLeft()) },
}

func byName(a, b *topCounter) int {
	return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
}

func (c *topCounter) orderRate() float64 {
	rate, _ := c.rate()
	return rate
}

// orderLeft is the time until the counter is past its next bound.
func (c *topCounter) orderLeft() float64 {
	rate, _ := c.rate()
	for _, h := range headroomsAt(c.Max, rate) {
		if h.Left > 0 && h.SecondsLeft != nil {
			return *h.SecondsLeft
		}
	}
	return math.Inf(1)
}
