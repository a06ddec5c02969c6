// Package failure has the errors that the packages of the allocator share, and the rules that sort errors into classes.
// Package allocator exports the sentinels under the same names. It imports scripts only.
package failure

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hilo-id/hilo/scripts"
)

// The sentinels that neither package prefix nor package scripts has. Package allocator documents them.
var (
	ErrClosed         = errors.New("allocator is closed")
	ErrUnavailable    = errors.New("server unavailable")
	ErrInvalidOptions = errors.New("invalid options")
	ErrPrefixed       = errors.New("number without its prefix")
	ErrPrefixConflict = errors.New("server prefix conflict")
)

// ErrOneNode means that a client of a single server was used with a cluster, another node of which has the key.
var ErrOneNode = errors.New("the client is that of one node of a cluster, and another node has the key: use redis.NewClusterClient")

// ErrClientClosed means that the client was closed before the allocator that uses it.
var ErrClientClosed = errors.New("the client is closed: close its allocator before it")

// Refused reports whether err is about the request or the settings, so that neither another server nor a later attempt
// can help.
func Refused(err error) bool {
	if errors.Is(err, scripts.ErrReply) || Demoted(err) {
		return false
	}
	return scripts.Answered(err) || Conflict(err)
}

// Conflict reports whether err is about the prefix or tag of a server, without which its identifiers could equal those
// of another server.
func Conflict(err error) bool {
	return errors.Is(err, scripts.ErrPrefixMissing) || errors.Is(err, ErrPrefixConflict)
}

// Passing reports whether another server may succeed after err, because this one did not serve, and the caller, if there is
// one, still waits.
func Passing(err error) bool {
	return !Refused(err) && !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// demotedError is a conflict that is treated as an outage of its server, so that other servers are asked.
type demotedError struct{ error }

func (d demotedError) Unwrap() error { return d.error }

// Demote turns the conflict of one server into an outage of that server.
func Demote(err error) error { return demotedError{err} }

// Demoted reports whether err was made by Demote.
func Demoted(err error) bool { return errors.As(err, new(demotedError)) }

// Attempt adds what was attempted to the error of an attempt, and ErrUnavailable unless the server refused the request
// or did not confirm it, or the client is the wrong one.
func Attempt(what string, err error) error {
	switch {
	case Refused(err) || Demoted(err) || errors.Is(err, scripts.ErrNotDurable) || errors.Is(err, ErrUnavailable) ||
		errors.Is(err, ErrOneNode) || errors.Is(err, ErrClientClosed):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		err = timeoutError{err}
	}
	return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
}

// timeoutError is the error of an attempt's own ctx. It matches neither context.Canceled nor context.DeadlineExceeded,
// which stand for the caller's ctx, and its text has neither of theirs.
type timeoutError struct{ error }

func (t timeoutError) Error() string {
	return strings.NewReplacer("context deadline exceeded", "timed out", "context canceled", "canceled").Replace(t.error.Error())
}

// Timeout reports whether the attempt ran out of time, as the errors of package net do.
func (t timeoutError) Timeout() bool { return errors.Is(t.error, context.DeadlineExceeded) }

// Ended returns the error of a caller whose ctx is done. cause is why there was no result until then, or nil if no
// server had answered yet.
func Ended(ctx context.Context, what string, cause error) error {
	if cause == nil {
		cause = fmt.Errorf("%s: %w: no answer before the end of ctx", what, ErrUnavailable)
	}
	return fmt.Errorf("%w: %w", cause, ctx.Err())
}
