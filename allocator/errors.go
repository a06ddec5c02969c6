package allocator

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// The errors to test for with errors.Is. Each text names the thing, the value
// and the rule.
var (
	// ErrClosed: the allocator was closed.
	ErrClosed = errors.New("allocator is closed")
	// ErrUnavailable: the server could not be reached or would not serve, or
	// the caller's time ended before it did.
	ErrUnavailable = errors.New("server unavailable")
	// ErrInvalidOptions: an option or argument is out of range.
	ErrInvalidOptions = errors.New("invalid options")
	// ErrInvalidName: a collection, namespace, separator, prefix or tag breaks
	// a rule of package prefix.
	ErrInvalidName = prefix.ErrInvalid
	// ErrExhausted: the counter stands at Options.Limit.
	ErrExhausted = scripts.ErrExhausted
	// ErrNotSeeded: the counter is missing and Options.RequireSeeded is set, or
	// an operator asked for one that does not exist.
	ErrNotSeeded = scripts.ErrNotSeeded
	// ErrMixed: the name is in use as an identity, on a server without prefix
	// and tag, where both would give the same texts.
	ErrMixed = scripts.ErrMixed
	// ErrCorrupt: stored state is not what hilo writes: a value that is not a
	// canonical decimal, an unusable prefix, a key of another type.
	ErrCorrupt = scripts.ErrCorrupt
)

// attemptError puts an error from the server into its class: a script's answer
// is passed on, anything else means that the server did not serve.
func attemptError(what string, err error) error {
	if scripts.Answered(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w: %v", what, ErrUnavailable, err) //nolint:errorlint // not the caller's ctx: not to be taken for it
	}
	return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
}

// ended is the error of a caller whose ctx is done; cause is why there was
// nothing for it until then, nil: the server had not answered yet.
func ended(ctx context.Context, what string, cause error) error {
	if cause == nil {
		cause = fmt.Errorf("%s: %w: no answer in the caller's time", what, ErrUnavailable)
	}
	return fmt.Errorf("%w: %w", cause, ctx.Err())
}
