package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// demo has a fleet of workers take identifiers from two masters in this process, loses one of them and brings it
// back, and proves that no identifier was given twice.
type demo struct {
	globals
	Workers     int
	Collections []string
	Burst       int           // identifiers that a worker takes at each tick, of the collections in turn
	Tick        time.Duration // between bursts
	Act         time.Duration // how long each state of affairs lasts at least
	Patience    time.Duration // how long the fleet may take to notice a change
	Alone       int           // identifiers that one more worker takes at full speed
}

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

func newDemoCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "demo",
		Usage:     "see it work, with nothing installed",
		UsageText: "hilo demo",
		Description: describe(`
Runs two masters in this process, NorthServer/ and SouthServer/, and a fleet of workers,
each with an allocator of its own as separate programs would have. North is lost while
they work, and comes back. At the end they return what they did not use, and every
identifier is counted: the proof that none was given twice. It takes a few seconds.`,
			[]string{"hilo demo", "hilo demo --output json"},
			"1 failed or interrupted", "5 an identifier was given twice"),
		Action: func(c *cli.Context) error {
			if _, err := takeArguments(c); err != nil {
				return err
			}
			g, err := readServerless(c, env)
			if err != nil {
				return err
			}
			return demo{
				globals:     g,
				Workers:     8,
				Collections: []string{"orders", "companies"},
				Burst:       20,
				Tick:        10 * time.Millisecond,
				Act:         300 * time.Millisecond,
				Patience:    20 * time.Second,
				Alone:       500_000,
			}.Run(c.Context)
		},
	})
}

func (d demo) Run(ctx context.Context) error {
	masters, err := startMasters(ctx, d.Namespace)
	if err != nil {
		return err
	}
	defer masters.close()
	s := &story{demo: d, masters: masters, start: time.Now()}
	if err := s.tell(ctx); err != nil {
		return err
	}
	found, err := s.judge(ctx)
	if err != nil {
		return err
	}
	if err := d.show(found); err != nil {
		return err
	}
	return verdict(found)
}

// options are those of a worker. The ranges of one that ends within seconds need not last for an outage of ten.
func (d demo) options() allocator.Options {
	return allocator.Options{
		Namespace:     d.Namespace,
		Separator:     d.Separator,
		Runway:        time.Millisecond,
		RefillTimeout: 500 * time.Millisecond,
		Logger:        withoutReturned(d.Log), // the outage is meant
	}
}

func (d demo) show(found outcome) error {
	if d.JSON {
		return d.writeJSON(found)
	}
	w := tabwriter.NewWriter(d.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nSERVER\tCOLLECTION\tIDS\tROUND TRIPS\tMAX\tDUPLICATES\tNEVER USED\n")
	for _, c := range found.Collections {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d in %s\n", c.Server, c.Collection, c.IDs, c.Ranges, c.Max, c.Duplicates,
			c.Unused, plural(int(c.Gaps), "gap"))
	}
	fmt.Fprintf(w, "\nspeed:\t%d ids a second by one worker alone: %d of %s in %.2f s,\n\twith %d round trips\n",
		found.Alone.PerSecond, found.Alone.IDs, found.Alone.Collection, found.Alone.Seconds, found.Alone.RoundTrips)
	fmt.Fprintf(w, "cost:\t%d round trips for %d ids, one for %d of them\n", found.RoundTrips, found.IDs, found.IDs/max(1, found.RoundTrips))
	fmt.Fprintf(w, "waste:\t%d of %d numbers that workers reserved were never used; they\n\treturned %d: those that nobody had reserved behind\n",
		found.Unused, found.Reserved, found.Returned)
	fmt.Fprintf(w, "proof:\t%d ids read back, one bit for each: %d bits set twice,\n\t%d calls without an id while north was away\n",
		found.IDs, found.Duplicates, found.Failures)
	return written(w.Flush())
}
