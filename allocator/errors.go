package allocator

import (
	"errors"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// The errors to test for with errors.Is, in groups by what to do. Each text names the object, the value and the rule that it
// breaks, and where a person has to act also the command.
var (
	// Retry: the same call may succeed later, and Retryable reports true.

	// ErrUnavailable means that no server could be reached or served the call, or that ctx ended before one did.
	ErrUnavailable = failure.ErrUnavailable
	// ErrNotDurable means that a durable server has no more numbers that are known to be on disk, until ctx ended. The text
	// names what is in the way, such as an append-only file that is off, which needs the operator.
	ErrNotDurable = scripts.ErrNotDurable

	// Operator: a person has to change or repair a server or its settings.

	// ErrNotSeeded means that the counter is missing and is not made. The server has no settings, so that it is new or lost its
	// data; or it makes no counters; or the counter is gone and this client cannot know how far others are. The text names the
	// ways out, hilo init or hilo seed where nothing was issued, and hilo help recover. Package admin returns it for a missing
	// counter too.
	ErrNotSeeded = scripts.ErrNotSeeded
	// ErrExhausted means that the counter stands at Options.Limit or the server's MaxValue, or so near that a jump on evidence of
	// lost writes has no room. The text states which.
	ErrExhausted = scripts.ErrExhausted
	// ErrPrefixMissing means that a server has neither prefix, tag nor interval. A single server that had one when it issued
	// numbers to this client lost its settings. Each of several servers needs one. One without is out of use like one that fails,
	// the others serve, and the error is returned where none is left.
	ErrPrefixMissing = scripts.ErrPrefixMissing
	// ErrPrefixConflict means that two servers could issue the same identifier. Their prefixes and tags are equal, in any letter
	// case, and their intervals are not disjoint; or they are one server, or both are the home of identities; or the numbers of
	// one without prefix and tag overlap the identities of another. A server that reports another prefix or interval than its
	// Server states is in conflict, too.
	ErrPrefixConflict = failure.ErrPrefixConflict
	// ErrIdentitiesElsewhere means that the server is not the home of identities, or that no server reports that it is.
	ErrIdentitiesElsewhere = scripts.ErrElsewhere
	// ErrUnguarded means that the client may not run INFO, and that the counter has an Origin. Without INFO this client
	// cannot detect a restart, and its write would hide one from the others.
	ErrUnguarded = scripts.ErrUnguarded
	// ErrCorrupt means that the stored state is not what hilo writes, such as a value that is not a canonical decimal, an
	// unusable prefix, or a key of another type.
	ErrCorrupt = scripts.ErrCorrupt

	// Program: the call or the options are a mistake.

	// ErrInvalidOptions means that an option or argument is out of range.
	ErrInvalidOptions = failure.ErrInvalidOptions
	// ErrInvalidName means that a collection, namespace, separator, prefix or tag breaks a rule of package prefix.
	ErrInvalidName = prefix.ErrInvalid
	// ErrMixed means that a collection and an identity have the same name where numbers are issued without prefix and tag, so
	// that both would issue the same texts. The identity is refused for ever, the collection while the identity exists.
	ErrMixed = scripts.ErrMixed
	// ErrPrefixed means that a number alone was requested from several servers, and that the interval of the one that would issue
	// it is not known to be disjoint from those of all others. Their numbers may be equal, and only their texts differ.
	ErrPrefixed = failure.ErrPrefixed

	// Closed.

	// ErrClosed is the error of every call after Close.
	ErrClosed = failure.ErrClosed
)

// ServerError is the error of one of several servers. An error of an allocator may join one of each server.
type ServerError struct {
	// Server is the Name of the Server.
	Server string
	err    error
}

func (e *ServerError) Error() string { return e.err.Error() }
func (e *ServerError) Unwrap() error { return e.err }

// Retryable reports whether the same call may succeed later without a change to the program or a server's settings. It is true if
// err matches ErrUnavailable or ErrNotDurable, and not ErrClosed. The error of a client that was closed matches redis.ErrClosed and
// neither of them.
func Retryable(err error) bool {
	return (errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotDurable)) && !errors.Is(err, ErrClosed)
}
