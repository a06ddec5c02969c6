package fleet

import (
	"errors"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/scripts"
)

// Bounds are the upper bounds of the buckets of a Latency.
var Bounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// Latency counts the attempts of one kind at a server and how they ended.
type Latency struct {
	Total time.Duration
	// Within counts attempts by bucket. The last bucket is for those above all Bounds.
	Within [len(Bounds) + 1]int64
	// Failed counts failures by the index in Failures.
	Failed [len(Failures)]int64
}

func (l *Latency) add(took time.Duration, err error) {
	i, _ := slices.BinarySearch(Bounds[:], took)
	l.Within[i]++
	l.Total += took
	if err != nil {
		l.Failed[classify(err)]++
	}
}

// Failures are the classes of failed attempts, with the sentinels of each, in the order in which they are tried. The last
// one has all others.
var Failures = [...]struct {
	Name string
	errs []error
}{
	{"not_durable", []error{scripts.ErrNotDurable}},
	{"exhausted", []error{scripts.ErrExhausted}},
	{"not_seeded", []error{scripts.ErrNotSeeded}},
	{"mixed", []error{scripts.ErrMixed}},
	{"corrupt", []error{scripts.ErrCorrupt}},
	{"identities_elsewhere", []error{scripts.ErrElsewhere}},
	{"unguarded", []error{scripts.ErrUnguarded}},
	{"prefix", []error{failure.ErrPrefixConflict, scripts.ErrPrefixMissing}},
	{"unavailable", nil},
}

// classify returns the index in Failures of an error.
func classify(err error) int {
	for i, class := range Failures {
		if slices.ContainsFunc(class.errs, func(sentinel error) bool { return errors.Is(err, sentinel) }) {
			return i
		}
	}
	return len(Failures) - 1
}

// Evidences are the kinds of evidence for lost writes.
var Evidences = [...]scripts.Evidence{scripts.EvidenceFloor, scripts.EvidenceEpoch, scripts.EvidenceOrigin, scripts.EvidenceMissing}
