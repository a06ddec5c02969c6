package cli

import (
	"fmt"
	"runtime"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// measured is what a bench found. The names of its fields in JSON are documented in the help, and stay.
type measured struct {
	Namespace       string      `json:"namespace"`
	Workers         int         `json:"workers"`
	Allocators      int         `json:"allocators"`
	TargetRate      int64       `json:"targetRate"`
	Warmup          float64     `json:"warmupSeconds"` // before what follows
	Interrupted     bool        `json:"interrupted"`
	Seconds         float64     `json:"seconds"`
	IDs             int64       `json:"ids"` // as the workers counted them
	PerSecond       float64     `json:"perSecond"`
	CallsThatWaited int64       `json:"callsThatWaited"` // each of them once or more
	RoundTripsPerID float64     `json:"roundTripsPerId"`
	BurntPerID      float64     `json:"burntPerId"`
	Latency         percentiles `json:"latencyNanoseconds"`
	Sampling        sampling    `json:"sampling"`
	Total           tallies     `json:"total"`
	Collections     []benched   `json:"collections"`
	Compare         *compared   `json:"compare,omitempty"`
}

// tallies are of all allocators. Reserved = Issued + Returned + Burnt.
type tallies struct {
	Ranges   int64 `json:"ranges"` // each is one round trip
	Reserved int64 `json:"reserved"`
	Issued   int64 `json:"issued"`
	Returned int64 `json:"returned"`
	Burnt    int64 `json:"burnt"`
	Held     int64 `json:"held"` // at the end, before it was returned or burnt
	Waits    int64 `json:"waits"`
	Failures int64 `json:"failures"` // refills that failed
}

// benched is what it found about one collection.
type benched struct {
	Collection string `json:"collection"`
	tallies
}

// compared is what one INCR per identifier makes of the same server.
type compared struct {
	IDs       int64       `json:"ids"`
	Seconds   float64     `json:"seconds"`
	PerSecond float64     `json:"perSecond"`
	Ratio     float64     `json:"ratio"` // so many times as many a second did Next give
	Failures  int64       `json:"failures"`
	Latency   percentiles `json:"latencyNanoseconds"`
}

func (t *tallies) add(s tallies) {
	t.Ranges += s.Ranges
	t.Reserved += s.Reserved
	t.Issued += s.Issued
	t.Returned += s.Returned
	t.Burnt += s.Burnt
	t.Held += s.Held
	t.Waits += s.Waits
	t.Failures += s.Failures
}

// tallyByName sums up over allocators.
func tallyByName(fleet []*allocator.Allocator) map[string]tallies {
	all := make(map[string]tallies)
	for _, a := range fleet {
		for _, s := range a.Stats().Collections {
			t := all[s.Name]
			t.add(tallies{s.Ranges, s.Reserved, s.Issued, s.Returned, s.Burnt, s.Held, s.Waits, s.Failures})
			all[s.Name] = t
		}
	}
	return all
}

// since is what was counted after a warm-up. What was held at its end counts as reserved after it.
func since(all, warm map[string]tallies) map[string]tallies {
	rest := make(map[string]tallies)
	for name, t := range all {
		before := warm[name]
		t.Ranges -= before.Ranges
		t.Reserved -= before.Issued + before.Burnt
		t.Issued -= before.Issued
		t.Burnt -= before.Burnt
		t.Waits -= before.Waits
		t.Failures -= before.Failures
		rest[name] = t
	}
	return rest
}

// take puts in what was measured, from what the workers saw and from what the allocators say after and before their end.
func (m *measured) take(got taken, names []string, after, before map[string]tallies) {
	m.Seconds, m.IDs, m.PerSecond = got.elapsed.Seconds(), got.ids, got.perSecond()
	m.CallsThatWaited = got.waits
	m.Latency, m.Sampling = got.latency, got.sampling
	m.Sampling.Clock = int64(clockCost())
	m.Collections = make([]benched, 0, len(names))
	for _, name := range names {
		t := after[name]
		t.Held = t.Reserved - t.Issued - before[name].Burnt // with a range that was still under way
		m.Collections = append(m.Collections, benched{name, t})
		m.Total.add(t)
	}
	m.RoundTripsPerID = float64(m.Total.Ranges) / float64(max(m.IDs, 1))
	m.BurntPerID = float64(m.Total.Burnt) / float64(max(m.IDs, 1))
}

func (m *measured) compare(got taken) {
	m.Compare = &compared{
		IDs:       got.ids,
		Seconds:   got.elapsed.Seconds(),
		PerSecond: got.perSecond(),
		Ratio:     m.PerSecond / got.perSecond(),
		Failures:  got.failures,
		Latency:   got.latency,
	}
}

func (b bench) show(m measured) error {
	if b.JSON {
		return b.writeJSON(m)
	}
	w := tabwriter.NewWriter(b.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "workers:\t%d on %s\n", m.Workers, allocators(m.Allocators))
	warm := ""
	if m.Warmup > 0 {
		warm = ", after a warm-up of " + short(int64(m.Warmup*1e9))
	}
	fmt.Fprintf(w, "ids:\t%d in %s%s\n", m.IDs, short(int64(m.Seconds*1e9)), warm)
	fmt.Fprintf(w, "rate:\t%.0f ids/s, %s\n", m.PerSecond, b.wanted())
	fmt.Fprintf(w, "round trips:\t%d, one for %d ids\n", m.Total.Ranges, m.IDs/max(m.Total.Ranges, 1))
	fmt.Fprintf(w, "waits:\t%d, of %d calls; %d refills failed\n", m.Total.Waits, m.CallsThatWaited, m.Total.Failures)
	fmt.Fprintf(w, "burnt:\t%.6g per id issued\n", m.BurntPerID)
	for _, p := range []struct {
		name        string
		nanoseconds int64
	}{
		{"p50", m.Latency.P50}, {"p99", m.Latency.P99}, {"p99.9", m.Latency.P999}, {"p99.99", m.Latency.P9999},
		{"greatest", m.Latency.Greatest},
	} {
		fmt.Fprintf(w, "%s:\t%s\n", p.name, short(p.nanoseconds))
	}
	if c := m.Compare; c != nil {
		fmt.Fprintf(w, "INCR per id:\t%.0f ids/s, p50 %s, p99 %s, greatest %s\n",
			c.PerSecond, short(c.Latency.P50), short(c.Latency.P99), short(c.Latency.Greatest))
		fmt.Fprintf(w, "ratio:\t%.4g times as many with Next\n", c.Ratio)
	}
	fmt.Fprintln(w)
	if err := w.Flush(); err != nil {
		return written(err)
	}
	if err := b.writeTallies(m.Collections, m.Total); err != nil {
		return err
	}
	_, err := fmt.Fprintf(folded{b.Stdout, 0}, "\n%s\nHELD was in hand at the end, before it was returned or burnt: what kill -9 would have burnt.\n%s\n",
		m.how(), b.where())
	return written(err)
}

// writeTallies writes a table of the first collections, and what all make together.
func (g globals) writeTallies(all []benched, total tallies) error {
	t := table{
		head:  []string{"COLLECTION", "RANGES", "RESERVED", "ISSUED", "RETURNED", "BURNT", "HELD", "WAITS"},
		right: []bool{false, true, true, true, true, true, true, true},
	}
	row := func(name string, n tallies) {
		cells := []string{printable(name)}
		for _, count := range []int64{n.Ranges, n.Reserved, n.Issued, n.Returned, n.Burnt, n.Held, n.Waits} {
			cells = append(cells, strconv.FormatInt(count, 10))
		}
		t.add(cells...)
	}
	const rows = 20
	for _, c := range all[:min(rows, len(all))] {
		row(c.Collection, c.tallies)
	}
	if more := len(all) - rows; more > 0 {
		t.add(fmt.Sprintf("and %d more", more))
	}
	if len(all) > 1 {
		row("all", total)
	}
	return g.writeTable(t)
}

func allocators(n int) string {
	if n == 1 {
		return "one allocator"
	}
	return fmt.Sprintf("%d allocators", n)
}

func (b bench) wanted() string {
	if b.Rate == 0 {
		return "at full speed"
	}
	return fmt.Sprintf("of %d wanted", b.Rate)
}

// how says how the latency was measured.
func (m *measured) how() string {
	s := m.Sampling
	text := fmt.Sprintf("Latency is of one call in %d at random, %d of them, and of each call that waited, %d.", s.OneIn, s.Timed, s.Waited)
	if s.OneIn == 1 {
		text = fmt.Sprintf("Latency is of every call, %d, of which %d waited or were held up by one that did.", s.Timed+s.Waited, s.Waited)
	}
	text += fmt.Sprintf(" The clock is %s of each.\n", short(s.Clock))
	if m.TargetRate > 0 {
		return text + "A call that came due while its worker waited counts from when it was due."
	}
	text += "At full speed a worker that waits asks for nothing meanwhile; --rate shows what callers that come on time see."
	if processors := runtime.GOMAXPROCS(0); m.Workers > processors {
		text += fmt.Sprintf("\nThe workers share %d processors: the greatest latencies may be of calls whose worker had to cede its own.", processors)
	}
	return text
}

func (b bench) where() string {
	if b.Keep {
		return fmt.Sprintf("The counters in the namespace %s stay raised.", b.Namespace)
	}
	return fmt.Sprintf("The namespace %s is removed.", b.Namespace)
}

// short is a duration in three digits.
func short(nanoseconds int64) string {
	unit := time.Duration(1)
	for d := nanoseconds; d >= 1000; d /= 10 {
		unit *= 10
	}
	return time.Duration(nanoseconds).Round(unit).String()
}
