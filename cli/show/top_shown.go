package show

import (
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator/headroom"
)

// snapshot is the output of --output json, GET /state and GET /events.
type snapshot struct {
	Time        string            `json:"time"`  // RFC 3339
	Began       string            `json:"began"` // time of the first poll
	Namespace   string            `json:"namespace"`
	Interval    float64           `json:"intervalSeconds"` // time between two polls of the slowest server
	Alarms      string            `json:"alarmBound"`      // the bound of the headroom that alarms
	Summary     summary           `json:"summary"`
	Servers     []shownServer     `json:"servers"`
	Collections []shownCollection `json:"collections"` // of all servers, sorted
	Identities  []shownIdentity   `json:"identities"`  // sorted
	Events      []shownEvent      `json:"events"`      // since the previous snapshot
	Removed     []removed         `json:"removed,omitempty"`
}

type shownServer struct {
	Name  string `json:"name"`
	Up    bool   `json:"up"`
	State string `json:"state"`                // up, down, or waiting for the first reply
	Since string `json:"since,omitempty"`      // time of the first poll in this state
	Began bool   `json:"sinceBegan,omitempty"` // whether that is the first poll of all, so that the state may be older
	Fault string `json:"fault,omitempty"`      // reason why it is down
	Brief string `json:"brief,omitempty"`      // the reason in a few words
	about
}

type shownCollection struct {
	Server     string `json:"server"`
	Collection string `json:"collection"`
	Ranges     int64  `json:"ranges"` // number of issued ranges
	shownCounter
}

type shownIdentity struct {
	Server   string `json:"server"`
	Identity string `json:"identity"`
	shownCounter
}

// shownCounter holds the values of a collection or an identity.
type shownCounter struct {
	Max      int64               `json:"max"`                 // may exceed 2^53
	Ceiling  int64               `json:"ceiling"`             // number up to which the counter reserved ahead; 0 if unknown
	Epoch    int64               `json:"epoch"`               // number of jumps
	Rate     *float64            `json:"perSecond,omitempty"` // numbers reserved a second, over up to five minutes; missing until it is known
	Headroom []headroom.Headroom `json:"headroom"`
	Left     string              `json:"left"`                 // time to the next bound, in words
	Alarms   string              `json:"alarmBound,omitempty"` // the bound that alarms, if the server's MaxValue makes it another one
	Low      bool                `json:"low,omitempty"`        // whether the headroom to the bound that alarms is low
	Jumped   *shownJump          `json:"jumped,omitempty"`     // last jump since the first poll
	Rates    [][2]float64        `json:"rates,omitempty"`      // pairs of the seconds since the first poll and the rate; in /events only in the first value
}

type shownJump struct {
	Time     string `json:"time"`
	By       int64  `json:"by"`       // skipped numbers; if more ranges were issued since the previous poll, the increase of Max
	Epoch    int64  `json:"epoch"`    // number of jumps
	Evidence string `json:"evidence"` // that writes may be lost
}

type shownEvent struct {
	Time    string `json:"time"`
	Text    string `json:"text"`
	Trouble bool   `json:"trouble"`
}

// snapshot returns the whole state.
func (t top) snapshot(s *state, now time.Time) snapshot {
	shown := t.newSnapshot(s, now)
	for _, server := range s.servers {
		shown.Servers = append(shown.Servers, server.shown())
	}
	for _, c := range s.sorted(t.Sort, t.Filter, false) {
		shown.add(c, c.rates(s.began))
	}
	shown.Events = shownEvents(s.events)
	return shown
}

// changes returns the rows that the last poll result changed.
func (t top) changes(s *state, now time.Time) snapshot {
	shown := t.newSnapshot(s, now)
	for _, server := range s.servers {
		if server.seq == s.seq {
			shown.Servers = append(shown.Servers, server.shown())
		}
	}
	for c := range s.counters(t.Filter) {
		if c.seq == s.seq {
			shown.add(c, nil)
		}
	}
	shown.Events = shownEvents(s.fresh)
	shown.Removed = s.removed
	return shown
}

// newSnapshot returns a snapshot without rows. Its lists are not nil, so that JSON contains them.
func (t top) newSnapshot(s *state, now time.Time) snapshot {
	shown := snapshot{
		Time: now.Format(time.RFC3339), Namespace: t.Namespace, Alarms: alarmBound(s.columns, s.limit), Summary: t.summarize(s),
		Servers: []shownServer{}, Collections: []shownCollection{}, Identities: []shownIdentity{},
	}
	if !s.began.IsZero() {
		shown.Began = s.began.Format(time.RFC3339)
	}
	for _, server := range s.servers {
		shown.Interval = max(shown.Interval, (server.last.took + server.last.pause).Round(time.Millisecond).Seconds())
	}
	return shown
}

func (shown *snapshot) add(c *counter, rates [][2]float64) {
	row := c.shown()
	if bound := c.critical().Bound; bound != shown.Alarms {
		row.Alarms = bound
	}
	row.Rates = rates
	if c.identity {
		shown.Identities = append(shown.Identities, shownIdentity{c.server.name, c.Name, row})
	} else {
		shown.Collections = append(shown.Collections, shownCollection{c.server.name, c.Name, c.Ranges, row})
	}
}

func (s *server) shown() shownServer {
	row := shownServer{Name: s.name, Up: s.seq > 0 && s.last.down == "", State: "waiting", Fault: s.last.down, Brief: s.last.brief, about: s.last.about}
	if s.seq > 0 {
		row.State, row.Since, row.Began = map[bool]string{true: "up", false: "down"}[row.Up], s.since.Format(time.RFC3339), !s.changed
	}
	return row
}

func (c *counter) shown() shownCounter {
	next := nextOf(c.headroom)
	row := shownCounter{Max: c.Max, Ceiling: c.Ceiling, Epoch: c.Jumps, Headroom: c.headroom, Left: timeLeft(next), Low: c.low()}
	if next.Left > 0 && next.SecondsLeft != nil {
		row.Left += " to " + next.Bound
	}
	if c.rated {
		row.Rate = new(c.rate)
	}
	if len(c.jumps) > 0 {
		row.Jumped = new(c.lastJump().shownJump)
	}
	return row
}

// rates returns the history of the rate, or nil if it was always 0.
func (c *counter) rates(began time.Time) (rates [][2]float64) {
	if !slices.ContainsFunc(c.history, func(r reading) bool { return r.rate > 0 }) {
		return nil
	}
	for _, r := range c.history {
		rates = append(rates, [2]float64{r.at.Sub(began).Round(100 * time.Millisecond).Seconds(), r.rate})
	}
	return rates
}

func shownEvents(events []event) []shownEvent {
	shown := make([]shownEvent, len(events))
	for i, e := range events {
		shown[i] = shownEvent{e.at.Format(time.RFC3339), e.text(grouped), e.trouble}
	}
	return shown
}
