package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// The exit codes of hilo; anything else is a crash.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // a mistake in the command line, found before anything was done
	exitUnavailable = 3 // Redis away, loading, or the login refused
	exitRefused     = 4 // exhausted, or refused by a rule
	exitFault       = 5 // a check found a fault
)

// failure is an error whose text is the whole sentence for the user and whose exit code is known.
type failure struct {
	code  int
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

func usagef(format string, values ...any) error {
	return &failure{code: exitUsage, text: fmt.Sprintf(format, values...)}
}

// refusedf is an error of what a rule forbids.
func refusedf(format string, values ...any) error {
	return &failure{code: exitRefused, text: fmt.Sprintf(format, values...)}
}

// invalid is a usage error made of a refusal by package prefix, which says what is wrong, and of what to do.
func invalid(err error, remedy string) error {
	return &failure{code: exitUsage, text: plain(err) + "; " + remedy, cause: err}
}

// plain is the text of err without the package and the sentinel that it may begin with: the exit code says as much.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "allocator: ")
	for _, sentinel := range []error{
		allocator.ErrUnavailable, allocator.ErrExhausted, allocator.ErrNotSeeded, allocator.ErrMixed, allocator.ErrNotDurable,
		allocator.ErrInvalidName, allocator.ErrInvalidOptions, allocator.ErrCorrupt, prefix.ErrInvalid,
	} {
		if errors.Is(err, sentinel) {
			text = strings.TrimPrefix(text, sentinel.Error()+": ")
		}
	}
	return text
}

// exitCode is the one place that knows which error ends in which code.
func exitCode(err error) int {
	var known *failure
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &known):
		return known.code
	case errors.Is(err, context.Canceled): // by a signal; the server that had not answered yet is not to blame
		return exitFailed
	case errors.Is(err, allocator.ErrCorrupt): // also where it is a name that is invalid
		return exitFailed
	case errors.Is(err, allocator.ErrInvalidName),
		errors.Is(err, allocator.ErrInvalidOptions),
		errors.Is(err, prefix.ErrInvalid):
		return exitUsage
	case errors.Is(err, allocator.ErrExhausted),
		errors.Is(err, allocator.ErrNotSeeded),
		errors.Is(err, allocator.ErrNotDurable),
		errors.Is(err, allocator.ErrPrefixConflict),
		errors.Is(err, allocator.ErrPrefixMissing),
		errors.Is(err, allocator.ErrMixed):
		return exitRefused
	case errors.Is(err, allocator.ErrUnavailable):
		return exitUnavailable
	}
	return exitFailed
}

// report says in one sentence what went wrong, if anything, and returns the exit code.
func report(stderr io.Writer, err error) int {
	code := exitCode(err)
	if err != nil && stderr != nil {
		text := plain(err)
		if known := (*failure)(nil); errors.Is(err, context.Canceled) && !errors.As(err, &known) {
			text = "interrupted"
		}
		text += remedy(err)
		// Joined errors come in lines; values of the user's were quoted where they were put in.
		text = "hilo: " + strings.Join(strings.FieldsFunc(text, isLineBreak), "; ")
		fmt.Fprintln(stderr, wrapText(text, columns(stderr), len("hilo: ")))
	}
	return code
}

// remedy is what to do about an error that package allocator words, where it is not plain.
func remedy(err error) string {
	switch {
	case errors.Is(err, allocator.ErrExhausted):
		return "; go on with another name"
	case errors.Is(err, allocator.ErrMixed):
		return "; name it otherwise, or give the server a prefix with hilo prefix set"
	case errors.Is(err, allocator.ErrNotSeeded):
		return "; seed it with hilo seed, or hilo identity seed"
	case errors.Is(err, allocator.ErrNotDurable):
		return "; what was not confirmed is a gap: see to the server with hilo doctor, or ask for less with --replicas and --fsync"
	case errors.Is(err, allocator.ErrPrefixMissing):
		return "; give each server one of its own with hilo prefix set"
	case errors.Is(err, allocator.ErrPrefixConflict):
		return "; compare the servers with hilo prefix check"
	case errors.Is(err, allocator.ErrCorrupt):
		return "; put it right with redis-cli, nothing was changed"
	}
	return ""
}

func isLineBreak(r rune) bool { return r == '\n' || r == '\r' }

// onUsageError words what the flag package found in a command line that arrange did not see.
func onUsageError(c *cli.Context, err error, _ bool) error {
	text := strings.TrimPrefix(err.Error(), "flag provided but not defined: ")
	if text != err.Error() {
		text = "there is no flag " + text
	}
	return usagef("%s; see %s --help", text, c.Command.HelpName)
}
