package allocator

import (
	"cmp"
	"slices"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// Stats is a snapshot of an allocator. Its parts are taken one after the other
// while callers run, so sums across collections may be off by what happened in
// between; each collection's own figures fit together.
type Stats struct {
	Collections []CollectionStats // those that were used, by name
	Servers     []ServerStats     // in order of preference
}

// ServerStats is the health of one server, as the latest attempt left it.
type ServerStats struct {
	Name     string        // "" with New
	Up       bool          // or not asked yet
	Failures int           // attempts that failed since it was last up; those made together count once
	RetryIn  time.Duration // until when it is left alone
	Err      error         // of the latest failure, nil: it is up
}

// CollectionStats counts numbers and events of one collection since the
// allocator was made. Reserved = Issued + Returned + Burnt + Held.
type CollectionStats struct {
	Name     string
	Ranges   int64 // ranges got from the server
	Reserved int64 // numbers in them
	Issued   int64 // handed out to callers
	Returned int64 // given back to the server by Close
	Burnt    int64 // neither, and never will be: gaps
	Held     int64 // in hand; all of it is burnt if the process is killed now
	Failures int64 // refills that failed
	Waits    int64 // calls that found nothing in hand and had to wait
	Jumps    int64 // times the counter jumped on evidence of lost writes
}

// tally is what a collection counts besides its ranges in hand. Nothing is
// counted on the hot path: what a range handed out is read off its cursor.
type tally struct {
	ranges   int64
	reserved int64
	used     int64 // numbers of ranges used up by callers of Next, or carved out of those
	apart    int64 // numbers of ranges that went to one caller of Take as a whole
	returned int64
	failures int64
	jumps    int64
}

// add counts a range, whether it is going to be used or not.
func (t *tally) add(got scripts.Range) {
	if got.High == 0 {
		return
	}
	t.ranges++
	t.reserved += got.High - got.Low + 1
	if got.Evidence != "" {
		t.jumps++
	}
}

// Stats is a snapshot; it does no I/O.
func (a *Allocator) Stats() Stats {
	var stats Stats
	a.collections(func(c *Collection) {
		if s := c.stats(); s.Ranges > 0 || s.Failures > 0 || s.Waits > 0 {
			stats.Collections = append(stats.Collections, s)
		}
	})
	for _, s := range a.servers {
		stats.Servers = append(stats.Servers, s.stats(a.now()))
	}
	slices.SortFunc(stats.Collections, func(x, y CollectionStats) int { return cmp.Compare(x.Name, y.Name) })
	return stats
}

func (c *Collection) stats() CollectionStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := CollectionStats{
		Name:     c.name,
		Ranges:   c.tally.ranges,
		Reserved: c.tally.reserved,
		Issued:   c.tally.used + c.tally.apart,
		Returned: c.tally.returned,
		Failures: c.tally.failures,
		Waits:    c.waits.Load(),
		Jumps:    c.tally.jumps,
	}
	for _, r := range c.spans() {
		used := r.used()
		s.Issued += used
		s.Held += r.size - used
	}
	s.Burnt = s.Reserved - s.Issued - s.Returned - s.Held
	return s
}

func (s *server) stats(now time.Duration) ServerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ServerStats{Name: s.name, Up: s.down == nil, Failures: s.backoff.failures, RetryIn: s.backoff.wait(now), Err: s.down}
}

// spans is the ranges in hand, the oldest first, with mu held.
func (c *Collection) spans() []*span {
	if cur := c.cur.Load(); cur != nil {
		return append([]*span{cur}, c.ahead...)
	}
	return c.ahead
}
