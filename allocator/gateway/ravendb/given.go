package ravendb

import (
	"sync"
	"time"
)

// mostGiven is how many ranges are remembered.
const mostGiven = 100_000

// given is a range that a client has, or had.
type given struct {
	token   string
	low     int64
	epoch   int64
	written int64
	at      time.Time
	kept    bool // it is not taken back, or was returned
}

// rangeEnd is all that a client says of a range.
type rangeEnd struct {
	counter *counter
	end     int64
}

// givenRanges remembers the newest ranges that were given. The zero value is
// ready for use.
type givenRanges struct {
	mu     sync.Mutex // guards what follows
	byEnd  map[rangeEnd]given
	oldest int        // index into order, where it is full
	order  []rangeEnd // as they were given, a ring
}

// add remembers a range, and forgets the oldest one where there are too many.
func (g *givenRanges) add(c *counter, end int64, r given) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byEnd == nil {
		g.byEnd = make(map[rangeEnd]given)
	}
	key := rangeEnd{c, end}
	if len(g.order) < mostGiven {
		g.order = append(g.order, key)
	} else {
		delete(g.byEnd, g.order[g.oldest])
		g.order[g.oldest] = key
		g.oldest = (g.oldest + 1) % mostGiven
	}
	g.byEnd[key] = r
}

func (g *givenRanges) find(c *counter, end int64) (given, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.byEnd[rangeEnd{c, end}]
	return r, ok
}

// keep has a range not taken back any more.
func (g *givenRanges) keep(c *counter, end int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := rangeEnd{c, end}
	if r, ok := g.byEnd[key]; ok {
		r.kept = true
		g.byEnd[key] = r
	}
}

// beyond is how many more numbers a range that ends here needs, so that no
// remembered one ends alike; 0 where none does.
func (g *givenRanges) beyond(c *counter, end int64) (more int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if _, ok := g.byEnd[rangeEnd{c, end + more}]; !ok {
			return more
		}
		more++
	}
}
