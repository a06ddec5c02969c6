package show

import (
	"time"

	"github.com/hilo-id/hilo/cli/internal/term"
)

// state merges the poll results of all servers. It does no I/O and reads no clock.
type state struct {
	began   time.Time // time of the first result
	limit   int64     // greatest number that the allocators issue
	columns string    // type of the columns that store ids, whose greatest integer alarms
	seq     int64     // number of merged results
	servers []*server
	events  []event   // the newest last
	fresh   []event   // events of the last result
	removed []removed // counters that were missing in the last result
}

type server struct {
	name     string
	last     pollResult // the newest; while the server is down, about stays from the last success
	since    time.Time  // time of the last change between up and down, or of the first result if there was none
	changed  bool       // whether there was one
	seq      int64      // state.seq of the newest result; 0 before the first
	counters map[string]*counter

	low, limit int64  // bounds of the numbers that allocators issue of it
	alarm      string // name of the bound that alarms
}

// event is a change of a server or a counter that is worth reporting.
type event struct {
	at      time.Time
	trouble bool
	format  string
	values  []any
}

// text returns the event in words, with thousands separators where the style has them.
func (e event) text(style term.Style) string { return style.Sprintf(e.format, e.values...) }

// removed identifies a removed counter in JSON. Either Collection or Identity is set.
type removed struct {
	Server     string `json:"server"`
	Collection string `json:"collection,omitempty"`
	Identity   string `json:"identity,omitempty"`
}

// newState returns a state without results.
func (t top) newState() *state {
	s := &state{limit: t.Limit, columns: t.Columns}
	for _, each := range t.targets {
		s.servers = append(s.servers, &server{name: each.Label(), limit: t.Limit})
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

// merge adds a poll result to the state.
func (s *state) merge(r pollResult) {
	server := s.servers[r.server]
	before, first := server.last, server.seq == 0
	if s.began.IsZero() {
		s.began = r.at
	}
	s.seq++
	s.fresh, s.removed, server.seq = nil, nil, s.seq
	if r.down != "" {
		if before.down == "" {
			s.eventf(r.at, true, "%s is down: %s", server.name, r.brief)
		}
		r.about = before.about
	} else {
		if before.down != "" {
			s.eventf(r.at, false, "%s is back after %s", server.name, wholeSeconds(r.at.Sub(server.since)))
		}
		if r.NoSettings && !before.NoSettings && !first {
			s.eventf(r.at, true, "%s lost its settings", server.name)
		}
		if before.Role != "" && r.Role != "" && before.Role != r.Role {
			s.eventf(r.at, r.Role == "replica", "%s was a %s and is a %s", server.name, before.Role, r.Role)
		}
		s.mergeCounters(server, r)
	}
	if first || (before.down == "") != (r.down == "") {
		server.since, server.changed = r.at, !first
	}
	r.counters = nil
	server.last = r
}

func (s *state) mergeCounters(server *server, r pollResult) {
	before := server.counters
	server.counters = make(map[string]*counter, len(r.counters))
	low, limit := r.interval(s.limit)
	moved := low != server.low || limit != server.limit
	server.low, server.limit, server.alarm = low, limit, alarmBound(s.columns, limit)
	for _, seen := range r.counters {
		label := seen.label()
		c := before[label]
		if c == nil {
			c = &counter{server: server, seq: s.seq}
		} else {
			s.compare(c, seen)
			delete(before, label)
		}
		if c.read(seen, moved) {
			c.seq = s.seq
		}
		server.counters[label] = c
	}
	for label, c := range before {
		s.eventf(r.at, true, "%s on %s is gone: its counter was removed", label, server.name)
		gone := removed{Server: server.name, Collection: c.Name}
		if c.identity {
			gone.Collection, gone.Identity = "", c.Name
		}
		s.removed = append(s.removed, gone)
	}
}

// compare records the changes of a counter other than issued numbers.
func (s *state) compare(c *counter, now polledCounter) {
	skipped := now.Max - c.Max
	switch {
	case now.Jumps > c.Jumps:
		j := shownJump{now.at.Format(time.RFC3339), now.Max - c.Max, now.Jumps, evidenceOf(c.Origin, now.Origin)}
		if now.low > 0 && now.Ranges == c.Ranges+1 {
			j.By = now.low - 1 - c.Max
		}
		s.eventf(now.at, true, "%s on %s jumped by %d, epoch %d → %d, Max %d → %d: %s",
			c.label(), c.server.name, j.By, c.Jumps, now.Jumps, c.Max, now.Max, j.Evidence)
		skipped = j.By
		c.jumps = append(c.jumps, jump{now.at, j})
		c.jumps = c.jumps[max(0, len(c.jumps)-maxJumps):]
	case !c.identity && now.Ranges == c.Ranges && now.Max > c.Max:
		s.eventf(now.at, false, "%s on %s was seeded: Max %d → %d", c.label(), c.server.name, c.Max, now.Max)
	case now.Ranges < c.Ranges || c.identity && now.Max < c.Max:
		s.eventf(now.at, true, "%s on %s went back: ranges %d → %d, Max %d → %d",
			c.label(), c.server.name, c.Ranges, now.Ranges, c.Max, now.Max)
	default:
		return
	}
	c.meter.skip(skipped)
	c.seq = s.seq
}

func (s *state) eventf(at time.Time, trouble bool, format string, values ...any) {
	const kept = 100
	e := event{at, trouble, format, values}
	s.fresh = append(s.fresh, e)
	s.events = append(s.events, e)
	s.events = s.events[max(0, len(s.events)-kept):]
}
