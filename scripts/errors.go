package scripts

import (
	"errors"
	"fmt"
	"strings"
)

// The refusals of scripts, which have written nothing, and ErrReply.
var (
	// ErrCorrupt means that stored state is not what hilo writes, such as a value that
	// is not a canonical decimal, an unusable prefix, or a key of another type.
	ErrCorrupt = errors.New("corrupt state")
	// ErrExhausted means that a counter stands at the limit, or so near that a jump has no room. The text states which.
	ErrExhausted = errors.New("exhausted")
	// ErrNotSeeded means that a counter is missing and may not be made, because the server has no settings or makes no
	// counters, or because it is gone. The text states which, and the ways out.
	ErrNotSeeded = errors.New("not seeded")
	// ErrMixed means that a name is used for both a collection and an identity where their texts could be equal.
	ErrMixed = errors.New("collection and identity mixed")
	// ErrPrefixMissing means that a server has neither prefix nor tag nor interval and one is required.
	ErrPrefixMissing = errors.New("server prefix missing")
	// ErrElsewhere means that an identity was requested from a server that has a prefix or tag and is not the home of identities.
	ErrElsewhere = errors.New("identities are elsewhere")
	// ErrUnguarded means that the client may not call INFO, and so cannot compare the
	// counter's Origin with the server's replication id.
	ErrUnguarded = errors.New("not guarded against lost writes")
	// ErrChanged means that a forced seed, a change of settings or a permit found another state than it expected.
	ErrChanged = errors.New("changed meanwhile")
	// ErrInitialized means that a server has settings already.
	ErrInitialized = errors.New("initialized already")
	// ErrCeiling means that a durable server issues nothing more until its ceiling is raised, by Raise and Permit.
	ErrCeiling = errors.New("ceiling reached")
	// ErrNotDurable means that a write is not known to be on disk, or that a script's write was not confirmed. The text states
	// what is in the way.
	ErrNotDurable = errors.New("not durable")
	// ErrPending is the ErrNotDurable of a sync in progress, which ends by itself.
	ErrPending = fmt.Errorf("%w: a sync is pending", ErrNotDurable)
	// ErrReply means that a reply is not one of the script's.
	ErrReply = errors.New("unexpected reply")
)

var tags = []struct {
	tag string
	err error
}{
	{"HILO_CORRUPT ", ErrCorrupt},
	{"HILO_EXHAUSTED ", ErrExhausted},
	{"HILO_NOTSEEDED ", ErrNotSeeded},
	{"HILO_MIXED ", ErrMixed},
	{"HILO_NOPREFIX ", ErrPrefixMissing},
	{"HILO_ELSEWHERE ", ErrElsewhere},
	{"HILO_UNGUARDED ", ErrUnguarded},
	{"HILO_CHANGED ", ErrChanged},
	{"HILO_INITIALIZED ", ErrInitialized},
	{"HILO_CEILING ", ErrCeiling},
	{"HILO_PENDING ", ErrPending},
	{"HILO_NOTDURABLE ", ErrNotDurable},
	{"HILO_ARGUMENT ", errors.New("bug: a script was called with a bad argument")},
}

// tagged returns the sentinel for a script's own error, and any other error as it is.
func tagged(err error) error {
	text := strings.TrimPrefix(err.Error(), "ERR ")
	for _, t := range tags {
		if rest, ok := strings.CutPrefix(text, t.tag); ok {
			return fmt.Errorf("%w: %s", t.err, rest)
		}
	}
	return err
}

// Answered reports whether err is an answer of the script, so that sending the same request again is of no use. After any other
// error it is unknown whether the script ran. ErrNotDurable is none, since it may be about a write that was made.
func Answered(err error) bool {
	if errors.Is(err, ErrNotDurable) {
		return false
	}
	if errors.Is(err, ErrReply) {
		return true
	}
	for _, t := range tags {
		if errors.Is(err, t.err) {
			return true
		}
	}
	return false
}

// NotPrimary reports whether the text of an error reply means that the server is not a
// primary, or was not when it replied. Servers and proxies put it in several ways, such as
// "ERR READONLY ...", and scripts of older versions put it within another text.
func NotPrimary(text string) bool {
	return !strings.Contains(text, "HILO_") && (strings.Contains(text, "READONLY ") || strings.Contains(text, "MASTERDOWN "))
}
