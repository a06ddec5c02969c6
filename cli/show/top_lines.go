package show

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// printSnapshots prints a snapshot after each interval.
func (t top) printSnapshots(ctx context.Context) error {
	return t.open(ctx, func(pollers []*poller) error {
		state := t.newState()
		state.pollAll(ctx, pollers)
		ticker := time.NewTicker(t.Interval)
		defer ticker.Stop()
		for printed := int64(0); t.Count == 0 || printed < t.Count; printed++ {
			select {
			case <-ctx.Done():
			case <-ticker.C:
				state.pollAll(ctx, pollers)
			}
			if ctx.Err() != nil { // the poll was interrupted
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

// pollAll polls all servers concurrently.
func (s *state) pollAll(ctx context.Context, pollers []*poller) {
	results := make([]pollResult, len(pollers))
	var polling sync.WaitGroup
	for i, p := range pollers {
		polling.Go(func() { results[i] = p.poll(ctx) })
	}
	polling.Wait()
	for i := range results {
		s.merge(results[i])
	}
}

func (t top) print(state *state, now time.Time) error {
	if !t.JSON {
		return t.printText(state, now)
	}
	shown := t.snapshot(state, now)
	if t.Count == 1 {
		return t.WriteJSON(shown)
	}
	encoder := json.NewEncoder(t.Stdout)
	encoder.SetEscapeHTML(false)
	return exit.Written(encoder.Encode(shown))
}

func (t top) printText(state *state, now time.Time) error {
	style, counters := t.Style(t.Stdout), state.sorted(t.Sort, t.Filter, false)
	err := cmp.Or(t.Printf("%s  namespace %s\n\n", now.Format(time.RFC3339), t.Namespace), t.WriteTable(state.serversTable(now)),
		t.Printf("\n"), t.WriteTable(countersTable(counters, state, timeLeft, 0, style)))
	for _, e := range state.events {
		err = cmp.Or(err, t.Printf("%s  %s\n", e.at.Format(time.TimeOnly), term.Printable(e.text(style))))
	}
	return cmp.Or(err, t.Printf("\n"))
}
