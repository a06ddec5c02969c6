package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// proof is what was found.
type proof struct {
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
	Servers     []proofServer  `json:"servers"`
	Outages     []shownOutage  `json:"outages"`
	Collections []provenSeries `json:"collections"`
	Repeated    []repeated     `json:"repeated"` // the duplicates
}

// proofServer is a server as the result shows it.
type proofServer struct {
	Name      string `json:"name"`
	Prefix    string `json:"prefix"`
	Tag       string `json:"tag"`
	Temporary bool   `json:"temporary"` // prefix: the server has none, and was given this one for the proof
	Left      int    `json:"left"`      // keys that could not be removed
}

// shownOutage is an outage as the result shows it.
type shownOutage struct {
	Server  string  `json:"server"`
	From    string  `json:"from"` // RFC 3339
	To      string  `json:"to"`   // empty: it was still away at the end
	Seconds float64 `json:"seconds"`
	Changed bool    `json:"changed"` // what answered then was another process: restarted, or promoted
	Reason  string  `json:"reason"`
}

// provenSeries is what was found about one collection with one prefix.
type provenSeries struct {
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

// found puts together what the judge, the workers, the watchers and the servers say.
func (t *trial) found(servers []proofServer, counters []map[string]allocator.Counter) proof {
	p := proof{
		Namespace:   t.Namespace,
		Proven:      t.err == nil && t.judge.again == 0,
		Interrupted: errors.Is(t.err, context.Canceled),
		Processes:   !t.Goroutines,
		Workers:     t.Workers,
		Killed:      t.killed,
		Lost:        t.lost,
		IDs:         t.judge.ids,
		Duplicates:  t.judge.again,
		Seconds:     t.took.Seconds(),
		PerSecond:   float64(t.judge.ids) / max(t.took.Seconds(), 1e-9),
		Returned:    t.sums.Returned,
		Burnt:       t.sums.Burnt,
		Failures:    t.sums.Failures,
		Servers:     servers,
		Outages:     []shownOutage{},
		Repeated:    []repeated{},
	}
	for _, s := range t.judge.series {
		shown := present(s, servers, counters)
		p.Ranges += shown.Ranges
		p.Jumps += shown.Epoch
		p.Unused += max(shown.Max, shown.Greatest) - (shown.IDs - shown.Duplicates)
		p.Collections = append(p.Collections, shown)
		for _, r := range s.repetitions() {
			p.Repeated = append(p.Repeated, repeated{
				First: s.text(r.Low, t.Separator), Last: s.text(r.High, t.Separator),
				IDs: r.High - r.Low + 1, Times: len(r.Workers), Workers: r.Workers,
			})
		}
	}
	p.Jumps = max(p.Jumps, t.sums.Jumps) // a counter that was lost does not know of its own
	for _, w := range t.watchers {
		seen, _ := w.found()
		for _, o := range seen {
			p.Outages = append(p.Outages, o.shown(w.target.label()))
		}
	}
	return p
}

// present is what is known of one series.
func present(s *series, servers []proofServer, counters []map[string]allocator.Counter) provenSeries {
	shown := provenSeries{
		Collection: s.Collection, Prefix: s.ServerPrefix, Tag: s.NodeTag,
		IDs: s.ids, Duplicates: s.again, Greatest: s.numbers.greatest, Gaps: s.numbers.gaps(), Missing: s.numbers.missing(),
	}
	for i, server := range servers {
		if server.Prefix == s.ServerPrefix && server.Tag == s.NodeTag {
			c := counters[i][prefix.Fold(s.Collection)]
			shown.Max, shown.Ranges, shown.Epoch = c.Max, c.Ranges, c.Epoch
		}
	}
	return shown
}

func (v verify) show(p proof) error {
	if v.JSON {
		return v.writeJSON(p)
	}
	w := tabwriter.NewWriter(v.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "ids:\t%d in %s, %.0f ids/s\n", p.IDs, short(int64(p.Seconds*1e9)), p.PerSecond)
	fmt.Fprintf(w, "given twice:\t%d\n", p.Duplicates)
	fmt.Fprintf(w, "workers:\t%s\n", p.crew())
	fmt.Fprintf(w, "ranges:\t%d; counters jumped %s\n", p.Ranges, times(p.Jumps))
	p.unused(w)
	for _, o := range p.Outages {
		fmt.Fprintf(w, "outage:\t%s\n", o)
	}
	fmt.Fprintf(w, "namespace:\t%s\n", p.where())
	if err := w.Flush(); err != nil {
		return written(err)
	}
	if err := p.table(v.globals); err != nil {
		return err
	}
	if err := p.repetitions(v.globals); err != nil {
		return err
	}
	_, err := fmt.Fprintf(folded{v.Stdout, 0}, "\n%s\n", p.summary())
	return written(err)
}

func (p proof) crew() string {
	kind := "goroutines"
	if p.Processes {
		kind = "processes"
	}
	text := fmt.Sprintf("%d %s", p.Workers, kind)
	if p.Killed > 0 {
		text += fmt.Sprintf("; %d killed and replaced", p.Killed)
	}
	if p.Lost > 0 {
		text += fmt.Sprintf("; %d lost", p.Lost)
	}
	return text
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// unused says where the numbers are that nobody was given.
func (p proof) unused(w *tabwriter.Writer) {
	fmt.Fprintf(w, "never given:\t%d numbers\n", p.Unused)
	held := min(p.Unused, p.Burnt)
	if held > 0 {
		fmt.Fprintf(w, "\t%d held by a worker at its end\n", held)
	}
	rest := "jumped over"
	if p.Killed+p.Lost > 0 {
		rest = "held by killed workers"
		if p.Jumps > 0 {
			rest += ", or jumped over"
		}
	}
	if p.Unused > held {
		fmt.Fprintf(w, "\t%d %s\n", p.Unused-held, rest)
	}
}

func (o outage) shown(server string) shownOutage {
	const layout = "2006-01-02T15:04:05.000Z07:00"
	shown := shownOutage{Server: server, From: o.from.Format(layout), Changed: o.changed, Reason: o.reason}
	if !o.to.IsZero() {
		shown.To, shown.Seconds = o.to.Format(layout), o.to.Sub(o.from).Seconds()
	}
	return shown
}

func (o shownOutage) String() string {
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

func (p proof) where() string {
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

func (p proof) table(g globals) error {
	const rows = 20
	t := table{
		head:  []string{"SERIES", "IDS", "TWICE", "RANGES", "GAPS", "MISSING", "JUMPS"},
		right: []bool{false, true, true, true, true, true, true},
	}
	for _, c := range p.Collections[:min(rows, len(p.Collections))] {
		name := c.Collection
		if adds := c.Prefix + "…" + tagged(c.Tag); c.Prefix+c.Tag != "" {
			name += " " + adds
		}
		cells := []string{name}
		for _, n := range []int64{c.IDs, c.Duplicates, c.Ranges, c.Gaps, c.Missing, c.Epoch} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		t.add(cells...)
	}
	if more := len(p.Collections) - rows; more > 0 {
		t.add(fmt.Sprintf("and %d more", more))
	}
	fmt.Fprintln(g.Stdout)
	return g.writeTable(t)
}

func tagged(tag string) string {
	if tag == "" {
		return ""
	}
	return "-" + tag
}

func (p proof) repetitions(g globals) error {
	if len(p.Repeated) == 0 {
		return nil
	}
	const rows = 20
	t := table{head: []string{"GIVEN AGAIN", "TO", "IDS", "TIMES", "WORKERS"}, cut: []int{1}, right: make([]bool, 5)}
	for _, r := range p.Repeated[:min(rows, len(p.Repeated))] {
		t.add(r.First, r.Last, strconv.FormatInt(r.IDs, 10), strconv.Itoa(r.Times), strings.Trim(fmt.Sprint(r.Workers), "[]"))
	}
	fmt.Fprintln(g.Stdout)
	if err := g.writeTable(t); err != nil {
		return err
	}
	if more := len(p.Repeated) - rows; more > 0 {
		fmt.Fprintf(g.Stdout, "and %d more, all of them with --output json\n", more)
	}
	return nil
}

func (p proof) summary() string {
	switch {
	case p.Duplicates > 0:
		return fmt.Sprintf("NOT PROVEN: %s had been given before.", ids(p.Duplicates))
	case p.Proven:
		return fmt.Sprintf("Proven: of %s, each of which was looked at, none was given twice.", ids(p.IDs))
	}
	return fmt.Sprintf("Proven so far: of %s, none was given twice.", ids(p.IDs))
}
