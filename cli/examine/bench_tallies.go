package examine

import (
	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// tallies are counts of one allocator. Reserved = Issued + Returned + Burnt.
type tallies struct {
	Ranges   int64 `json:"ranges"` // one round trip each
	Reserved int64 `json:"reserved"`
	Issued   int64 `json:"issued"`
	Returned int64 `json:"returned"`
	Burnt    int64 `json:"burnt"`
	Held     int64 `json:"held"` // unused at the end, before they were returned or burnt
	Waits    int64 `json:"waits"`
	Failures int64 `json:"failures"` // refills that failed
}

// collectionTallies are the tallies of one collection.
type collectionTallies struct {
	Collection string `json:"collection"`
	tallies
}

// talliesOf returns the tallies of a period from the statistics of the allocator at its start, at its end, and after it was closed.
// Numbers held at the start count as reserved in the period.
func talliesOf(start, end, closed allocator.Stats) tallies {
	was, held, is := sumOf(start), sumOf(end), sumOf(closed)
	t := tallies{
		Ranges: is.Ranges - was.Ranges, Reserved: is.Reserved - was.Issued - was.Burnt, Issued: is.Issued - was.Issued,
		Returned: is.Returned, Burnt: is.Burnt - was.Burnt, Waits: is.Waits - was.Waits, Failures: is.Failures - was.Failures,
	}
	t.Held = t.Reserved - t.Issued - (held.Burnt - was.Burnt) // includes a range in flight
	return t
}

// sumOf returns the sums over all collections.
func sumOf(stats allocator.Stats) (sum allocator.CollectionStats) {
	for _, s := range stats.Collections {
		sum.Add(s)
	}
	return sum
}

// table returns a table of the tallies.
func (t collectionTallies) table(style term.Style) term.Table {
	table := term.Table{
		Head: []string{"COLLECTION", "RANGES", "RESERVED", "ISSUED", "RETURNED", "BURNT", "HELD", "WAITS"}, Drop: []int{6, 7, 5, 1, 4}, Style: style,
	}
	table.Add(t.Collection, t.Ranges, t.Reserved, t.Issued, t.Returned, t.Burnt, t.Held, t.Waits)
	return table
}
