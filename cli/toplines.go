package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// snapshot is what --output json shows.
type snapshot struct {
	Time        string            `json:"time"` // RFC 3339
	Namespace   string            `json:"namespace"`
	Servers     []shownServer     `json:"servers"`
	Collections []shownCollection `json:"collections"` // of all servers, sorted
	Events      []shownEvent      `json:"events"`      // since the snapshot before
}

type shownServer struct {
	Name    string `json:"name"`
	Up      bool   `json:"up"`
	Fault   string `json:"fault,omitempty"`   // why it is down
	Role    string `json:"role,omitempty"`    // primary or replica, where the server says
	Version string `json:"version,omitempty"` // such as redis 8.0.2
	Prefix  string `json:"prefix"`
	Tag     string `json:"tag"`
	Corrupt int    `json:"corrupt"` // keys that cannot be read
}

type shownCollection struct {
	Server     string     `json:"server"`
	Collection string     `json:"collection"`
	Max        int64      `json:"max"`
	Ranges     int64      `json:"ranges"`
	Epoch      int64      `json:"epoch"`
	Rate       *float64   `json:"perSecond,omitempty"` // over the last minute; missing until it is known
	Headroom   []headroom `json:"headroom"`
}

type shownEvent struct {
	Time    string `json:"time"`
	Text    string `json:"text"`
	Trouble bool   `json:"trouble"`
}

// lines prints a snapshot after each interval.
func (t top) lines(ctx context.Context) error {
	lookers, closeAll, err := t.lookers()
	if err != nil {
		return err
	}
	defer closeAll()
	defer context.AfterFunc(ctx, closeAll)() // go-redis heeds a deadline while it reads, but no cancellation
	state := newTopState(t.names())
	lookAll(ctx, lookers, state)
	ticker := time.NewTicker(t.Interval)
	defer ticker.Stop()
	for printed := int64(0); t.Count == 0 || printed < t.Count; printed++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		lookAll(ctx, lookers, state)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := t.print(state, time.Now()); err != nil {
			return err
		}
		state.events = nil
	}
	return state.allDown()
}

// lookAll takes one look at each server, all at once.
func lookAll(ctx context.Context, lookers []*looker, state *topState) {
	found := make([]look, len(lookers))
	var looking sync.WaitGroup
	for i, l := range lookers {
		looking.Go(func() { found[i] = l.look(ctx) })
	}
	looking.Wait()
	if ctx.Err() != nil { // what was cut short is no finding
		return
	}
	for i := range found {
		state.take(found[i])
	}
}

// allDown is an error when no server is up.
func (s *topState) allDown() error {
	for i := range s.servers {
		if s.servers[i].down == "" {
			return nil
		}
	}
	return &failure{code: exitUnavailable, text: s.servers[0].down}
}

func (t top) print(state *topState, now time.Time) error {
	counters := state.sorted(t.Sort, t.Filter, false)
	if !t.JSON {
		return t.printText(state, counters, now)
	}
	shown := t.snapshot(state, counters, now)
	if t.Count == 1 {
		return t.writeJSON(shown)
	}
	encoder := json.NewEncoder(t.Stdout)
	encoder.SetEscapeHTML(false)
	return written(encoder.Encode(shown))
}

func (t top) snapshot(state *topState, counters []*topCounter, now time.Time) snapshot {
	shown := snapshot{
		Time:        now.Format(time.RFC3339),
		Namespace:   t.Namespace,
		Collections: make([]shownCollection, 0, len(counters)),
		Events:      make([]shownEvent, 0, len(state.events)),
	}
	for i := range state.servers {
		s := &state.servers[i]
		l := s.last
		shown.Servers = append(shown.Servers, shownServer{
			s.name, s.down == "", s.down, l.role, l.version, l.prefix.ServerPrefix, l.prefix.NodeTag, l.corrupt,
		})
	}
	for _, c := range counters {
		rate, known := c.rate()
		row := shownCollection{c.server, c.Name, c.Max, c.Ranges, c.Epoch, nil, headroomsAt(c.Max, rate)}
		if known {
			row.Rate = &rate
		}
		shown.Collections = append(shown.Collections, row)
	}
	for _, e := range state.events {
		shown.Events = append(shown.Events, shownEvent{e.at.Format(time.RFC3339), e.text, e.trouble})
	}
	return shown
}

func (t top) printText(state *topState, counters []*topCounter, now time.Time) error {
	fmt.Fprintf(t.Stdout, "%s  namespace %s\n\n", now.Format(time.RFC3339), t.Namespace)
	servers := table{head: topServerTitles, cut: []int{3, 4}, right: make([]bool, len(topServerTitles))}
	for i := range state.servers {
		servers.add(printables(state.servers[i].cells(now))...)
	}
	if err := t.writeTable(servers); err != nil {
		return err
	}
	fmt.Fprintln(t.Stdout)
	titles := topColumns(len(state.servers), topUnits[0])
	shown := topTable(titles, counters)
	for room := columns(t.Stdout); room > 0 && over(shown.widths(), room) > 0; shown = topTable(titles, counters) {
		at := leastColumn(titles)
		if at < 0 {
			break
		}
		titles = slices.Delete(titles, at, at+1)
	}
	if err := t.writeTable(shown); err != nil {
		return err
	}
	for _, e := range state.events {
		fmt.Fprintf(folded{t.Stdout, logIndent}, "%s  %s\n", e.at.Format(time.TimeOnly), printable(e.text))
	}
	_, err := fmt.Fprintln(t.Stdout)
	return written(err)
}

// topTable is a table of counters.
func topTable(columns []topColumn, counters []*topCounter) table {
	shown := table{head: []string{"COLLECTION"}, right: []bool{false}}
	for _, c := range columns {
		shown.head = append(shown.head, c.title)
		shown.right = append(shown.right, !c.left)
	}
	for _, counter := range counters {
		cells := []string{counter.Name}
		for _, c := range columns {
			cells = append(cells, c.cell(counter))
		}
		shown.add(printables(cells)...)
	}
	return shown
}

func printables(cells []string) []string {
	for i, cell := range cells {
		cells[i] = printable(cell)
	}
	return cells
}
