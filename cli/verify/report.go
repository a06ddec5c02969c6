package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hilo-id/hilo/cli/internal/term"
)

// report is what was found.
type report struct {
	Namespace   string         `json:"namespace"` // of the proof
	Proven      bool           `json:"proven"`    // all that was asked for was given, and nothing twice
	Interrupted bool           `json:"interrupted"`
	Processes   bool           `json:"processes"` // the workers are; false: goroutines
	Workers     int            `json:"workers"`   // at a time
	Killed      int            `json:"killed"`    // workers, by --kill-workers
	Lost        int            `json:"lost"`      // workers, killed by others
	IDs         int64          `json:"ids"`       // that workers reported, those twice included
	Duplicates  int64          `json:"duplicates"`
	Seconds     float64        `json:"seconds"`
	PerSecond   float64        `json:"perSecond"`
	Ranges      int64          `json:"ranges"`
	Jumps       int64          `json:"jumps"`    // of counters, on evidence of lost writes
	Returned    int64          `json:"returned"` // numbers, by workers at their end
	Burnt       int64          `json:"burnt"`    // numbers that workers held at their end and could not return
	Unused      int64          `json:"unused"`   // numbers up to max that were never reported
	Failures    int64          `json:"failures"` // refills that failed, of workers that were not killed
	Servers     []server       `json:"servers"`
	Outages     []outage       `json:"outages"`
	Collections []seriesReport `json:"collections"`
	Repeated    []repeated     `json:"repeated"` // the duplicates
}

// server is a server as the result shows it.
type server struct {
	Name       string `json:"name"`
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	Identities bool   `json:"identities"` // it is their home, in the proof's namespace
	Temporary  bool   `json:"temporary"`  // prefix: the server has none, and was given this one for the proof
	Left       int    `json:"left"`       // keys that could not be removed
}

// outage is a time in which a server did not answer.
type outage struct {
	Server  string  `json:"server"`
	From    string  `json:"from"` // RFC 3339
	To      string  `json:"to"`   // empty: it was still away at the end
	Seconds float64 `json:"seconds"`
	Changed bool    `json:"changed"` // what answered then was another process: restarted, or promoted
	Reason  string  `json:"reason"`
}

const outageTime = "2006-01-02T15:04:05.000Z07:00"

// seriesReport is what was found about one collection with one prefix.
type seriesReport struct {
	Collection string `json:"collection"`
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	IDs        int64  `json:"ids"`
	Duplicates int64  `json:"duplicates"`
	Greatest   int64  `json:"greatest"` // number that was reported
	Gaps       int64  `json:"gaps"`     // rows of numbers below it that were not
	Missing    int64  `json:"missing"`  // numbers in them
	Max        int64  `json:"max"`      // what the server says at the end; 0: it is away
	Ranges     int64  `json:"ranges"`
	Epoch      int64  `json:"epoch"`
}

// repeated is a repetition as the result shows it.
type repeated struct {
	First   string `json:"first"`
	Last    string `json:"last"`
	IDs     int64  `json:"ids"`
	Times   int    `json:"times"`   // that each of them was given
	Workers []int  `json:"workers"` // by number, one for each time
}

// found puts together what the ledger, the workers and the counters of the servers say, but not how the servers fared: that
// is known when they are clean.
func (t *trial) found(ctx context.Context) report {
	p := t.result
	p.Namespace = t.Namespace
	p.Proven = t.err == nil && t.ledger.Duplicates == 0
	p.Interrupted = errors.Is(t.err, context.Canceled)
	p.Processes = !t.Goroutines
	p.Workers = t.Workers
	p.IDs = t.ledger.IDs
	p.Duplicates = t.ledger.Duplicates
	p.PerSecond = float64(p.IDs) / max(p.Seconds, 1e-9)
	p.Returned = t.sums.Returned
	p.Burnt = t.sums.Burnt
	p.Failures = t.sums.Failures
	p.Outages = []outage{}
	p.Repeated = []repeated{}
	for _, s := range t.ledger.Series {
		c := t.counter(ctx, s)
		shown := seriesReport{
			Collection: s.Collection, Prefix: s.ServerPrefix, Tag: s.NodeTag,
			IDs: s.IDs, Duplicates: s.Duplicates, Greatest: s.Numbers.Greatest, Gaps: s.Numbers.Gaps(), Missing: s.Numbers.Missing(),
			Max: c.Max, Ranges: c.Ranges, Epoch: c.Epoch,
		}
		p.Ranges += shown.Ranges
		p.Jumps += shown.Epoch
		p.Unused += max(shown.Max, shown.Greatest) - (shown.IDs - shown.Duplicates)
		p.Collections = append(p.Collections, shown)
		for _, r := range s.Repetitions() {
			p.Repeated = append(p.Repeated, repeated{
				First: s.Text(r.Low, t.Separator), Last: s.Text(r.High, t.Separator),
				IDs: r.High - r.Low + 1, Times: len(r.Workers), Workers: r.Workers,
			})
		}
	}
	p.Jumps = max(p.Jumps, t.sums.Jumps) // a counter that was lost does not know of its own
	return p
}

func (v verify) print(p report) error {
	kind := "goroutines"
	if p.Processes {
		kind = "processes"
	}
	crew := fmt.Sprintf("%d %s", p.Workers, kind)
	if p.Killed > 0 {
		crew += fmt.Sprintf("; %d killed and replaced", p.Killed)
	}
	if p.Lost > 0 {
		crew += fmt.Sprintf("; %d lost", p.Lost)
	}
	jumped := "once"
	if p.Jumps != 1 {
		jumped = fmt.Sprintf("%d times", p.Jumps)
	}
	var t term.Table
	t.Addf("ids:", "%d in %s, %.0f ids/s", p.IDs, term.Short(int64(p.Seconds*1e9)), p.PerSecond)
	t.Add("given twice:", fmt.Sprint(p.Duplicates))
	t.Add("workers:", crew)
	t.Addf("ranges:", "%d; counters jumped %s", p.Ranges, jumped)
	t.Addf("never given:", "%d numbers", p.Unused)
	held := min(p.Unused, p.Burnt)
	if held > 0 {
		t.Addf("", "%d held by a worker at its end", held)
	}
	if p.Unused > held {
		t.Addf("", "%d %s", p.Unused-held, p.elsewhere())
	}
	for _, o := range p.Outages {
		t.Add("outage:", o.String())
	}
	t.Add("namespace:", p.where())
	t.Add("")
	return cmp.Or(v.WriteTable(t), v.WriteTable(p.series()), v.printRepeated(p.Repeated), v.Prosef("\n%s\n", p.summary()))
}

// elsewhere says where the numbers are that nobody was given and no worker held at its end.
func (p report) elsewhere() string {
	switch {
	case p.Killed+p.Lost == 0:
		return "jumped over"
	case p.Jumps == 0:
		return "held by killed workers"
	}
	return "held by killed workers, or jumped over"
}

func (o outage) String() string {
	_, clock, _ := strings.Cut(o.From, "T")
	clock = clock[:min(len(clock), len("15:04:05.000"))]
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

// mostRows is how many rows a table has at most; all are in JSON.
const mostRows = 20

func (p report) series() term.Table {
	t := term.Table{Head: []string{"SERIES", "IDS", "TWICE", "RANGES", "GAPS", "MISSING", "JUMPS"}}
	for _, c := range p.Collections[:min(mostRows, len(p.Collections))] {
		name := c.Collection
		if c.Prefix+c.Tag != "" {
			name += " " + c.Prefix + "…"
		}
		if c.Tag != "" {
			name += "-" + c.Tag
		}
		t.Add(name, c.IDs, c.Duplicates, c.Ranges, c.Gaps, c.Missing, c.Epoch)
	}
	if more := len(p.Collections) - mostRows; more > 0 {
		t.Add(fmt.Sprintf("and %d more", more))
	}
	return t
}

func (v verify) printRepeated(all []repeated) error {
	if len(all) == 0 {
		return nil
	}
	t := term.Table{Head: []string{"GIVEN AGAIN", "TO", "IDS", "TIMES", "WORKERS"}, Cut: []int{1}}
	for _, r := range all[:min(mostRows, len(all))] {
		t.Add(r.First, r.Last, fmt.Sprint(r.IDs), fmt.Sprint(r.Times), strings.Trim(fmt.Sprint(r.Workers), "[]"))
	}
	fmt.Fprintln(v.Stdout)
	err := v.WriteTable(t)
	if more := len(all) - mostRows; more > 0 {
		fmt.Fprintf(v.Stdout, "and %d more, all of them with --output json\n", more)
	}
	return err
}

func (p report) summary() string {
	switch {
	case p.Duplicates > 0:
		return fmt.Sprintf("NOT PROVEN: %s had been given before.", term.Plural(p.Duplicates, "id"))
	case p.Proven:
		return fmt.Sprintf("Proven: of %s, each of which was looked at, none was given twice.", term.Plural(p.IDs, "id"))
	}
	return fmt.Sprintf("Proven so far: of %s, none was given twice.", term.Plural(p.IDs, "id"))
}
