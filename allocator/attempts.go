package allocator

import (
	"errors"
	"slices"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// Evidence is why a script took writes of a server for lost.
type Evidence = scripts.Evidence

// The kinds of evidence.
const (
	// EvidenceFloor is a counter below what this client was given.
	EvidenceFloor = scripts.EvidenceFloor
	// EvidenceEpoch is a counter whose epoch is below the one that this client saw.
	EvidenceEpoch = scripts.EvidenceEpoch
	// EvidenceOrigin is a server that was restarted or promoted since it gave the last range.
	EvidenceOrigin = scripts.EvidenceOrigin
	// EvidenceMissing is a counter that is gone.
	EvidenceMissing = scripts.EvidenceMissing
)

var evidences = [...]Evidence{EvidenceFloor, EvidenceEpoch, EvidenceOrigin, EvidenceMissing}

// AttemptStats counts attempts against one server and how they ended.
type AttemptStats struct {
	// Took is how long all of them took, failed or not.
	Took Durations
	// Failed counts those that failed. Every kind is there.
	Failed map[FailureKind]int64
}

// Durations counts how long something took.
type Durations struct {
	Count int64
	Total time.Duration
	// AtMost is how many took no longer than the bound of the same index in DurationBounds.
	AtMost []int64
}

var durationBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// DurationBounds are the bounds of Durations, the shortest first: 0.5 ms to 5 s.
func DurationBounds() []time.Duration { return slices.Clone(durationBounds[:]) }

// attempts is what a server counts of one kind of attempts, at one place in memory however many collections there are.
type attempts struct {
	total time.Duration
	// within counts by bounds, and in the last place what took longer than all of them.
	within [len(durationBounds) + 1]int64
	// failed counts by the index in failureKinds.
	failed [9]int64
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

// FailureKind is the class of a failed attempt, for statistics. Its error matches the sentinel of the same name, as
// "not_durable" is ErrNotDurable.
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

// failureKinds has the sentinels of each, in the order in which they are looked for.
var failureKinds = []struct {
	kind FailureKind
	errs []error
}{
	{FailedNotDurable, []error{ErrNotDurable}},
	{FailedExhausted, []error{ErrExhausted}},
	{FailedNotSeeded, []error{ErrNotSeeded}},
	{FailedMixed, []error{ErrMixed}},
	{FailedCorrupt, []error{ErrCorrupt}},
	{FailedElsewhere, []error{ErrIdentitiesElsewhere}},
	{FailedUnguarded, []error{ErrUnguarded}},
	{FailedPrefix, []error{ErrPrefixConflict, ErrPrefixMissing}},
	{FailedUnavailable, nil},
}

// failureIndex is where in failureKinds an error belongs.
func failureIndex(err error) int {
	for i, k := range failureKinds {
		for _, sentinel := range k.errs {
			if errors.Is(err, sentinel) {
				return i
			}
		}
	}
	return len(failureKinds) - 1
}
