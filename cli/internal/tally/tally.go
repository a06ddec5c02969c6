// Package tally is what allocators counted, by collection, as commands show it.
//
// It may import base and term beside it, and the library.
package tally

import (
	"fmt"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// Tallies are of all allocators. Reserved = Issued + Returned + Burnt.
type Tallies struct {
	Ranges   int64 `json:"ranges"` // each is one round trip
	Reserved int64 `json:"reserved"`
	Issued   int64 `json:"issued"`
	Returned int64 `json:"returned"`
	Burnt    int64 `json:"burnt"`
	Held     int64 `json:"held"` // at the end, before it was returned or burnt
	Waits    int64 `json:"waits"`
	Failures int64 `json:"failures"` // refills that failed
}

// Of is what was counted of one collection.
type Of struct {
	Collection string `json:"collection"`
	Tallies
}

// Add adds other figures.
func (t *Tallies) Add(s Tallies) {
	t.Ranges += s.Ranges
	t.Reserved += s.Reserved
	t.Issued += s.Issued
	t.Returned += s.Returned
	t.Burnt += s.Burnt
	t.Held += s.Held
	t.Waits += s.Waits
	t.Failures += s.Failures
}

// ByName sums up over allocators.
func ByName(all ...allocator.Stats) map[string]Tallies {
	sums := make(map[string]Tallies)
	for _, stats := range all {
		for _, s := range stats.Collections {
			t := sums[s.Name]
			t.Add(Tallies{s.Ranges, s.Reserved, s.Issued, s.Returned, s.Burnt, s.Held, s.Waits, s.Failures})
			sums[s.Name] = t
		}
	}
	return sums
}

// Write writes a table of the first collections, and what all make together.
func Write(g base.Session, all []Of, total Tallies) error {
	t := term.Table{Head: []string{"COLLECTION", "RANGES", "RESERVED", "ISSUED", "RETURNED", "BURNT", "HELD", "WAITS"}}
	row := func(name string, n Tallies) {
		t.Add(term.Printable(name), n.Ranges, n.Reserved, n.Issued, n.Returned, n.Burnt, n.Held, n.Waits)
	}
	const rows = 20
	for _, c := range all[:min(rows, len(all))] {
		row(c.Collection, c.Tallies)
	}
	if more := len(all) - rows; more > 0 {
		t.Add(fmt.Sprintf("and %d more", more))
	}
	if len(all) > 1 {
		row("all", total)
	}
	return g.WriteTable(t)
}
