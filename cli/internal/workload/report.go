package workload

import (
	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// Tallies are counts of one allocator. Reserved = Issued + Returned + Burnt.
type Tallies struct {
	Ranges   int64 `json:"ranges"` // one round trip each
	Reserved int64 `json:"reserved"`
	Issued   int64 `json:"issued"`
	Returned int64 `json:"returned"`
	Burnt    int64 `json:"burnt"`
	Held     int64 `json:"held"` // unused at the end, before they were returned or burnt
	Waits    int64 `json:"waits"`
	Failures int64 `json:"failures"` // refills that failed
}

// CollectionReport holds the tallies of one collection.
type CollectionReport struct {
	Collection string `json:"collection"`
	Tallies
}

// Report holds the tallies of each collection and their sums.
type Report struct {
	Total       Tallies            `json:"total"`
	Collections []CollectionReport `json:"collections"`
}

// Between returns the tallies of a period from the statistics of the allocator at its start, at its end, and after it was
// closed. Numbers held at the start count as reserved in the period.
func Between(names []string, start, end, closed allocator.Stats) Report {
	before, held, after := byName(start), byName(end), byName(closed)
	between := func(name string) Tallies {
		was, is := before[name], after[name]
		t := Tallies{
			Ranges: is.Ranges - was.Ranges, Reserved: is.Reserved - was.Issued - was.Burnt, Issued: is.Issued - was.Issued,
			Returned: is.Returned, Burnt: is.Burnt - was.Burnt, Waits: is.Waits - was.Waits, Failures: is.Failures - was.Failures,
		}
		t.Held = t.Reserved - t.Issued - (held[name].Burnt - was.Burnt) // includes a range in flight
		return t
	}
	r := Report{Total: between(""), Collections: make([]CollectionReport, len(names))}
	for i, name := range names {
		r.Collections[i] = CollectionReport{name, between(name)}
	}
	return r
}

// byName returns the statistics of each collection, and their sums as those of "", which no collection is named.
func byName(stats allocator.Stats) map[string]allocator.CollectionStats {
	by := map[string]allocator.CollectionStats{"": Sum(stats)}
	for _, s := range stats.Collections {
		by[s.Name] = s
	}
	return by
}

// Sum returns the sums over all collections.
func Sum(stats allocator.Stats) (sum allocator.CollectionStats) {
	for _, s := range stats.Collections {
		sum.Add(s)
	}
	return sum
}

// Table returns a table of the first collections and of the sums.
func (r Report) Table(style term.Style) term.Table {
	t := term.Table{
		Head: []string{"COLLECTION", "RANGES", "RESERVED", "ISSUED", "RETURNED", "BURNT", "HELD", "WAITS"}, Drop: []int{6, 7, 5, 1, 4}, Style: style,
	}
	row := func(name string, n Tallies) {
		t.Add(name, n.Ranges, n.Reserved, n.Issued, n.Returned, n.Burnt, n.Held, n.Waits)
	}
	const rows = 20
	for _, c := range r.Collections[:min(rows, len(r.Collections))] {
		row(c.Collection, c.Tallies)
	}
	if more := len(r.Collections) - rows; more > 0 {
		t.Add(style.Sprintf("and %d more", more))
	}
	if len(r.Collections) > 1 {
		row("all", r.Total)
	}
	return t
}
