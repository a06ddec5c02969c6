package ravendb

import (
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// maxRanges is the number of ranges that are remembered.
const maxRanges = 1 << 16

// collection is a collection that clients used.
type collection struct {
	*allocator.Collection
	takenBack int64 // the greatest end of a range that was returned, guarded by ranges.mu
}

// ranges remembers the newest ranges that were issued, and decides which of them may be returned.
//
// A client returns a range (end, last) without anything that tells it from another range of the same end, which had been issued and
// returned before. If a copy of that earlier return arrives late, it must not take back the numbers of the later range. So a return
// is taken only if the range right before was issued here too, and nothing was written to the counter in between. The earlier return
// left the counter at last or above. Both ranges were issued since, so the later one begins above last+1, and the copy is refused:
// its last is below the range that it would return. That holds over a restart, and whichever gateway the earlier return came to.
//
// Besides, each return has to end above all that were sent from here before, whatever became of them: a server that lost one
// would take it back once more. And the server itself takes back nothing but its newest range.
type ranges struct {
	max int

	mu    sync.Mutex // guards what follows
	byEnd map[rangeEnd]issuedRange
	order []rangeEnd // in the order of issue
}

// rangeEnd is what a client sends to identify the range that it returns.
type rangeEnd struct {
	c   *collection
	end int64
}

type issuedRange struct {
	batch allocator.Batch
	at    time.Time
}

// add remembers a range, in place of an earlier one with the same end.
func (r *ranges) add(c *collection, b allocator.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := rangeEnd{c, b.Range().High}
	if _, known := r.byEnd[key]; !known {
		r.order = append(r.order, key)
	}
	r.byEnd[key] = issuedRange{b, time.Now()}
	if len(r.order) > r.max {
		delete(r.byEnd, r.order[0])
		r.order = r.order[1:]
	}
}

// find returns the range with this end.
func (r *ranges) find(c *collection, end int64) (issuedRange, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.byEnd[rangeEnd{c, end}]
	return found, ok
}

// claim returns the range that a return is about, at most once, if it may be taken back.
func (r *ranges) claim(c *collection, end, last int64) (allocator.Batch, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.byEnd[rangeEnd{c, end}]
	low := found.batch.Range().Low
	if !ok || last < low-1 || last >= end || end <= c.takenBack || !found.batch.Follows(r.byEnd[rangeEnd{c, low - 1}].batch) {
		return allocator.Batch{}, false
	}
	c.takenBack = end
	return found.batch, true
}
