// Package exit has the exit codes, the error with an exit code, and the sentences that errors are printed as. It may import
// term and the library.
//
// Errors are worded here and in package target, by these functions:
//
//	exit.Report       prints Sentence, and returns Code
//	exit.Sentence     Plain, with the remedy for an error of the library
//	exit.Plain        the text of an error without the names that its exit code implies
//	exit.Usagef, Refusedf, Invalid, Written, After, OfRedis
//	                  make errors with a code; After adds what was printed before
//	target.Explain    an error of an allocator: Sentence of the one server, or Blame of several
//	target.Sentence   Diagnose, in one sentence
//	target.Blame      Diagnose of each server that failed
//	target.Diagnose   the reason why a server does not serve, and a remedy; Cause if it did not answer
//	target.Cause      the innermost reason
//	target.Brief      a short Cause, for tables and lines of progress
package exit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// The exit codes of hilo. Any other code is a crash.
const (
	Done        = 0
	Failed      = 1
	Usage       = 2 // a mistake in the command line, found before anything was done
	Unavailable = 3 // Redis is down or loading, or refuses the login
	Refused     = 4 // exhausted, or refused by a rule
	Fault       = 5 // a check found a fault
)

// Error is an error with an exit code. Its text is the whole sentence for the user.
type Error struct {
	Code  int
	Text  string
	Cause error
}

func (f *Error) Error() string { return f.Text }
func (f *Error) Unwrap() error { return f.Cause }

// Usagef returns an error about the command line.
func Usagef(format string, values ...any) error {
	return &Error{Code: Usage, Text: fmt.Sprintf(format, values...)}
}

// Refusedf returns an error about a rule that was broken.
func Refusedf(format string, values ...any) error {
	return &Error{Code: Refused, Text: fmt.Sprintf(format, values...)}
}

// Invalid returns a usage error made of an error of package prefix and a remedy. It returns nil if err is nil.
func Invalid(err error, remedy string) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Usage, Text: Plain(err) + "; " + remedy, Cause: err}
}

// rules has the errors of the library, with their exit codes, and with remedies where the text of the error has none. The first
// that an error matches counts, because an error may be both ErrCorrupt and ErrInvalid.
var rules = []struct {
	err    error
	code   int
	remedy string
	// replaces is the end of some texts of the library, which the remedy repeats.
	replaces string
	// named keeps the name of the error in Plain, because the exit code does not imply it.
	named bool
}{
	{err: admin.ErrNotConfirmed, code: Failed, remedy: "check the replicas with hilo doctor, and run the command again, which does no harm", named: true},
	{err: admin.ErrNotDurableServer, code: Refused, named: true},
	{err: admin.ErrSettingsUnknown, code: Refused, remedy: "permit +config|get and +info, or check them yourself and add --yes", named: true},
	{err: admin.ErrInterval, code: Refused, named: true},
	{err: admin.ErrNeedsTrust, code: Refused, remedy: "add --yes if that is as it should be", named: true},
	{err: admin.ErrReplica, code: Refused, named: true},
	{err: allocator.ErrCorrupt, code: Failed, remedy: "correct it with redis-cli; nothing was changed"},
	{err: allocator.ErrInvalidOptions, code: Usage},
	{err: prefix.ErrInvalid, code: Usage},
	{err: allocator.ErrExhausted, code: Refused, remedy: "raise --max-value of the server, if that is the limit, or continue with another name"},
	{err: allocator.ErrMixed, code: Refused, remedy: "choose another name"},
	{err: admin.ErrInitialized, code: Refused, named: true}, // its text has the remedy
	{err: allocator.ErrNotSeeded, code: Refused},            // its text has the ways out
	{err: allocator.ErrNotDurable, code: Refused, remedy: "check the server with hilo doctor"},
	{err: allocator.ErrPrefixMissing, code: Refused, named: true}, // its text has the remedy
	{err: allocator.ErrPrefixConflict, code: Refused, remedy: "compare the servers with hilo settings check, and hilo doctor", named: true},
	{err: allocator.ErrIdentitiesElsewhere, code: Refused, remedy: "use the one that is their home, or make one the home with hilo settings set --identities"},
	{err: allocator.ErrUnguarded, code: Refused}, // its text has the remedy
	{err: admin.ErrChanged, code: Refused, remedy: "see what stands now with hilo inspect, hilo identity list or hilo settings get, and repeat it if need be"},
	{err: allocator.ErrUnavailable, code: Unavailable},
}

// Plain returns the text of err without the package and the sentinel that it may begin with, because the exit code implies
// them. An error of a canceled context is "interrupted", unless it is an Error.
func Plain(err error) string {
	if _, known := errors.AsType[*Error](err); errors.Is(err, context.Canceled) && !known {
		return "interrupted"
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "allocator: "), "admin: ")
	for _, rule := range rules {
		if !rule.named && errors.Is(err, rule.err) {
			text = strings.TrimPrefix(text, rule.err.Error()+": ")
		}
	}
	return text
}

// Code returns the exit code of an error. Nothing else maps errors to codes.
func Code(err error) int {
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Code
	}
	switch {
	case err == nil:
		return Done
	case errors.Is(err, context.Canceled): // by a signal
		return Failed
	}
	for _, rule := range rules {
		if errors.Is(err, rule.err) {
			return rule.code
		}
	}
	return Failed
}

// Report prints an error as one sentence, if there is one, and returns the exit code.
func Report(stderr io.Writer, style term.Style, err error) int {
	code := Code(err)
	if err != nil && stderr != nil {
		text := Sentence(err)
		// Joined errors are separated by newlines. Values of users were quoted before.
		text = style.Red("hilo:") + " " + strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
		fmt.Fprintln(stderr, term.Wrap(text, term.Columns(stderr), len("hilo: ")))
	}
	return code
}

// Sentence returns the text of err and, for an error of the library, its remedy.
func Sentence(err error) string {
	for _, rule := range rules {
		if rule.remedy != "" && errors.Is(err, rule.err) {
			return strings.ReplaceAll(Plain(err), rule.replaces, "") + "; " + rule.remedy
		}
	}
	return Plain(err)
}

// After returns err with the number of ids that were issued before it.
func After(err error, issued int64) error {
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Code: Failed, Text: "interrupted after " + term.Plural(issued, "id"), Cause: err}
	case err == nil || issued == 0:
		return err
	}
	return &Error{Code: Code(err), Text: fmt.Sprintf("after %s: %s", term.Plural(issued, "id"), Plain(err)), Cause: err}
}

// Written returns the error of a failed write of the result, or nil. The text of the operating system ("broken pipe") would not
// say what failed.
func Written(err error) error {
	if err != nil {
		return &Error{Code: Failed, Text: "the result could not be written: " + err.Error(), Cause: err}
	}
	return nil
}

// OfRedis returns an error of go-redis as allocator.ErrUnavailable.
func OfRedis(err error) error { return fmt.Errorf("%w: %w", allocator.ErrUnavailable, err) }
