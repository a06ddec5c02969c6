package ravendb

import (
	"sync"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

const (
	// maxRanges is the number of ranges that are remembered.
	maxRanges = 100_000
	// maxExtension is how much longer than requested a small range may be so that it can be returned.
	maxExtension = 256
)

// issuedRange is a range that was issued to a client.
type issuedRange struct {
	token   string
	low     int64
	epoch   int64
	written int64
	at      time.Time
	final   bool // its return is not accepted, or not any more
}

// rangeEnd is what a client sends to identify the range that it returns.
type rangeEnd struct {
	counter *counter
	end     int64
}

// ranges remembers the newest ranges that were issued and decides which of them may be returned.
//
// A client returns a range by its end alone. A return that arrives late or twice must therefore never meet another range
// with the same end, whose numbers another client uses. A range is returnable only if no other range of its counter with
// the same end was ever issued to a client of this gateway:
//
//   - A range issued since the gateway started has an entry, which is returnable at most once. A second range with that
//     end makes the entry final.
//   - An entry that is dropped for a newer one raises its counter's ambiguous to its end. So does a restart, which drops
//     all of them: before the first range of a counter Top is read, the greatest end that a gateway issued there before,
//     and ambiguous is raised to it. A range that ends at or below ambiguous is final.
//   - An earlier process of this gateway may issue ranges until it ends. A Top above what this process saw, or a number
//     of ranges that is not one more than with the reply before, shows a range that this process did not issue. Then
//     ambiguous is raised to all ends that were issued until then.
//
// What Redis lost includes Top. The counter then jumps past everything that was issued, so a range after it ends above
// all others. Forced seeds, returns and imports keep Top; a counter that is deleted by hand loses it.
//
// Ranges issued below Top by another client of the counter, such as an allocator, are not returned here and cannot be
// confused. The script that takes a range back compares its token as well: it refuses the return of a range after which
// another one was issued, whatever the entry is.
type ranges struct {
	mu    sync.Mutex // guards what follows, and ends of every counter
	max   int
	byEnd map[rangeEnd]issuedRange
	order []rangeEnd // in the order of issue
}

func newRanges(max int) *ranges { return &ranges{max: max, byEnd: make(map[rangeEnd]issuedRange)} }

// add remembers a range.
func (r *ranges) add(c *counter, got scripts.Range, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &c.ends
	if got.Top > e.top || got.Ranges != e.count+1 {
		e.ambiguous = max(e.ambiguous, e.top, got.Top)
	}
	e.top, e.count = max(e.top, got.Top, got.High), got.Ranges

	key := rangeEnd{c, got.High}
	if known, ok := r.byEnd[key]; ok {
		known.at, known.final = time.Now(), true
		r.byEnd[key] = known
		return
	}
	final := got.High <= e.ambiguous
	if len(r.order) >= r.max {
		r.dropOldest()
	}
	r.order = append(r.order, key)
	r.byEnd[key] = issuedRange{token: token, low: got.Low, epoch: got.Epoch, written: got.Written, at: time.Now(), final: final}
}

// used reports whether a range of the counter was added.
func (r *ranges) used(c *counter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.ends.count > 0
}

// raiseTop records the Top of a counter, which a restart made forgotten, before the first range is added.
func (r *ranges) raiseTop(c *counter, top int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if top > c.ends.top {
		c.ends.ambiguous, c.ends.top = max(c.ends.ambiguous, top), top
	}
}

// dropOldest drops the oldest range, with mu held.
func (r *ranges) dropOldest() {
	oldest := r.order[0]
	r.order = r.order[1:]
	oldest.counter.ends.ambiguous = max(oldest.counter.ends.ambiguous, oldest.end)
	delete(r.byEnd, oldest)
}

// find returns the range with this end.
func (r *ranges) find(c *counter, end int64) (issuedRange, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.byEnd[rangeEnd{c, end}]
	return found, ok
}

// finish makes a range final.
func (r *ranges) finish(c *counter, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := rangeEnd{c, end}
	if found, ok := r.byEnd[key]; ok {
		found.final = true
		r.byEnd[key] = found
	}
}

// extend returns by how much a range that would end at end is to be longer so that it can be returned, at most by most.
// It returns 0 if that is not enough.
func (r *ranges) extend(c *counter, end, most int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := end
	for end = max(end, c.ends.ambiguous+1); end-first <= most; end++ {
		if _, issued := r.byEnd[rangeEnd{c, end}]; !issued {
			return end - first
		}
	}
	return 0
}
