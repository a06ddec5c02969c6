package allocator

import (
	"context"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// NextIdentity gives the next value of an identity, 1 to Options.Limit: the
// number of `companies/1`, which never has a prefix or tag. A trailing "|" of
// the name is optional. Each call is a round trip. Values are in the order of
// the calls and leave no gaps, unless a reply is lost or the guard jumps. With
// several servers they are those of the first one, and of no other.
// Errors: ErrInvalidName, ErrUnavailable, ErrExhausted, ErrNotSeeded, ErrMixed,
// ErrCorrupt, ErrClosed.
func (a *Allocator) NextIdentity(ctx context.Context, name string) (int64, error) {
	r, err := a.NextIdentities(ctx, name, 1)
	return r.Low, err
}

// NextIdentities gives n consecutive values, 1 to 2^40, in one round trip.
// Errors: as NextIdentity, and ErrInvalidOptions for another n.
func (a *Allocator) NextIdentities(ctx context.Context, name string, n int64) (Range, error) {
	i, err := a.identity(a.servers[0], name)
	if err != nil {
		return Range{}, err
	}
	if n < 1 || n > largestRange {
		return Range{}, fmt.Errorf("allocator: %s: %w: %d identities: must be 1 to %d", i.name, ErrInvalidOptions, n, int64(largestRange))
	}
	got, err := i.ask(ctx, scripts.IdentityRequest{Count: n, Limit: a.opts.Limit})
	if err != nil {
		return Range{}, fmt.Errorf("allocator: %w", err)
	}
	return Range{Low: got.Low, High: got.High}, nil
}

// identity is one counter of one server that is asked each time: an identity, or
// that of server-side identifiers.
type identity struct {
	a      *Allocator
	server *server
	name   string
	keys   scripts.Keys
	told   *told // shared by all spellings
}

// askedKey names what a server tells of an identity.
type askedKey struct {
	server *server
	key    string
}

func (a *Allocator) identity(s *server, name string) (*identity, error) {
	name = strings.TrimSuffix(name, "|")
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return nil, fmt.Errorf("allocator: identity: %w", err)
	}
	return a.asked(s, name, scripts.Keys{Counter: s.keys.Identity(name), Server: s.keys.Server(), Other: s.keys.HiLo(name)})
}

// asked is a counter with what is known of it.
func (a *Allocator) asked(s *server, name string, keys scripts.Keys) (*identity, error) {
	a.mu.Lock()
	closing := a.closing
	a.mu.Unlock()
	if closing {
		return nil, fmt.Errorf("allocator: %s: %w", name, ErrClosed)
	}
	known := askedKey{s, keys.Counter}
	t, ok := a.told.Load(known)
	if !ok {
		t, _ = a.told.LoadOrStore(known, new(told))
	}
	return &identity{a: a, server: s, name: name, keys: keys, told: t.(*told)}, nil
}

// asksAtOnce bounds the requests for identities that one allocator has under
// way, so that those beyond wait in their own time and not in an attempt's,
// for a connection.
const asksAtOnce = 16

// ask is an attempt for values, when it is its turn.
func (i *identity) ask(ctx context.Context, request scripts.IdentityRequest) (scripts.Range, error) {
	a := i.a
	select {
	case a.asks <- struct{}{}:
		defer func() { <-a.asks }()
	case <-ctx.Done():
		return scripts.Range{}, ended(ctx, i.name, nil)
	}
	return i.once(ctx, request)
}

func (i *identity) once(ctx context.Context, request scripts.IdentityRequest) (scripts.Range, error) {
	a := i.a
	request.Name = i.name
	request.GuardGap = a.opts.GuardGap
	request.RequireSeeded = a.opts.RequireSeeded
	request.Floor, request.Lowered, request.LeastGap = i.server.recall(&i.told.taught, a.now())

	attempt, cancel := context.WithTimeout(ctx, a.opts.attemptTimeout())
	defer cancel()
	began := a.now()
	got, err := i.server.backend.identity(attempt, i.keys, request)
	now := a.now()
	i.server.count(&i.server.identities, now-began, err)
	if err == nil || ctx.Err() == nil { // a caller who leaves says nothing about the server
		i.server.reportAsked(now, err)
	}
	if err != nil {
		err = i.server.failed(i.name, err)
		if ctx.Err() != nil {
			err = ended(ctx, i.name, err)
		}
		return scripts.Range{}, err
	}
	if got.Evidence != "" {
		i.server.jumped(i.keys.Counter, got)
	}
	if got.Low > 0 && !i.server.rememberIdentity(i.told, a.now(), request, got) {
		return i.once(ctx, request) // with the floor that is known now
	}
	return got, nil
}

// logJump says that a counter was moved because writes may have been lost.
func logJump(logger *zap.Logger, counter string, got scripts.Range) {
	log := logger.With(
		zap.String("key", counter),
		zap.String("evidence", string(got.Evidence)),
		zap.Int64("jump", got.Jump),
		zap.Int64("low", got.Low),
		zap.Int64("epoch", got.Epoch))
	if got.Evidence == scripts.EvidenceMissing {
		log.Error("the counter is gone: going on above what this client was given")
		return
	}
	log.Warn("the server may have lost writes: the counter jumped ahead")
}
