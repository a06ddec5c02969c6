package examine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// report is the result of a trial.
type report struct {
	Namespace   string         `json:"namespace"` // of the trial
	Proven      bool           `json:"proven"`    // the trial was completed without duplicates
	Interrupted bool           `json:"interrupted"`
	Processes   bool           `json:"processes"` // the workers are processes, not goroutines
	Workers     int            `json:"workers"`   // at the same time
	Killed      int            `json:"killed"`    // workers that --kill-workers killed
	Lost        int            `json:"lost"`      // workers that ended unexpectedly
	IDs         int64          `json:"ids"`       // reported by workers, including duplicates
	Duplicates  int64          `json:"duplicates"`
	Seconds     float64        `json:"seconds"`
	PerSecond   float64        `json:"perSecond"`
	Ranges      int64          `json:"ranges"`
	Jumps       int64          `json:"jumps"`    // of counters, on evidence of lost writes
	Returned    int64          `json:"returned"` // numbers that workers returned at their end
	Burnt       int64          `json:"burnt"`    // numbers that workers held at their end and could not return
	Unused      int64          `json:"unused"`   // numbers up to max that were never reported
	Failures    int64          `json:"failures"` // refills that failed, except those of killed workers
	Servers     []server       `json:"servers"`
	Outages     []outage       `json:"outages"`
	Collections []seriesReport `json:"collections"`
	Repeated    []repeated     `json:"repeated"` // the duplicates
}

// server describes a server of the trial.
type server struct {
	Name       string `json:"name"`
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	Identities bool   `json:"identities"` // home of identities in the trial's namespace
	Temporary  bool   `json:"temporary"`  // the server had no prefix, and got one for the trial
	Left       int    `json:"left"`       // keys that could not be removed
}

// outage is a time in which a server did not respond.
type outage struct {
	Server  string  `json:"server"`
	From    string  `json:"from"` // RFC 3339
	To      string  `json:"to"`   // empty if the server was still down at the end
	Seconds float64 `json:"seconds"`
	Changed bool    `json:"changed"` // another process responded afterwards: restarted or promoted
	Reason  string  `json:"reason"`
}

const outageTime = "2006-01-02T15:04:05.000Z07:00"

// seriesReport is the result for one collection with one prefix.
type seriesReport struct {
	Collection string `json:"collection"`
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	IDs        int64  `json:"ids"`
	Duplicates int64  `json:"duplicates"`
	Greatest   int64  `json:"greatest"` // greatest number reported
	Gaps       int64  `json:"gaps"`     // runs of numbers below greatest that were not reported
	Missing    int64  `json:"missing"`  // numbers in the gaps
	Max        int64  `json:"max"`      // of the counter at the end; 0 if the server is down
	Ranges     int64  `json:"ranges"`
	Jumps      int64  `json:"epoch"`
}

// repeated is a run of duplicates.
type repeated struct {
	First   string `json:"first"`
	Last    string `json:"last"`
	IDs     int64  `json:"ids"`
	Times   int    `json:"times"`   // how often each was issued
	Workers []int  `json:"workers"` // number of the worker, for each time
}

// report returns the result, except Servers and the content of Outages, which are known when the keys are removed.
func (t *trial) report(ctx context.Context) report {
	seconds := t.ended.Sub(t.began).Seconds()
	p := report{
		Namespace: t.Namespace, Processes: !t.Goroutines, Workers: t.Workers, Killed: t.killed, Lost: t.lost,
		Proven: t.err == nil && t.ledger.Duplicates == 0, Interrupted: errors.Is(t.err, context.Canceled),
		IDs: t.ledger.IDs, Duplicates: t.ledger.Duplicates, Seconds: seconds, PerSecond: float64(t.ledger.IDs) / max(seconds, 1e-9),
		Returned: t.stats.Returned, Burnt: t.stats.Burnt, Failures: t.stats.Failures,
		Outages: []outage{}, Repeated: []repeated{},
	}
	for _, s := range t.ledger.Series {
		c := t.counter(ctx, s)
		shown := seriesReport{
			Collection: s.Collection, Prefix: s.ServerPrefix, Tag: s.NodeTag,
			IDs: s.IDs, Duplicates: s.Duplicates, Greatest: s.Numbers.Greatest, Gaps: s.Numbers.Gaps(), Missing: s.Numbers.Missing(),
			Max: c.Max, Ranges: c.Ranges, Jumps: c.Jumps,
		}
		p.Ranges += shown.Ranges
		p.Jumps += shown.Jumps
		p.Unused += max(shown.Max, shown.Greatest) - (shown.IDs - shown.Duplicates)
		p.Collections = append(p.Collections, shown)
		for _, r := range s.Repetitions() {
			p.Repeated = append(p.Repeated, repeated{
				First: s.Text(r.Low, t.Separator), Last: s.Text(r.High, t.Separator),
				IDs: r.High - r.Low + 1, Times: len(r.Workers), Workers: r.Workers,
			})
		}
	}
	p.Jumps = max(p.Jumps, t.stats.Jumps) // a lost counter also lost their number
	return p
}

func (p report) print(g *base.Session) error {
	style, kind := g.Style(g.Stdout), "goroutine"
	if p.Processes {
		kind = "process"
	}
	workers := style.Plural(int64(p.Workers), kind)
	if p.Killed > 0 {
		workers += style.Sprintf("; %d killed and replaced", p.Killed)
	}
	if p.Lost > 0 {
		workers += style.Sprintf("; %d lost", p.Lost)
	}
	t := g.Table()
	t.Addf("ids:", "%d in %s, %.0f ids/s", p.IDs, term.Short(int64(p.Seconds*1e9)), p.PerSecond)
	t.Addf("duplicates:", "%d", p.Duplicates)
	t.Add("workers:", workers)
	t.Addf("ranges:", "%d; %s of counters", p.Ranges, style.Plural(p.Jumps, "jump"))
	t.Add("unused:", style.Plural(p.Unused, "number"))
	held := min(p.Unused, p.Burnt)
	if held > 0 {
		t.Addf("", "%d not returned by a worker at its end", held)
	}
	if p.Unused > held {
		t.Addf("", "%d %s", p.Unused-held, p.cause())
	}
	for _, o := range p.Outages {
		t.Add("outage:", o.String())
	}
	t.Add("namespace:", p.where())
	t.Add("")
	return cmp.Or(g.WriteTable(t), printSeries(g, p.Collections), printRepeated(g, p.Repeated), g.Prosef("\n%s\n", p.summary(style)))
}

// cause returns why numbers are unused that no worker held at its end.
func (p report) cause() string {
	switch {
	case p.Killed+p.Lost == 0:
		return "skipped by jumps"
	case p.Jumps == 0:
		return "lost with killed workers"
	}
	return "lost with killed workers, or skipped by jumps"
}

func (o outage) String() string {
	clock := o.From[len("2006-01-02T"):len("2006-01-02T15:04:05.000")]
	switch {
	case o.To == "":
		return fmt.Sprintf("%s, from %s to the end", o.Server, clock)
	case o.Seconds == 0:
		return fmt.Sprintf("%s, another process at %s", o.Server, clock)
	case o.Changed:
		return fmt.Sprintf("%s, %s for %.1f s; another process since", o.Server, clock, o.Seconds)
	}
	return fmt.Sprintf("%s, %s for %.1f s", o.Server, clock, o.Seconds)
}

func (p report) where() string {
	var left []string
	for _, s := range p.Servers {
		if s.Left > 0 {
			left = append(left, s.Name)
		}
	}
	if left != nil {
		return p.Namespace + ", still on " + strings.Join(left, ", ")
	}
	return p.Namespace + ", removed"
}

// maxRows limits the rows of a table. The JSON has all.
const maxRows = 20

func printSeries(g *base.Session, all []seriesReport) error {
	t := g.Table("SERIES", "IDS", "DUPLICATES", "RANGES", "GAPS", "MISSING", "JUMPS")
	t.Drop = []int{6, 4, 3}
	for _, c := range all[:min(maxRows, len(all))] {
		name := c.Collection
		if c.Prefix+c.Tag != "" {
			name += " " + c.Prefix + "…"
		}
		if c.Tag != "" {
			name += "-" + c.Tag
		}
		t.Add(name, c.IDs, c.Duplicates, c.Ranges, c.Gaps, c.Missing, c.Jumps)
	}
	if more := len(all) - maxRows; more > 0 {
		t.Add(t.Style.Sprintf("and %d more", more))
	}
	return g.WriteTable(t)
}

func printRepeated(g *base.Session, all []repeated) error {
	if len(all) == 0 {
		return nil
	}
	t := g.Table("DUPLICATES", "TO", "IDS", "TIMES", "WORKERS")
	t.Cut = []int{1}
	for _, r := range all[:min(maxRows, len(all))] {
		t.Add(r.First, r.Last, r.IDs, r.Times, strings.Trim(fmt.Sprint(r.Workers), "[]"))
	}
	err := cmp.Or(g.Printf("\n"), g.WriteTable(t))
	if more := len(all) - maxRows; more > 0 {
		err = cmp.Or(err, g.Printf("and %d more; --output json has all\n", more))
	}
	return err
}

func (p report) summary(style term.Style) string {
	switch ids := style.Plural(p.IDs, "id"); {
	case p.Duplicates > 0:
		return style.Red("NOT VERIFIED:") + " " + ids + ", " + style.Plural(p.Duplicates, "duplicate") + "."
	case p.Proven:
		return style.Green("Verified:") + " " + ids + ", no duplicates."
	default:
		return style.Yellow("Verified so far:") + " " + ids + ", no duplicates."
	}
}
