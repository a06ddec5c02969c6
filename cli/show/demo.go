package show

import (
	"cmp"
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
)

const (
	demoWorkers  = 8
	demoRate     = 2000                   // identifiers a second of each worker
	demoBatch    = 20                     // identifiers taken without a pause
	phaseLength  = 300 * time.Millisecond // minimum duration of a phase
	phaseTimeout = time.Minute            // for all workers to switch to another master; a busy machine takes long to use up a range
	aloneCount   = 500_000                // identifiers taken by a single worker at full speed
)

var demoCollections = []string{"orders", "companies"}

// outcome is the result of the demo.
type outcome struct {
	Workers     int              `json:"workers"`
	Seconds     float64          `json:"seconds"`
	IDs         int64            `json:"ids"`
	Duplicates  int64            `json:"duplicates"`
	Failures    int64            `json:"failures"`   // calls that failed
	RoundTrips  int64            `json:"roundTrips"` // round trips that issued ranges
	Reserved    int64            `json:"reserved"`   // numbers reserved by them
	Returned    int64            `json:"returned"`   // numbers returned at the end
	Unused      int64            `json:"unused"`     // numbers neither issued nor returned
	Events      []demoEvent      `json:"events"`
	Alone       speedRun         `json:"alone"` // a single worker at full speed
	Collections []demoCollection `json:"collections"`
}

// demoEvent is an event of the demo.
type demoEvent struct {
	Seconds float64 `json:"seconds"` // time since the start
	What    string  `json:"what"`
}

// speedRun is the result of a single worker at full speed.
type speedRun struct {
	Collection string  `json:"collection"`
	IDs        int64   `json:"ids"`
	Seconds    float64 `json:"seconds"`
	PerSecond  int64   `json:"perSecond"`
	RoundTrips int64   `json:"roundTrips"`
}

// demoCollection is the result for one collection on one server.
type demoCollection struct {
	Server     string `json:"server"`
	Collection string `json:"collection"`
	IDs        int64  `json:"ids"`
	Duplicates int64  `json:"duplicates"`
	Ranges     int64  `json:"ranges"`
	Max        int64  `json:"max"`
	Gaps       int64  `json:"gaps"`   // runs of numbers up to Max that were not issued
	Unused     int64  `json:"unused"` // numbers in them
}

// DemoCommand returns the command hilo demo.
func DemoCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "demo",
		Usage:     "see it work, with nothing installed",
		UsageText: "hilo demo",
		Description: base.Describe(`
Runs two masters in this process, NorthServer/ and SouthServer/, and a fleet of workers,
each with its own allocator, like separate programs. While they work, north is lost and
comes back. At the end they return unused numbers, and the demo checks that no
identifier was issued twice. It takes a few seconds.`,
			[]string{"hilo demo", "hilo demo --output json"},
			"5 an identifier was issued twice"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return &demo{Session: r.SessionWithoutRedis()}
		}),
	}
}

// Run runs the demo and shows the result.
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
