package allocator

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/hilo-id/hilo/prefix"
)

// Stats is a snapshot of an allocator. Its parts are taken one after the other while callers run, so sums across
// collections may be off by what happened in between; each collection's own figures fit together, and what counts
// events or numbers since the allocator was made never goes down.
type Stats struct {
	// Collections are those that were used, by name.
	Collections []CollectionStats
	// Servers are in order of preference.
	Servers []ServerStats
	// Limit is Options.Limit.
	Limit int64
}

// ServerStats is the health of one server, as the latest attempt left it, and what was asked of it since the allocator
// was made.
type ServerStats struct {
	// Name is Server.Name, "" with New.
	Name string
	// Up says that the latest attempt was served, or that there was none yet.
	Up bool
	// Failures is how many attempts failed since it was last up. Those made together count once. RetryIn is for how
	// long it is left alone, and Err why the latest attempt failed, nil where it is up.
	Failures int
	RetryIn  time.Duration
	Err      error
	// Answered says that it answered at all, and AnswerAge how long ago it last did. 0 where it never did.
	Answered  bool
	AnswerAge time.Duration
	// Known says that it is known what the server adds to identifiers. Adds is that, by the server's latest word, and
	// whether it is the home of identities.
	Known bool
	Adds  prefix.Server
	// Refills are the attempts to get ranges, Identities those for values of identities and server-side identifiers.
	Refills    AttemptStats
	Identities AttemptStats
	// Jumps of the server's counters, of all kinds. Every Evidence is there.
	Jumps map[Evidence]int64
}

// CollectionStats counts numbers and events of one collection since the allocator was made. Reserved = Issued +
// Returned + Burnt + Held.
type CollectionStats struct {
	Name string
	// Ranges were got from servers, with Reserved numbers in them.
	Ranges   int64
	Reserved int64
	// Issued numbers were handed out to callers, Returned ones given back by Close. Burnt ones are neither, and never
	// will be: they are gaps. Held ones are in hand, and burnt if the process is killed now.
	Issued   int64
	Returned int64
	Burnt    int64
	Held     int64
	// Failures are refills that failed, Waits calls that found nothing in hand and had to wait, and Jumps how often the
	// counter jumped on evidence of lost writes.
	Failures int64
	Waits    int64
	Jumps    int64
	// Greatest is the greatest number got from any server, in any spelling of the name.
	Greatest int64
	// Rate is how many numbers a second are handed out, as a mean over about the Runway and what it takes to notice
	// that a server is back.
	Rate float64
	// Runway is how long what is held lasts at that rate; the greatest Duration where it lasts longer than that, or
	// nobody takes any.
	Runway time.Duration
}

// tally is what a collection counts besides its ranges in hand. Nothing is counted on the hot path: what a range handed
// out is read off its cursor.
type tally struct {
	// ranges were got, with reserved numbers in them.
	ranges   int64
	reserved int64
	// used numbers are those of ranges that callers of Next used up, and those that callers of Take got out of such a
	// range. The numbers of ranges that went to one caller of Take as a whole are apart.
	used  int64
	apart int64
	// settling numbers were sealed by Close, which does not know yet whether they get back. returned ones did.
	settling int64
	returned int64
	// With their back-off failures do not come near the end of 32 bits, and a collection is to be small.
	failures uint32
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
		greatest = max(greatest, c.counter.told[i].Floor)
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
	if s.answered > 0 {
		stats.Answered, stats.AnswerAge = true, now-s.answered
	}
	if s.says != nil {
		stats.Known, stats.Adds = true, s.says.Server
		stats.Adds.Identities = s.home
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

// Add adds what another collection counted, or the same one of another allocator. Name stays. Greatest is the greater
// of the two, and Runway how long all that is held lasts at the rate of all.
func (s *CollectionStats) Add(other CollectionStats) {
	s.Ranges += other.Ranges
	s.Reserved += other.Reserved
	s.Issued += other.Issued
	s.Returned += other.Returned
	s.Burnt += other.Burnt
	s.Held += other.Held
	s.Failures += other.Failures
	s.Waits += other.Waits
	s.Jumps += other.Jumps
	s.Greatest = max(s.Greatest, other.Greatest)
	s.Rate += other.Rate
	s.Runway = lasts(s.Held, s.Rate)
}

// Ready reports whether a caller could be served now: numbers of some collection are in hand, or a server that gave
// ranges before is up. An allocator that was never used is not ready, since nobody knows whether its servers answer.
func (s Stats) Ready() bool {
	return slices.ContainsFunc(s.Collections, func(c CollectionStats) bool { return c.Held > 0 }) ||
		slices.ContainsFunc(s.Servers, func(server ServerStats) bool { return server.Up && server.Refills.Took.Count > 0 })
}
