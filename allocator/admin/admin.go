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
	client    client
	keys      prefix.Keys
	separator string
	// server is the key of the server's prefix, for scripts.
	server string
	// filter is the glob of the names that Counters and Identities return.
	filter string
	// trusting reports that TrustSettings made this Admin, and alone that WithoutReplicas did.
	trusting, alone bool
	// timeout bounds each wait for replicas and for the disk.
	timeout time.Duration
	// requestID is that of WithRequestID, or "".
	requestID string
}

// client is a redis.UniversalClient. A package whose types reach that type, or *redis.Client, compiles hundreds of methods of
// go-redis again, and so would each package that uses an Admin.
type client interface {
	redis.Cmdable
	Process(ctx context.Context, cmd redis.Cmder) error
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
		client: client, keys: keys, separator: opts.Separator, server: keys.Server(), filter: "*", timeout: defaultTimeout,
	}, nil
}

// WithFilter returns an Admin whose Counters and Identities return only names that match glob, in any letter case. A glob is
// as in Redis, with "*", "?" and "[a-z]".
func (m *Admin) WithFilter(glob string) *Admin {
	return m.with(func(other *Admin) { other.filter = prefix.Fold(glob) })
}

// with returns a copy of m with a change.
func (m *Admin) with(change func(other *Admin)) *Admin {
	other := *m
	change(&other)
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
