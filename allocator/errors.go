package allocator

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// The errors to test for with errors.Is. Each text names the thing, the value and the rule.
var (
	// ErrClosed: the allocator was closed.
	ErrClosed = errors.New("allocator is closed")
	// ErrUnavailable: the server could not be reached or would not serve, or the caller's time ended before it did.
	ErrUnavailable = errors.New("server unavailable")
	// ErrInvalidOptions: an option or argument is out of range.
	ErrInvalidOptions = errors.New("invalid options")
	// ErrInvalidName: a collection, namespace, separator, prefix or tag breaks a rule of package prefix.
	ErrInvalidName = prefix.ErrInvalid
	// ErrExhausted: the counter stands at Options.Limit, or so near that a jump on evidence of lost writes has no room;
	// the text says which.
	ErrExhausted = scripts.ErrExhausted
	// ErrNotSeeded: the counter is missing and Options.RequireSeeded is set, or an operator asked for one that does not
	// exist.
	ErrNotSeeded = scripts.ErrNotSeeded
	// ErrMixed: the name is in use as an identity, on a server without prefix and tag, where both would give the same
	// texts.
	ErrMixed = scripts.ErrMixed
	// ErrIdentitiesElsewhere: identities come from one server, their home, and this is another one, or no server says
	// that it is the home.
	ErrIdentitiesElsewhere = scripts.ErrElsewhere
	// ErrUnguarded: the client may not ask INFO, and the counter has an Origin to compare with: it would walk past the
	// guard that others rely on.
	ErrUnguarded = scripts.ErrUnguarded
	// ErrNotDurable: a range was not confirmed as Options.Durability asks; it is discarded.
	ErrNotDurable = scripts.ErrNotDurable
	// ErrChanged: a forced seed found that numbers were given since it looked, and may have acted before that. Look
	// what stands, and seed again if need be.
	ErrChanged = scripts.ErrChanged
	// ErrPrefixed: a number alone was asked for and there are several servers, each of which counts from 1.
	ErrPrefixed = errors.New("number without its prefix")
	// ErrPrefixMissing: a server has neither prefix nor tag, and is one of several, or Options.RequirePrefix is set.
	ErrPrefixMissing = scripts.ErrPrefixMissing
	// ErrPrefixConflict: two servers have the same prefix and tag, in any letter case, or are one, or are both the home
	// of identities; or a server has another prefix than it should.
	ErrPrefixConflict = errors.New("server prefix conflict")
	// ErrCorrupt: stored state is not what hilo writes: a value that is not a canonical decimal, an unusable prefix, a
	// key of another type.
	ErrCorrupt = scripts.ErrCorrupt
)

// ServerError is what went wrong on one of several servers. An error of an allocator may hold one of each server,
// joined.
type ServerError struct {
	// Server is the Name of the Server.
	Server string
	err    error
}

func (e *ServerError) Error() string { return e.err.Error() }
func (e *ServerError) Unwrap() error { return e.err }

// failed is attemptError that knows the server.
func (s *server) failed(what string, err error) error {
	err = attemptError(s.on(what), err)
	if s.name == "" {
		return err
	}
	return &ServerError{Server: s.name, err: err}
}

// refused reports whether err is about the request or the settings, so that another server, or the same one later,
// would not be of help.
func refused(err error) bool {
	if errors.Is(err, scripts.ErrReply) || isLeftFor(err) {
		return false
	}
	return scripts.Answered(err) || clashes(err)
}

// anotherMayHelp reports whether another server is worth asking after err: this one did not serve, and the caller, if
// there is one, still waits.
func anotherMayHelp(err error) bool {
	return !refused(err) && !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// clashes reports whether err is about what a server adds to identifiers, so that they could be another one's.
func clashes(err error) bool {
	return errors.Is(err, ErrPrefixMissing) || errors.Is(err, ErrPrefixConflict)
}

// left is the error of a server that clashes and did not from the start: as good as away, so that others are asked.
type left struct{ error }

func (l left) Unwrap() error { return l.error }

func isLeftFor(err error) bool { return errors.As(err, new(left)) }

// attemptError puts an error from a server into its class: anything but a refusal or a missing confirmation means that
// it did not serve.
func attemptError(what string, err error) error {
	switch {
	case errors.Is(err, scripts.ErrReply):
		return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
	case refused(err) || isLeftFor(err) || errors.Is(err, ErrNotDurable) || errors.Is(err, ErrUnavailable):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, ownTimeError{err})
	default:
		return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
	}
}

// ownTimeError is the error of a ctx that is not the caller's, and is not to be taken for it. It tells, as errors of net do,
// whether time ran out.
type ownTimeError struct{ error }

func (t ownTimeError) Timeout() bool { return errors.Is(t.error, context.DeadlineExceeded) }

// adminError is attemptError where the attempt runs in the caller's own ctx.
func adminError(ctx context.Context, what string, err error) error {
	err = attemptError(what, err)
	if ctx.Err() != nil {
		err = ended(ctx, what, err)
	}
	return fmt.Errorf("allocator: %w", err)
}

// ended is the error of a caller whose ctx is done; cause is why there was nothing for it until then, nil: the server
// had not answered yet.
func ended(ctx context.Context, what string, cause error) error {
	if cause == nil {
		cause = fmt.Errorf("%s: %w: no answer in the caller's time", what, ErrUnavailable)
	}
	return fmt.Errorf("%w: %w", cause, ctx.Err())
}
