package allocator

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
)

const (
	fieldPrefix = "ServerPrefix"
	fieldTag    = "NodeTag"
	fieldHome   = "Identities" // "here" or absent
	homeHere    = "here"
)

// ServerPrefix gives what the server says of itself: what it adds to each identifier, and whether it is the home of
// identities; zero where it says nothing. Errors: ErrCorrupt, with what stands there, ErrUnavailable.
func (m *Admin) ServerPrefix(ctx context.Context) (prefix.Server, error) {
	key := m.keys.Server()
	values, err := m.client.HMGet(ctx, key, fieldPrefix, fieldTag, fieldHome).Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return prefix.Server{}, fmt.Errorf("allocator: %w: key %s is not a hash", ErrCorrupt, key)
	}
	if err != nil {
		return prefix.Server{}, adminError(ctx, key, err)
	}
	s := prefix.Server{Identities: values[2] != nil}
	s.ServerPrefix, _ = values[0].(string)
	s.NodeTag, _ = values[1].(string)
	if home, there := values[2].(string); there && home != homeHere {
		return s, fmt.Errorf("allocator: %w: key %s field %s holds %q: must be %s, or absent", ErrCorrupt, key, fieldHome, home, homeHere)
	}
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("allocator: %w: key %s: %w", ErrCorrupt, key, err)
	}
	return s, nil
}

// SetServerPrefix sets all that the server says of itself at once; an empty part is removed. Ranges already handed out
// keep what they were given with. Where the server had neither prefix nor tag, what its counters gave so far is noted
// in them as given bare, so that no identity gives the same text later. Errors: ErrInvalidName, ErrCorrupt,
// ErrUnavailable.
func (m *Admin) SetServerPrefix(ctx context.Context, s prefix.Server) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("allocator: %w", err)
	}
	if !s.IsZero() && !m.filling {
		if err := m.noteBare(ctx); err != nil {
			return err
		}
	}
	home := ""
	if s.Identities {
		home = homeHere
	}
	key := m.keys.Server()
	cmds, err := m.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for field, value := range map[string]string{fieldPrefix: s.ServerPrefix, fieldTag: s.NodeTag, fieldHome: home} {
			if value == "" {
				p.HDel(ctx, key, field)
			} else {
				p.HSet(ctx, key, field, value)
			}
		}
		return nil
	})
	for _, cmd := range cmds {
		if redis.HasErrorPrefix(err, "EXECABORT") { // one of the commands was refused, and says why
			err = cmd.Err()
		}
	}
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("allocator: %w: key %s is not a hash", ErrCorrupt, key)
	}
	if err != nil {
		return adminError(ctx, key, err)
	}
	return nil
}

// ForPrefix is m for a server that is to have s as soon as an import has filled it. What Import raises then was given
// elsewhere, and is not taken for given bare by this server; what this server gave bare is noted now. SetServerPrefix
// comes last: until then nobody who requires a prefix begins at 1 with a counter that is still to come. Errors: as
// SetServerPrefix.
func (m *Admin) ForPrefix(ctx context.Context, s prefix.Server) (*Admin, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	other := *m
	other.filling = !s.IsZero()
	if other.filling {
		if err := m.noteBare(ctx); err != nil {
			return nil, err
		}
	}
	return &other, nil
}

// noteBare has every counter know how far it was given without prefix and tag. A range notes that itself; this is for
// counters of an earlier version, and those that were set by hand.
func (m *Admin) noteBare(ctx context.Context) error {
	bare := m.WithFilter("*")
	now, err := m.ServerPrefix(ctx)
	if errors.Is(err, ErrCorrupt) && now != (prefix.Server{}) { // it is a hash
		if now.Validate() != nil { // nothing is given while it is so; what was given before may be bare
			now, bare.server = prefix.Server{}, m.server+"?" // there is none
		}
		err = nil
	}
	if err != nil || !now.IsZero() {
		return err
	}
	var states []State
	for counter, err := range bare.Counters(ctx) {
		if err != nil {
			return err
		}
		states = append(states, State{Kind: KindHiLo, Counter: Counter{Name: counter.Name}}) // an import that raises nothing notes it
	}
	for _, result := range bare.Import(ctx, states) {
		if result.Err != nil && !errors.Is(result.Err, ErrMixed) { // a name that is both gives nothing
			return result.Err
		}
	}
	return nil
}
