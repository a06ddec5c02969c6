package ravendb

import (
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// maxRanges is the size of each of the two maps of ranges that are kept. A full one replaces the older one.
const maxRanges = 1 << 15

// ranges remembers the newest ranges that were issued, and decides which of them may be returned.
//
// A return (end, last) does not identify the client: a copy of it may arrive late, when the numbers belong to the range of another
// client with the same end. So a return is taken only if the range right before was issued here too, and nothing was written to the
// counter in between. The earlier return left the counter at last or above, and both ranges were issued since. So the later one
// begins above last+1, and the copy is refused. That holds over a restart, and whichever gateway the earlier return came to.
//
// Besides, each return has to end above all that were sent from here before, whatever became of them. So a copy that arrives when
// the same numbers were issued again, and are not remembered yet, does not lower what the Allocator knows of the counter.
type ranges struct {
	max int

	mu            sync.Mutex // guards what follows
	recent, older map[rangeEnd]issuedRange
	taken         map[collection]int64 // the greatest end that was returned
}

func newRanges() ranges {
	return ranges{max: maxRanges, recent: make(map[rangeEnd]issuedRange), taken: make(map[collection]int64)}
}

// collection is a collection of a database, by the name as it was spelled first.
type collection struct {
	d    *database
	name string
}

// rangeEnd is what a client sends to identify the range that it returns.
type rangeEnd struct {
	c   collection
	end int64
}

type issuedRange struct {
	batch allocator.Batch
	at    time.Time
}

// add remembers a range, in place of an earlier one with the same end.
func (r *ranges) add(c collection, b allocator.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.recent) >= r.max {
		r.recent, r.older = make(map[rangeEnd]issuedRange), r.recent
	}
	r.recent[rangeEnd{c, b.Range().High}] = issuedRange{b, time.Now()}
}

// find returns the range with this end.
func (r *ranges) find(c collection, end int64) (found issuedRange, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok = r.recent[rangeEnd{c, end}]; !ok {
		found, ok = r.older[rangeEnd{c, end}]
	}
	return found, ok
}

// claim returns the range with this end, and whether the numbers after last may be taken back. It reports that once.
func (r *ranges) claim(c collection, end, last int64) (allocator.Batch, bool) {
	found, _ := r.find(c, end)
	low := found.batch.Range().Low
	before, _ := r.find(c, low-1)
	r.mu.Lock()
	defer r.mu.Unlock()
	ok := low-1 <= last && last < end && found.batch.Follows(before.batch) && end > r.taken[c]
	if ok {
		r.taken[c] = end
	}
	return found.batch, ok
}
