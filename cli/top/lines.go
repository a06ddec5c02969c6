package top

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
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
	Name  string `json:"name"`
	Up    bool   `json:"up"`
	Fault string `json:"fault,omitempty"` // why it is down
	about
}

type shownCollection struct {
	Server     string              `json:"server"`
	Collection string              `json:"collection"`
	Max        int64               `json:"max"`
	Ranges     int64               `json:"ranges"`
	Epoch      int64               `json:"epoch"`
	Rate       *float64            `json:"perSecond,omitempty"` // over the last minute; missing until it is known
	Headroom   []headroom.Headroom `json:"headroom"`
}

type shownEvent struct {
	Time    string `json:"time"`
	Text    string `json:"text"`
	Trouble bool   `json:"trouble"`
}

// lines prints a snapshot after each interval.
func (t top) lines(ctx context.Context) error {
	return t.open(ctx, func(lookers []*looker) error {
		state := newState(t.targets)
		state.takeAll(ctx, lookers)
		ticker := time.NewTicker(t.Interval)
		defer ticker.Stop()
		for printed := int64(0); t.Count == 0 || printed < t.Count; printed++ {
			select {
			case <-ctx.Done():
			case <-ticker.C:
				state.takeAll(ctx, lookers)
			}
			if ctx.Err() != nil { // what was cut short is no finding
				return ctx.Err()
			}
			if err := t.print(state, time.Now()); err != nil {
				return err
			}
			state.events = nil
		}
		if state.down() == len(state.servers) {
			return &exit.Error{Code: exit.Unavailable, Text: state.servers[0].last.down}
		}
		return nil
	})
}

// takeAll takes one look at each server, all at once.
func (s *state) takeAll(ctx context.Context, lookers []*looker) {
	found := make([]look, len(lookers))
	var looking sync.WaitGroup
	for i, l := range lookers {
		looking.Go(func() { found[i] = l.look(ctx) })
	}
	looking.Wait()
	for i := range found {
		s.take(found[i])
	}
}

func (t top) print(state *state, now time.Time) error {
	counters := state.sorted(t.Sort, t.Filter, false)
	if !t.JSON {
		return t.printText(state, counters, now)
	}
	shown := t.snapshot(state, counters, now)
	if t.Count == 1 {
		return t.WriteJSON(shown)
	}
	encoder := json.NewEncoder(t.Stdout)
	encoder.SetEscapeHTML(false)
	return exit.Written(encoder.Encode(shown))
}

func (t top) snapshot(state *state, counters []*counter, now time.Time) snapshot {
	shown := snapshot{
		Time:        now.Format(time.RFC3339),
		Namespace:   t.Namespace,
		Collections: make([]shownCollection, 0, len(counters)),
		Events:      make([]shownEvent, 0, len(state.events)),
	}
	for _, s := range state.servers {
		shown.Servers = append(shown.Servers, shownServer{s.name, s.last.down == "", s.last.down, s.last.about})
	}
	for _, c := range counters {
		row := shownCollection{c.server.name, c.Name, c.Max, c.Ranges, c.Epoch, nil, c.headroom}
		if c.rated {
			row.Rate = &c.rate
		}
		shown.Collections = append(shown.Collections, row)
	}
	for _, e := range state.events {
		shown.Events = append(shown.Events, shownEvent{e.at.Format(time.RFC3339), e.text, e.trouble})
	}
	return shown
}

func (t top) printText(state *state, counters []*counter, now time.Time) error {
	fmt.Fprintf(t.Stdout, "%s  namespace %s\n\n", now.Format(time.RFC3339), t.Namespace)
	if err := t.WriteTable(state.table(now)); err != nil {
		return err
	}
	fmt.Fprintln(t.Stdout)
	if err := t.WriteTable(tableOf(counters, len(state.servers) > 1, timeLeft, 0)); err != nil {
		return err
	}
	for _, e := range state.events {
		_ = t.Printf("%s  %s\n", e.at.Format(time.TimeOnly), term.Printable(e.text)) // the last write tells
	}
	return t.Printf("\n")
}
