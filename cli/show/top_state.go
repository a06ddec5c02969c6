package show

import (
	"fmt"
	"time"

	"github.com/hilo-id/hilo/cli/internal/target"
)

// state is the sum of the looks at all servers. It does no I/O and reads no clock.
type state struct {
	began   time.Time // of the first look
	limit   int64     // greatest number that is issued
	turn    int64     // looks that were taken
	servers []*server
	events  []event   // the newest last
	fresh   []event   // of the last look
	removed []removed // by the last look
}

type server struct {
	name     string
	last     look      // the latest; if it found the server down, about is from before
	since    time.Time // it has been up, or down; zero before the first look
	turn     int64     // of the latest look
	counters map[string]*counter
}

// event is something that happened to a server or a counter.
type event struct {
	at      time.Time
	text    string
	trouble bool
}

// removed names a counter that is gone, in JSON.
type removed struct {
	Server     string `json:"server"`
	Collection string `json:"collection,omitempty"` // or
	Identity   string `json:"identity,omitempty"`
}

func newState(targets []target.Target, limit int64) *state {
	s := &state{limit: limit}
	for _, t := range targets {
		s.servers = append(s.servers, &server{name: t.Label()})
	}
	return s
}

// down returns the number of servers that are down.
func (s *state) down() (n int) {
	for _, server := range s.servers {
		if server.last.down != "" {
			n++
		}
	}
	return n
}

// take merges a look into the state.
func (s *state) take(l look) {
	server := s.servers[l.server]
	before, first := server.last, server.turn == 0
	if s.began.IsZero() {
		s.began = l.at
	}
	s.turn++
	s.fresh, s.removed, server.turn = nil, nil, s.turn
	since := server.since
	if first || (before.down == "") != (l.down == "") {
		server.since = l.at
	}
	if l.down != "" {
		if before.down == "" {
			s.eventf(l.at, true, "%s is down: %s", server.name, l.brief)
		}
		l.about = before.about
	} else {
		if before.down != "" {
			s.eventf(l.at, false, "%s is back after %s", server.name, shortly(l.at.Sub(since)))
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
		label := seen.label()
		c := before[label]
		if c == nil {
			c = &counter{server: server, turn: s.turn}
		} else {
			s.compare(c, seen)
			delete(before, label)
		}
		if c.read(seen, s.limit) {
			c.turn = s.turn
		}
		server.counters[label] = c
	}
	for label, c := range before {
		s.eventf(l.at, true, "%s on %s is gone: its counter was removed", label, server.name)
		gone := removed{Server: server.name, Collection: c.Name}
		if c.identity {
			gone.Collection, gone.Identity = "", c.Name
		}
		s.removed = append(s.removed, gone)
	}
}

// compare records what happened to a counter, apart from numbers that were issued.
func (s *state) compare(c *counter, now seenCounter) {
	switch {
	case now.Epoch != c.Epoch:
		s.eventf(now.at, true, "%s on %s: epoch %d → %d after lost writes, Max %d → %d",
			c.label(), c.server.name, c.Epoch, now.Epoch, c.Max, now.Max)
		c.jumps = append(c.jumps, jump{at: now.at, by: now.Max - c.Max, epoch: now.Epoch, evidence: evidenceOf(c.Origin, now.Origin)})
		c.jumps = c.jumps[max(0, len(c.jumps)-maxJumps):]
	case !c.identity && now.Ranges == c.Ranges && now.Max > c.Max:
		s.eventf(now.at, false, "%s on %s was seeded: Max %d → %d", c.label(), c.server.name, c.Max, now.Max)
	case now.Ranges < c.Ranges || c.identity && now.Max < c.Max:
		s.eventf(now.at, true, "%s on %s went back: %d ranges → %d, Max %d → %d",
			c.label(), c.server.name, c.Ranges, now.Ranges, c.Max, now.Max)
	default:
		return
	}
	c.points, c.turn = nil, s.turn // what lies between was not issued
}

func (s *state) eventf(at time.Time, trouble bool, format string, values ...any) {
	const kept = 100
	e := event{at: at, trouble: trouble, text: fmt.Sprintf(format, values...)}
	s.fresh = append(s.fresh, e)
	s.events = append(s.events, e)
	s.events = s.events[max(0, len(s.events)-kept):]
}
