// Package exit knows the exit codes, which error ends in which, and how an error is said in one sentence. It may import term
// and the library.
package exit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// The exit codes of hilo; anything else is a crash.
const (
	Done        = 0
	Failed      = 1
	Usage       = 2 // a mistake in the command line, found before anything was done
	Unavailable = 3 // Redis away, loading, or the login refused
	Refused     = 4 // exhausted, or refused by a rule
	Fault       = 5 // a check found a fault
)

// Error is an error whose text is the whole sentence for the user and whose exit code is known.
type Error struct {
	Code  int
	Text  string
	Cause error
}

func (f *Error) Error() string { return f.Text }
func (f *Error) Unwrap() error { return f.Cause }

// Usagef is an error of the command line.
func Usagef(format string, values ...any) error {
	return &Error{Code: Usage, Text: fmt.Sprintf(format, values...)}
}

// Refusedf is an error of what a rule forbids.
func Refusedf(format string, values ...any) error {
	return &Error{Code: Refused, Text: fmt.Sprintf(format, values...)}
}

// Invalid is a usage error made of a refusal by package prefix, if it is one, which says what is wrong, and of what to do.
func Invalid(err error, remedy string) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Usage, Text: Plain(err) + "; " + remedy, Cause: err}
}

// rules are the errors of the library: the code that each ends in, and what to do about it where it does not say so. Of
// several that an error is, the first counts: what is corrupt may be a name that is invalid.
var rules = []struct {
	err    error
	code   int
	remedy string
	// said: Plain leaves the name of the error in the text, since the exit code does not say as much.
	said bool
}{
	{err: allocator.ErrCorrupt, code: Failed, remedy: "put it right with redis-cli, nothing was changed"},
	{err: allocator.ErrInvalidOptions, code: Usage},
	{err: prefix.ErrInvalid, code: Usage},
	{err: allocator.ErrExhausted, code: Refused, remedy: "go on with another name"},
	{err: allocator.ErrMixed, code: Refused, remedy: "name it otherwise, or give the server a prefix with hilo prefix set"},
	{err: allocator.ErrNotSeeded, code: Refused, remedy: "seed it with hilo seed, or hilo identity seed"},
	{err: allocator.ErrNotDurable, code: Refused, remedy: "what was not confirmed is a gap: " +
		"see to the server with hilo doctor, or ask for less with --replicas and --fsync"},
	{err: allocator.ErrPrefixMissing, code: Refused, remedy: "give each server one of its own with hilo prefix set", said: true},
	{err: allocator.ErrPrefixConflict, code: Refused, remedy: "compare the servers with hilo prefix check, and hilo doctor", said: true},
	{err: allocator.ErrIdentitiesElsewhere, code: Refused, remedy: "ask the one that is their home, or make one so with hilo prefix set --identities"},
	{err: allocator.ErrUnguarded, code: Refused}, // it says what to do
	{err: allocator.ErrChanged, code: Refused, remedy: "look what stands with hilo inspect or hilo identity list, and seed again if need be"},
	{err: allocator.ErrUnavailable, code: Unavailable},
}

// Plain is the text of err without the package and the sentinel that it may begin with: the exit code says as much. What a
// signal ended was interrupted, unless an Error says more.
func Plain(err error) string {
	if _, known := errors.AsType[*Error](err); errors.Is(err, context.Canceled) && !known {
		return "interrupted"
	}
	text := strings.TrimPrefix(err.Error(), "allocator: ")
	for _, rule := range rules {
		if !rule.said && errors.Is(err, rule.err) {
			text = strings.TrimPrefix(text, rule.err.Error()+": ")
		}
	}
	return text
}

// Code is the one place that knows which error ends in which code.
func Code(err error) int {
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Code
	}
	switch {
	case err == nil:
		return Done
	case errors.Is(err, context.Canceled): // by a signal; the server that had not answered yet is not to blame
		return Failed
	}
	for _, rule := range rules {
		if errors.Is(err, rule.err) {
			return rule.code
		}
	}
	return Failed
}

// Report says in one sentence what went wrong, if anything, and returns the exit code.
func Report(stderr io.Writer, err error) int {
	code := Code(err)
	if err != nil && stderr != nil {
		text := Plain(err) + Remedy(err)
		// Joined errors come in lines; values of the user's were quoted where they were put in.
		text = "hilo: " + strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
		fmt.Fprintln(stderr, term.Wrap(text, term.Columns(stderr), len("hilo: ")))
	}
	return code
}

// Remedy is what to do about an error of the library, as the end of a sentence.
func Remedy(err error) string {
	for _, rule := range rules {
		if rule.remedy != "" && errors.Is(err, rule.err) {
			return "; " + rule.remedy
		}
	}
	return ""
}

// After is err with what had been given before it.
func After(err error, given int64) error {
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Code: Failed, Text: "interrupted after " + term.Plural(given, "id"), Cause: err}
	case err == nil || given == 0:
		return err
	}
	return &Error{Code: Code(err), Text: fmt.Sprintf("after %s: %s", term.Plural(given, "id"), Plain(err)), Cause: err}
}

// Written says which write failed: the operating system's word alone ("broken pipe") could be anything.
func Written(err error) error {
	if err != nil {
		return &Error{Code: Failed, Text: "the result could not be written: " + err.Error(), Cause: err}
	}
	return nil
}

// OfRedis is the error of a command that package allocator has not seen.
func OfRedis(err error) error { return fmt.Errorf("%w: %w", allocator.ErrUnavailable, err) }
