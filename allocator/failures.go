package allocator

import "errors"

// FailureKind is the class of a failed attempt, for statistics. An error matches
// the sentinel of the same name.
type FailureKind string

// The kinds of failures. All others are FailedUnavailable.
const (
	FailedUnavailable FailureKind = "unavailable"
	FailedNotDurable  FailureKind = "not_durable"
	FailedExhausted   FailureKind = "exhausted"
	FailedNotSeeded   FailureKind = "not_seeded"
	FailedMixed       FailureKind = "mixed"
	FailedCorrupt     FailureKind = "corrupt"
	FailedPrefix      FailureKind = "prefix" // ErrPrefixConflict, ErrPrefixMissing
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
