// Package admin is for operators and their tools. It reads and seeds the counters and identities that allocators use, and
// sets the prefix of a server. No allocator uses it.
//
//	operator, err := admin.New(client, admin.Options{})
//	…
//	now, err := operator.Seed(ctx, "orders", 4000, false)
//
// Its errors match the sentinels of package allocator with errors.Is.
package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Admin works on one namespace of one server. It is safe for concurrent use, also beside running allocators.
type Admin struct {
	client    redis.UniversalClient
	keys      prefix.Keys
	separator string
	// server is the key of the server's prefix, for scripts.
	server string
	mode   Mode
}

// Mode is how an Admin works. The zero value of a field changes nothing.
type Mode struct {
	// Filter is a glob as in Redis, with "*", "?" and "[a-z]". Counters and Identities return only names that match it, in any letter
	// case.
	Filter string
	// Timeout is how long to wait for replicas to acknowledge a write, at most half the client's read timeout, and, beside the 1.3 s that
	// this takes, for the disk of a durable server. The default is 1 s.
	Timeout time.Duration
	// NoReplicas states that a server without INFO, such as one behind a proxy, has no replicas, so that there is nothing to wait for
	// after a write. Where INFO shows replicas it has no effect.
	NoReplicas bool
	// Trust sets Durable even if settings of the server could not be read, and intervals of few numbers. Settings that can be read have
	// to agree all the same.
	Trust bool
	// RequestID makes forced seeds take effect once for it, whichever process sends the same seed again. If numbers were issued in
	// between, that is ErrChanged. It stands at the counter until the next one.
	RequestID string
}

// Options are the settings of an Admin. "" means the default of an allocator, the namespace "Raven" or the separator "/".
type Options struct{ Namespace, Separator string }

// defaultTimeout is enough for replicas that are connected, which acknowledge in milliseconds.
const defaultTimeout = time.Second

// New returns an Admin for one namespace, or allocator.ErrInvalidOptions. It does no I/O and does not close the client.
func New(client redis.UniversalClient, opts Options) (*Admin, error) {
	if err := scripts.CheckClient(client); err != nil {
		return nil, fmt.Errorf("admin: %w: %w", failure.ErrInvalidOptions, err)
	}
	opts.Namespace = cmp.Or(opts.Namespace, prefix.DefaultNamespace)
	opts.Separator = cmp.Or(opts.Separator, prefix.DefaultSeparator)
	if err := prefix.ValidateNamespace(opts.Namespace); err != nil {
		return nil, fmt.Errorf("admin: %w: Namespace: %w", failure.ErrInvalidOptions, err)
	}
	if err := prefix.ValidateSeparator(opts.Separator); err != nil {
		return nil, fmt.Errorf("admin: %w: Separator: %w", failure.ErrInvalidOptions, err)
	}
	keys := prefix.NewKeys(opts.Namespace)
	return &Admin{
		client: client, keys: keys, separator: opts.Separator, server: keys.Server(), mode: Mode{Filter: "*", Timeout: defaultTimeout},
	}, nil
}

// With returns an Admin that works in a mode.
func (m *Admin) With(mode Mode) *Admin {
	other := *m
	other.mode = Mode{
		Filter:     cmp.Or(prefix.Fold(mode.Filter), m.mode.Filter),
		Timeout:    cmp.Or(mode.Timeout, m.mode.Timeout),
		NoReplicas: mode.NoReplicas || m.mode.NoReplicas,
		Trust:      mode.Trust || m.mode.Trust,
		RequestID:  cmp.Or(mode.RequestID, m.mode.RequestID),
	}
	return &other
}

func (m *Admin) validName(name string) error {
	if err := prefix.ValidateCollection(name, m.separator); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

// attemptError returns the error of an attempt with the caller's own ctx. To read a hash, what is its key.
func attemptError(ctx context.Context, what string, err error) error {
	switch {
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return fmt.Errorf("admin: %w: key %s is not a hash", scripts.ErrCorrupt, what)
	case errors.Is(err, failure.ErrInvalidOptions):
		return fmt.Errorf("admin: %w", err)
	}
	err = failure.Attempt(what, err)
	if ctx.Err() != nil {
		err = failure.Ended(ctx, what, err)
	}
	return fmt.Errorf("admin: %w", err)
}
