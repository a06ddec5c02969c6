package ravendb

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// maxRanges is the number of ranges that are remembered at least, and half of what is remembered at most.
const maxRanges = 1 << 15

// collection is a collection that clients used.
type collection struct {
	name      string       // as it was spelled first
	takenBack atomic.Int64 // the greatest end of a range that was returned
}

// ranges remembers the newest ranges that were issued, and decides which of them may be returned.
//
// A return (end, last) does not identify the client: a copy of it may arrive late, when the numbers belong to the range of another
// client with the same end. So a return is taken only if the range right before was issued here too, and nothing was written to the
// counter in between. The earlier return left the counter at last or above, and both ranges were issued since. So the later one
// begins above last+1, and the copy is refused. That holds over a restart, and whichever gateway the earlier return came to.
//
// Besides, each return has to end above all that were sent from here before, whatever became of them, because a server that lost one
// would take it back once more. The server itself takes back nothing but its newest range.
type ranges struct {
	max int

	mu            sync.Mutex // guards what follows
	recent, older map[rangeEnd]issuedRange
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
	if r.recent == nil || len(r.recent) >= r.max {
		r.recent, r.older = make(map[rangeEnd]issuedRange), r.recent
	}
	r.recent[rangeEnd{c, b.Range().High}] = issuedRange{b, time.Now()}
}

// find returns the range with this end.
func (r *ranges) find(c *collection, end int64) (found issuedRange, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok = r.recent[rangeEnd{c, end}]; !ok {
		found, ok = r.older[rangeEnd{c, end}]
	}
	return found, ok
}

// claim returns the range that a return is about, at most once, if it may be taken back.
func (r *ranges) claim(c *collection, end, last int64) (_ allocator.Batch, ok bool) {
	greatest := c.takenBack.Load()
	found, _ := r.find(c, end)
	low := found.batch.Range().Low
	before, _ := r.find(c, low-1)
	return found.batch, low-1 <= last && last < end && greatest < end && found.batch.Follows(before.batch) && c.takenBack.CompareAndSwap(greatest, end)
}
