package show

import (
	"cmp"
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
)

const (
	demoWorkers = 8
	demoRate    = 2000                   // identifiers a second of each worker, of the collections in turn
	demoBatch   = 20                     // of them without a pause
	actLength   = 300 * time.Millisecond // at least
	actTimeout  = 20 * time.Second       // for all workers to notice a change
	aloneCount  = 500_000                // identifiers that one more worker takes at full speed
)

var demoCollections = []string{"orders", "companies"}

// outcome is what the demo found.
type outcome struct {
	Workers     int             `json:"workers"`
	Seconds     float64         `json:"seconds"`
	IDs         int64           `json:"ids"`
	Duplicates  int64           `json:"duplicates"`
	Failures    int64           `json:"failures"`   // calls that got no identifier
	RoundTrips  int64           `json:"roundTrips"` // that issued ranges
	Reserved    int64           `json:"reserved"`   // numbers in them
	Returned    int64           `json:"returned"`   // numbers, at the end
	Unused      int64           `json:"unused"`     // numbers neither issued nor returned: the waste
	Events      []moment        `json:"events"`
	Alone       spurt           `json:"alone"` // one worker at full speed
	Collections []demonstration `json:"collections"`
}

// moment is one event of the demo.
type moment struct {
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

// demonstration is the result for one collection of one server.
type demonstration struct {
	Server     string `json:"server"`
	Collection string `json:"collection"`
	IDs        int64  `json:"ids"`
	Duplicates int64  `json:"duplicates"`
	Ranges     int64  `json:"ranges"`
	Max        int64  `json:"max"`
	Gaps       int64  `json:"gaps"`   // runs of numbers up to Max that were not issued
	Unused     int64  `json:"unused"` // numbers in them
}

// DemoCommand is hilo demo.
func DemoCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "demo",
		Usage:     "see it work, with nothing installed",
		UsageText: "hilo demo",
		Description: base.Describe(`
Runs two masters in this process, NorthServer/ and SouthServer/, and a fleet of workers,
each with an allocator of its own as separate programs would have. North is lost while
they work, and comes back. At the end they return what they did not use, and every
identifier is checked: none was issued twice. It takes a few seconds.`,
			[]string{"hilo demo", "hilo demo --output json"},
			"1 failed or interrupted", "5 an identifier was issued twice"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return &demo{Session: r.SessionWithoutRedis()}
		}),
	}
}

// Run shows the result, also where it is a fault.
func (d *demo) Run(ctx context.Context) error {
	defer d.closeMasters()
	if err := d.startMasters(ctx); err != nil {
		return err
	}
	d.start = time.Now()
	if err := d.runFleet(ctx); err != nil {
		return err
	}
	if err := d.count(ctx); err != nil {
		return err
	}
	return cmp.Or(d.Show(d.outcome, d.print), verdict(d.outcome))
}

func (d *demo) print() error {
	t, sums := d.Table("SERVER", "COLLECTION", "IDS", "ROUND TRIPS", "MAX", "DUPLICATES", "UNUSED", "GAPS"), d.Table()
	t.Drop = []int{7, 3, 4}
	for _, c := range d.Collections {
		t.Add(c.Server, c.Collection, c.IDs, c.Ranges, c.Max, c.Duplicates, c.Unused, c.Gaps)
	}
	t.Add("")
	sums.Addf("speed:", "%d ids/s by one worker: %d ids, %d round trips", d.Alone.PerSecond, d.Alone.IDs, d.Alone.RoundTrips)
	sums.Addf("cost:", "%d round trips for %d ids, one for %d ids", d.RoundTrips, d.IDs, d.IDs/max(1, d.RoundTrips))
	sums.Addf("waste:", "%d of %d reserved numbers unused; %d returned", d.Unused, d.Reserved, d.Returned)
	style := d.Style(d.Stdout)
	summary, duplicates := style.Green("Verified:"), style.Plural(d.Duplicates, "duplicate")
	if d.Duplicates > 0 {
		summary = style.Red("NOT VERIFIED:")
	}
	return cmp.Or(d.Printf("\n"), d.WriteTable(t), d.WriteTable(sums), d.Prosef("%s %d ids, %s; %d calls failed while north was down\n",
		summary, d.IDs, duplicates, d.Failures))
}
