package allocator

import (
	"context"
	"fmt"
	"strings"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
)

// identityMark ends a text that requests an identity. It is never a separator.
const identityMark = "|"

// NextIdentity issues the next value of an identity, 1 to [Options.Limit]. It is the number of companies/1, which never has a
// prefix or tag. A trailing "|" of the name is optional. Values are in the order of the calls and leave no gaps, unless a
// reply is lost, a caller gives up, or the counter jumps. Where a collection of this name issued numbers without prefix and
// tag, the identity is refused.
//
// A call is a round trip. Callers of one name that wait at the same time share it. If ctx ends, other callers are
// unaffected, and a value already requested for this caller becomes a gap.
//
// Identities of all names come from one server, their home. That is the server that reports it (prefix.Server.Identities),
// wherever it stands in the order, or the only server if it has neither prefix, tag nor interval. While the home is down there are
// none.
//
// NextIdentity returns ErrInvalidName, ErrUnavailable, ErrIdentitiesElsewhere, ErrPrefixConflict if two servers report that
// they are the home, ErrPrefixMissing, ErrExhausted, ErrNotSeeded, ErrNotDurable, ErrMixed, ErrUnguarded, ErrCorrupt and
// ErrClosed.
func (a *Allocator) NextIdentity(ctx context.Context, name string) (int64, error) {
	r, err := a.NextIdentities(ctx, name, 1)
	return r.Low, err
}

// NextIdentities issues n consecutive values, 1 to 2^40. It returns the errors of NextIdentity, and ErrInvalidOptions for
// another n.
func (a *Allocator) NextIdentities(ctx context.Context, name string, n int64) (Range, error) {
	name, err := a.identityName(name)
	if err != nil {
		return Range{}, err
	}
	if n < 1 || n > maxRange {
		return Range{}, fmt.Errorf("allocator: %s: %w: %d identities: must be 1 to %d", name, ErrInvalidOptions, n, int64(maxRange))
	}
	var low int64
	err = a.fleet.AtHome(ctx, name, func(s *fleet.Server) error {
		got := s.Take(ctx, fleet.Request{Kind: fleet.Identity, Name: name, Count: n, Limit: a.opts.Limit})
		low = got.Low
		return got.Err
	})
	if err != nil {
		return Range{}, fmt.Errorf("allocator: %w", err)
	}
	return Range{Low: low, High: low + n - 1}, nil
}

// identityName returns the name of the identity that id requests.
func (a *Allocator) identityName(id string) (string, error) {
	name := strings.TrimSuffix(id, identityMark)
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return "", fmt.Errorf("allocator: identity requested by %.64q: %w", id, err)
	}
	return name, a.open(name)
}

// open returns ErrClosed after Close.
func (a *Allocator) open(what string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return fmt.Errorf("allocator: %s: %w", what, ErrClosed)
	}
	return nil
}
