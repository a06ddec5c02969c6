// Package demo has hilo demo, a fleet on two masters of which one is lost, and hilo dev, a server to try things out with.
// Both need nothing installed. It exports its commands and nothing else, and may import the rooms under cli/internal and the
// library.
package demo

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/term"
)

const (
	workers  = 8
	pace     = 2000                   // identifiers a second that each takes, of the collections in turn
	batch    = 20                     // of them, one right after the other
	act      = 300 * time.Millisecond // how long each state of affairs lasts at least
	patience = 20 * time.Second       // how long the fleet may take to notice a change
	alone    = 500_000                // identifiers that one more worker takes at full speed
)

var collections = []string{"orders", "companies"}

// outcome is what the demo found.
type outcome struct {
	Workers     int             `json:"workers"`
	Seconds     float64         `json:"seconds"`
	IDs         int64           `json:"ids"`
	Duplicates  int64           `json:"duplicates"`
	Failures    int64           `json:"failures"`   // calls that got no identifier
	RoundTrips  int64           `json:"roundTrips"` // that gave ranges
	Reserved    int64           `json:"reserved"`   // numbers in them
	Returned    int64           `json:"returned"`   // given back at the end
	Unused      int64           `json:"unused"`     // neither given to anybody nor given back: the waste
	Events      []event         `json:"events"`
	Alone       spurt           `json:"alone"` // one worker at full speed
	Collections []demonstration `json:"collections"`
}

// event is a moment of the story.
type event struct {
	Seconds float64 `json:"seconds"` // since it began
	What    string  `json:"what"`
}

// spurt is what one worker did at full speed.
type spurt struct {
	Collection string  `json:"collection"`
	IDs        int64   `json:"ids"`
	Seconds    float64 `json:"seconds"`
	PerSecond  int64   `json:"perSecond"`
	RoundTrips int64   `json:"roundTrips"`
}

// demonstration is what was found about one collection of one server.
type demonstration struct {
	Server     string `json:"server"`
	Collection string `json:"collection"`
	IDs        int64  `json:"ids"`
	Duplicates int64  `json:"duplicates"`
	Ranges     int64  `json:"ranges"`
	Max        int64  `json:"max"`
	Gaps       int64  `json:"gaps"`   // rows of numbers up to Max that nobody was given
	Unused     int64  `json:"unused"` // numbers in them
}

// Command is hilo demo.
func Command(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "demo",
		Usage:     "see it work, with nothing installed",
		UsageText: "hilo demo",
		Description: base.Describe(`
Runs two masters in this process, NorthServer/ and SouthServer/, and a fleet of workers,
each with an allocator of its own as separate programs would have. North is lost while
they work, and comes back. At the end they return what they did not use, and every
identifier is counted: the proof that none was given twice. It takes a few seconds.`,
			[]string{"hilo demo", "hilo demo --output json"},
			"1 failed or interrupted", "5 an identifier was given twice"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return &story{Session: r.Serverless()}
		}),
	}
}

// Run shows what was found, be it good or bad.
func (s *story) Run(ctx context.Context) error {
	defer s.closeMasters()
	if err := s.startMasters(ctx); err != nil {
		return err
	}
	s.start = time.Now()
	if err := s.tell(ctx); err != nil {
		return err
	}
	if err := s.count(ctx); err != nil {
		return err
	}
	return cmp.Or(s.Show(s.outcome, s.print), verdict(s.outcome))
}

func (s *story) print() error {
	t := term.Table{Head: []string{"SERVER", "COLLECTION", "IDS", "ROUND TRIPS", "MAX", "DUPLICATES", "NEVER USED"}}
	for _, c := range s.Collections {
		t.Add(c.Server, c.Collection, fmt.Sprint(c.IDs), fmt.Sprint(c.Ranges), fmt.Sprint(c.Max), fmt.Sprint(c.Duplicates),
			fmt.Sprintf("%d in %s", c.Unused, term.Plural(c.Gaps, "gap")))
	}
	t.Add("")
	var sums term.Table
	sums.Addf("speed:", "%d ids a second by one worker alone: %d of %s in %.2f s,",
		s.Alone.PerSecond, s.Alone.IDs, s.Alone.Collection, s.Alone.Seconds)
	sums.Addf("", "with %d round trips", s.Alone.RoundTrips)
	sums.Addf("cost:", "%d round trips for %d ids, one for %d of them", s.RoundTrips, s.IDs, s.IDs/max(1, s.RoundTrips))
	sums.Addf("waste:", "%d of %d numbers that workers reserved were never used; they", s.Unused, s.Reserved)
	sums.Addf("", "returned %d: those that nobody had reserved behind", s.Returned)
	sums.Addf("proof:", "%d ids read back, one bit for each: %d bits set twice,", s.IDs, s.Duplicates)
	sums.Addf("", "%d calls without an id while north was away", s.Failures)
	return cmp.Or(s.Printf("\n"), s.WriteTable(t), s.WriteTable(sums))
}
