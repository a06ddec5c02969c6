package allocator

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
)

// Stats is a snapshot of an allocator. Its parts are taken one after the other while callers run, so sums across
// collections may be off by what happened in between. The figures of each collection are consistent, and counts of events or
// numbers since the allocator was made never decrease.
type Stats struct {
	// Collections are those that were used, by name.
	Collections []CollectionStats
	// Servers are in order of preference.
	Servers []ServerStats
	// Limit is Options.Limit.
	Limit int64
	// conflict reports a conflict in the settings of the servers, so that none of them issues anything.
	conflict bool
}

// ServerStats is the health of one server after the latest attempt, and its counts since the allocator was made.
type ServerStats struct {
	// Name is Server.Name, "" with New.
	Name string
	// Up reports that the latest attempt was served, or that there was none yet.
	Up bool
	// Failures counts failed attempts since it was last up. Concurrent ones count once. RetryIn is the rest of its back-off,
	// and Err why the latest attempt failed, nil if it is up.
	Failures int
	RetryIn  time.Duration
	Err      error
	// Answered reports that it answered at all, and AnswerAge is the time since it last did, 0 if it never did.
	Answered  bool
	AnswerAge time.Duration
	// Known reports that the server has described itself. Settings are by its latest report.
	Known    bool
	Settings prefix.Server
	// CeilingErr is what keeps the ceilings of a durable server's counters from being raised, or nil. CeilingLasts is how long
	// the numbers of the counter that runs out first last then, 0 if unknown.
	CeilingErr   error
	CeilingLasts time.Duration
	// Refills are the requests for ranges, Identities those for identities and server-side identifiers.
	Refills    AttemptStats
	Identities AttemptStats
	// Jumps counts jumps of the server's counters, of all kinds. Every Evidence has an entry.
	Jumps map[Evidence]int64
}

// CollectionStats counts numbers and events of one collection since the allocator was made. Reserved = Issued +
// Returned + Burnt + Held.
type CollectionStats struct {
	Name string
	// Ranges counts ranges received from servers, and Reserved the numbers in them.
	Ranges   int64
	Reserved int64
	// Issued numbers were issued to callers, Returned ones returned by Close. Burnt ones are neither and never will be, so
	// they are gaps. Held ones are in hand, and burnt if the process is killed now.
	Issued   int64
	Returned int64
	Burnt    int64
	Held     int64
	// Failures counts refills that failed, Waits calls that found nothing in hand, and Jumps the jumps of the counter on
	// evidence of lost writes.
	Failures int64
	Waits    int64
	Jumps    int64
	// Err is why the latest refill failed, nil after a range.
	Err error
	// Greatest is the greatest number issued by any server, in any spelling of the name.
	Greatest int64
	// Rate is the mean of numbers issued per second, over about the Runway and the time to find a server that recovered.
	Rate float64
	// Runway is how long the held numbers last at that rate, or the greatest Duration if it is longer or none are taken.
	Runway time.Duration
}

// Stats returns a snapshot. It does no I/O.
func (a *Allocator) Stats() Stats {
	stats := Stats{Limit: a.opts.Limit}
	now := a.fleet.Now()
	a.byName.each(func(c *Collection) {
		if s := c.stats(now); s.Ranges > 0 || s.Failures > 0 || s.Waits > 0 {
			for _, server := range a.fleet.Servers() {
				s.Greatest = max(s.Greatest, server.Marks(fleet.Range, c.name).Floor)
			}
			stats.Collections = append(stats.Collections, s)
		}
	})
	servers, conflict := a.fleet.Stats()
	for i := range servers {
		stats.Servers = append(stats.Servers, serverStats(&servers[i], now))
	}
	stats.conflict = conflict != nil
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
		Held:     c.tally.returning,
		Failures: int64(c.tally.failures),
		Waits:    c.waits.Load(),
		Jumps:    int64(c.tally.jumps),
		Err:      c.failed,
	}
	for _, r := range c.spans() {
		used := r.used()
		s.Issued += used
		s.Held += r.size - used
	}
	s.Burnt = s.Reserved - s.Issued - s.Returned - s.Held
	demand := c.demand // plan would measure this now
	demand.want(now, s.Issued-c.tally.apart, c.a.horizon)
	s.Rate = demand.weight / c.a.horizon.Seconds()
	s.Runway = lasts(s.Held, s.Rate)
	return s
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

func serverStats(s *fleet.Stats, now time.Duration) ServerStats {
	stats := ServerStats{
		Name:       s.Name,
		Up:         s.Err == nil,
		Failures:   s.Failures,
		RetryIn:    s.RetryIn,
		Err:        s.Err,
		Known:      s.Known,
		Settings:   s.Desc,
		CeilingErr: s.Obstacle, CeilingLasts: s.Lasts,
		Refills:    attemptStats(&s.Refills),
		Identities: attemptStats(&s.Identities),
		Jumps:      make(map[Evidence]int64, len(fleet.Evidences)),
	}
	if s.Answered > 0 {
		stats.Answered, stats.AnswerAge = true, now-s.Answered
	}
	for i, evidence := range fleet.Evidences {
		stats.Jumps[Evidence(evidence)] = s.Jumps[i]
	}
	return stats
}

// Add adds the counts of another collection, or of the same one of another allocator. Name and Err stay. Greatest becomes the
// greater of the two, and Runway how long all held numbers last at the sum of the rates.
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

// Ready reports whether a caller could be served now, because numbers of some collection are in hand, or a server answered
// and is not down. With collections it reports that of each of them: its numbers are in hand, or a server is up and did not
// refuse its latest refill. An allocator that has not contacted a server is not ready, so call Check once at start-up. While a
// server is down the allocator asks it by itself until it answers, so Ready recovers without calls. After the refusal of a
// collection, such as ErrNotSeeded, only its next call makes it ready again, and Check reports whether that would succeed.
func (s Stats) Ready(collections ...string) bool {
	served := !s.conflict && slices.ContainsFunc(s.Servers, func(server ServerStats) bool { return server.Up && server.Answered })
	inHand := func(c CollectionStats) bool { return c.Held > 0 }
	if len(collections) == 0 {
		return served || slices.ContainsFunc(s.Collections, inHand)
	}
	for _, name := range collections {
		i := slices.IndexFunc(s.Collections, func(c CollectionStats) bool { return c.Name == name })
		if i < 0 && !served || i >= 0 && !inHand(s.Collections[i]) && (!served || failure.Refused(s.Collections[i].Err)) {
			return false
		}
	}
	return true
}

// Check contacts and compares all servers, for start-up and readiness. It returns the error that the first call would
// return, and nil if that call would succeed now, because a server takes writes. With collections that holds for the first call of
// each of them, so that the errors are those of Collection.Next, such as ErrNotDurable where a ceiling is used up and cannot be
// raised. Without, the errors are those that are not about a collection. It issues nothing and writes nothing.
func (a *Allocator) Check(ctx context.Context, collections ...string) error {
	var unknown []string // that have no numbers in hand
	for _, name := range collections {
		if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
			return fmt.Errorf("allocator: %w", err)
		}
		if c, found := a.byName.find(name); !found || c.stats(a.fleet.Now()).Held == 0 {
			unknown = append(unknown, name)
		}
	}
	if err := a.fleet.Check(ctx, a.opts.Limit, unknown...); err != nil {
		return fmt.Errorf("allocator: %w", err)
	}
	return nil
}

// Evidence is why a server is taken to have lost writes, so that a counter jumps.
type Evidence string

// The kinds of evidence. Their texts are those of the log and the metrics.
const (
	// EvidenceFloor means that the counter is below the greatest number issued to this client, or lost what it had reserved.
	EvidenceFloor Evidence = "floor"
	// EvidenceEpoch means that the counter's epoch is below the greatest one that this client received, or is another counter's.
	EvidenceEpoch Evidence = "epoch"
	// EvidenceOrigin means that the server was restarted or promoted since it wrote the counter, or is not durable any more.
	EvidenceOrigin Evidence = "origin"
	// EvidenceMissing means that the counter is gone.
	EvidenceMissing Evidence = "missing"
)

// AttemptStats counts attempts against one server and how they ended.
type AttemptStats struct {
	// Took has the durations of all attempts, failed or not.
	Took Durations
	// Failed counts failed attempts. Every kind has an entry.
	Failed map[FailureKind]int64
}

// Durations is a histogram of durations.
type Durations struct {
	Count int64
	Total time.Duration
	// AtMost counts durations up to 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250 and 500 ms, and 1, 2.5 and 5 s.
	AtMost []int64
}

func attemptStats(l *fleet.Latency) AttemptStats {
	s := AttemptStats{
		Took:   Durations{Total: l.Total, AtMost: make([]int64, len(fleet.Bounds))},
		Failed: make(map[FailureKind]int64, len(fleet.Failures)),
	}
	for i, n := range l.Within {
		s.Took.Count += n
		if i < len(fleet.Bounds) {
			s.Took.AtMost[i] = s.Took.Count
		}
	}
	for i, class := range fleet.Failures {
		s.Failed[FailureKind(class.Name)] = l.Failed[i]
	}
	return s
}

// FailureKind is the class of a failed attempt, for statistics. Errors of the class match the sentinel of the same name, for
// example ErrNotDurable for "not_durable".
type FailureKind string

// The kinds of failures. All others are FailedUnavailable.
const (
	FailedUnavailable FailureKind = "unavailable"
	FailedNotDurable  FailureKind = "not_durable"
	FailedExhausted   FailureKind = "exhausted"
	FailedNotSeeded   FailureKind = "not_seeded"
	FailedMixed       FailureKind = "mixed"
	FailedCorrupt     FailureKind = "corrupt"
	FailedElsewhere   FailureKind = "identities_elsewhere"
	FailedUnguarded   FailureKind = "unguarded"
	// FailedPrefix is ErrPrefixConflict or ErrPrefixMissing.
	FailedPrefix FailureKind = "prefix"
)
