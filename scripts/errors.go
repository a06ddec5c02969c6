package scripts

import (
	"errors"
	"fmt"
	"strings"
)

// What a script refuses, each before anything is written.
var (
	// ErrCorrupt is stored state that no script of hilo writes: a value that is
	// not a canonical decimal, an unusable prefix, a key of another type.
	ErrCorrupt = errors.New("corrupt state")
	// ErrExhausted is a counter that stands at the limit, or so near that a jump has
	// no room; the text says which.
	ErrExhausted = errors.New("exhausted")
	// ErrNotSeeded is a missing counter where a seeded one is required.
	ErrNotSeeded = errors.New("not seeded")
	// ErrMixed is a name used for both a collection and an identity on a server
	// without prefix and tag.
	ErrMixed = errors.New("collection and identity mixed")
	// ErrPrefixMissing is a server with neither prefix nor tag where one is required.
	ErrPrefixMissing = errors.New("server prefix missing")
	// ErrElsewhere is an identity that was asked for on a server with a prefix or
	// tag that does not say that it is the home of identities.
	ErrElsewhere = errors.New("identities are elsewhere")
	// ErrUnguarded is a counter with an Origin that the client cannot compare with
	// the server's replication id, because it may not ask INFO.
	ErrUnguarded = errors.New("not guarded against lost writes")
	// ErrChanged is a forced seed that found another state than it expected.
	ErrChanged = errors.New("changed meanwhile")
	// ErrReply is a reply that the script cannot have given.
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
	{"HILO_ARGUMENT ", errors.New("bug: a script was called with a bad argument")},
}

// tagged turns a script's own error into its sentinel and leaves others alone.
func tagged(err error) error {
	text := strings.TrimPrefix(err.Error(), "ERR ")
	for _, t := range tags {
		if rest, ok := strings.CutPrefix(text, t.tag); ok {
			return fmt.Errorf("%w: %s", t.err, rest)
		}
	}
	return err
}

// Answered reports whether err is an answer of the script, so that sending the
// same request again makes no sense. After any other error nobody knows whether
// it ran.
func Answered(err error) bool {
	if errors.Is(err, ErrReply) || errors.Is(err, ErrChanged) {
		return true
	}
	for _, t := range tags {
		if errors.Is(err, t.err) {
			return true
		}
	}
	return false
}
