package allocator

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/hilo-id/hilo/prefix"
)

// Stats is a snapshot of an allocator. Its parts are taken one after the other
// while callers run, so sums across collections may be off by what happened in
// between; each collection's own figures fit together, and what counts events
// or numbers since the allocator was made never goes down.
type Stats struct {
	Collections []CollectionStats // those that were used, by name
	Servers     []ServerStats     // in order of preference
	Limit       int64             // Options.Limit
}

// ServerStats is the health of one server, as the latest attempt left it, and
// what was asked of it since the allocator was made.
type ServerStats struct {
	Name       string             // "" with New
	Up         bool               // or not asked yet
	Failures   int                // attempts that failed since it was last up; those made together count once
	RetryIn    time.Duration      // until when it is left alone
	Err        error              // of the latest failure, nil: it is up
	Known      bool               // what it adds is, since it gave something
	Adds       prefix.Server      // to identifiers, as of the latest range
	Refills    AttemptStats       // for ranges
	Identities AttemptStats       // for values of identities and server-side identifiers
	Jumps      map[Evidence]int64 // of its counters, of all kinds; has every Evidence
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
	Greatest int64 // the greatest number got from any server, in any spelling
	// Rate is how many numbers a second are handed out, as a mean over about the
	// Runway and what it takes to notice that a server is back.
	Rate float64
	// Runway is how long what is held lasts at that rate; the greatest Duration
	// where it lasts longer than that, or nobody takes any.
	Runway time.Duration
}

// tally is what a collection counts besides its ranges in hand. Nothing is
// counted on the hot path: what a range handed out is read off its cursor.
type tally struct {
	ranges   int64
	reserved int64
	used     int64 // numbers of ranges used up by callers of Next, or carved out of those
	apart    int64 // numbers of ranges that went to one caller of Take as a whole
	settling int64 // numbers that Close has sealed and nobody knows yet whether they get back
	returned int64
	failures uint32 // with their back-off they do not come near its end, and a collection is to be small
	jumps    uint32
}

// add counts a range of that size, whether it is going to be used or not.
func (t *tally) add(size int64) {
	t.ranges++
	t.reserved += size
}

// Stats is a snapshot; it does no I/O.
func (a *Allocator) Stats() Stats {
	stats := Stats{Limit: a.opts.Limit}
	now := a.now()
	a.byName.each(func(c *Collection) {
		if s := c.stats(now); s.Ranges > 0 || s.Failures > 0 || s.Waits > 0 {
			s.Greatest = c.greatest()
			stats.Collections = append(stats.Collections, s)
		}
	})
	for _, s := range a.servers {
		stats.Servers = append(stats.Servers, s.stats(now))
	}
	slices.SortFunc(stats.Collections, func(x, y CollectionStats) int { return cmp.Compare(x.Name, y.Name) })
	return stats
}

func (c *Collection) stats(now time.Duration) CollectionStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := CollectionStats{
		Name:     c.name,
		Ranges:   c.tally.ranges,
		Reserved: c.tally.reserved,
		Issued:   c.tally.used + c.tally.apart,
		Returned: c.tally.returned,
		Held:     c.tally.settling,
		Failures: int64(c.tally.failures),
		Waits:    c.waits.Load(),
		Jumps:    int64(c.tally.jumps),
	}
	for _, r := range c.spans() {
		used := r.used()
		s.Issued += used
		s.Held += r.size - used
	}
	s.Burnt = s.Reserved - s.Issued - s.Returned - s.Held
	s.Rate = c.rate(now, s.Issued-c.tally.apart)
	s.Runway = lasts(s.Held, s.Rate)
	return s
}

// rate is what plan would measure now, with mu held.
func (c *Collection) rate(now time.Duration, used int64) float64 {
	d := c.demand
	d.want(now, used, c.a.horizon())
	return d.weight / c.a.horizon().Seconds()
}

func lasts(numbers int64, rate float64) time.Duration {
	switch seconds := float64(numbers) / rate; {
	case numbers == 0:
		return 0
	case seconds < time.Duration(math.MaxInt64).Seconds():
		return time.Duration(seconds * float64(time.Second))
	default:
		return math.MaxInt64
	}
}

// greatest is the greatest number of the counter that this allocator was given.
func (c *Collection) greatest() int64 {
	var greatest int64
	for i, s := range c.a.servers {
		s.mu.Lock()
		greatest = max(greatest, c.counter.taught[i].floor)
		s.mu.Unlock()
	}
	return greatest
}

func (s *server) stats(now time.Duration) ServerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := ServerStats{
		Name:       s.name,
		Up:         s.down == nil,
		Failures:   s.backoff.failures,
		RetryIn:    s.backoff.wait(now),
		Err:        s.down,
		Refills:    s.refills.stats(),
		Identities: s.identities.stats(),
		Jumps:      make(map[Evidence]int64, len(evidences)),
	}
	if s.adds != nil {
		stats.Known, stats.Adds = true, s.adds.Server
	}
	for i, evidence := range evidences {
		stats.Jumps[evidence] = s.jumps[i]
	}
	return stats
}

// spans is the ranges in hand, the oldest first, with mu held.
func (c *Collection) spans() []*span {
	if cur := c.cur.Load(); cur != none {
		return append([]*span{cur}, c.ahead...)
	}
	return c.ahead
}
