package allocator

import (
	"slices"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// Evidence is why a script took writes of a server for lost.
type Evidence = scripts.Evidence

// The kinds of evidence.
const (
	EvidenceFloor   = scripts.EvidenceFloor   // a counter is below what this client was given
	EvidenceOrigin  = scripts.EvidenceOrigin  // the server was restarted or promoted
	EvidenceMissing = scripts.EvidenceMissing // a counter is gone
)

var evidences = [...]Evidence{EvidenceFloor, EvidenceOrigin, EvidenceMissing}

// AttemptStats counts attempts against one server and how they ended.
type AttemptStats struct {
	Took   Durations             // of all of them, failed or not
	Failed map[FailureKind]int64 // has every kind
}

// Durations counts how long something took.
type Durations struct {
	Count int64
	Total time.Duration
	// AtMost is how many took no longer than the bound of the same index in
	// DurationBounds.
	AtMost []int64
}

var durationBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// DurationBounds are the bounds of Durations, the shortest first: 0.5 ms to 5 s.
func DurationBounds() []time.Duration { return slices.Clone(durationBounds[:]) }

// attempts is what a server counts of one kind of attempts, at one place in
// memory however many collections there are.
type attempts struct {
	total  time.Duration
	within [len(durationBounds) + 1]int64 // the last one: longer than all bounds
	failed [7]int64                       // by the index in failureKinds
}

func (a *attempts) add(took time.Duration, err error) {
	i, _ := slices.BinarySearch(durationBounds[:], took)
	a.within[i]++
	a.total += took
	if err != nil {
		a.failed[failureIndex(err)]++
	}
}

func (a *attempts) stats() AttemptStats {
	s := AttemptStats{
		Took:   Durations{Total: a.total, AtMost: make([]int64, len(durationBounds))},
		Failed: make(map[FailureKind]int64, len(failureKinds)),
	}
	for i, n := range a.within {
		s.Took.Count += n
		if i < len(durationBounds) {
			s.Took.AtMost[i] = s.Took.Count
		}
	}
	for i, k := range failureKinds {
		s.Failed[k.kind] = a.failed[i]
	}
	return s
}
