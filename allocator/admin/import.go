package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/pipeline"
)

// raised returns the value to which Import raises the counter.
func (s *State) raised() int64 { return s.Max + min(s.Margin, math.MaxInt64-s.Max) }

// epoch returns the epoch of which Import makes the counter's at least. A margin counts as a jump.
func (s *State) epoch() int64 {
	if s.Margin > 0 && s.Epoch > 0 {
		return s.Epoch + 1
	}
	return s.Epoch
}

// Imported is the outcome of importing a State, or of checking it. Existed reports that there was a counter before. Before
// and Now are its Max before and afterwards.
type Imported struct {
	Existed     bool
	Before, Now int64
	Err         error
}

// Import raises many counters in few round trips, 100,000 in some seconds, and adds those that are missing. It never
// lowers one. Max, Ranges, Epoch, Raised, Block and RaisedAt each become the greater of the stored value and the State's, and Bare
// is set where either is. Lowered becomes the State's, also where it is smaller, if Written is known: workers that follow
// to this server compare it with what they saw. Origin is not copied, because another server's would be evidence of lost writes.
// If there is none, this server's own is written, so that a loss right after the import shows. Like a seed, an import keeps ranges
// that are in use from being returned. The server needs settings.
//
// The outcomes are in the order of states, and their errors are those of Seed. If the server goes down, all further outcomes
// have the same error. If the writes are not confirmed, every outcome has ErrNotConfirmed. The states are written then, and
// a failover or a crash can lose them. To repeat an import does no harm.
func (m *Admin) Import(ctx context.Context, states []State) []Imported {
	results := make([]Imported, len(states))
	settings, err := m.ServerPrefix(ctx)
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	_, highest := settings.Interval()
	var requests []scripts.ImportRequest
	var places []int
	for i := range states {
		state := &states[i]
		if results[i].Err = m.validState(state); results[i].Err != nil {
			continue
		}
		s := m.storage(state.Kind)
		value := state.raised()
		if state.Max <= highest {
			value = min(value, highest)
		}
		requests = append(requests, scripts.ImportRequest{
			Keys: s.keys(state.Name), Field: s.field, Name: state.Name, Value: value, Epoch: state.epoch(), Ranges: state.Ranges,
			Raised: state.Raised, Block: state.Block, RaisedAt: state.RaisedAt, Lowered: state.Lowered, Written: state.Written, Bare: state.Bare,
		})
		places = append(places, i)
	}
	var permits []scripts.PermitRequest
	err = m.confirmed(ctx, m.keys.Server(), settings.Durable, func() []scripts.PermitRequest { return permits }, func(client redis.Scripter) error {
		var last *scripts.ImportRequest
		for i, got := range scripts.ImportAll(ctx, m.client, requests) {
			result := &results[places[i]]
			*result = Imported{Existed: got.Existed, Before: got.Stood, Now: got.Stands}
			if got.Err != nil {
				result.Err = attemptError(ctx, requests[i].Name, got.Err)
				continue
			}
			last = &requests[i]
			permits = append(permits, scripts.PermitRequest{Keys: requests[i].Keys, Raised: max(requests[i].Value, requests[i].Raised)})
		}
		if client == redis.Scripter(m.client) || last == nil {
			return nil
		}
		// The last one again, which changes nothing. What confirms it confirms all writes before it.
		return scripts.Import(ctx, client, *last).Err
	})
	for _, i := range places {
		if results[i].Err == nil {
			results[i].Err = err
		}
	}
	return results
}

// CheckImport returns what Import would do, and writes nothing. server has the settings that the server will have by then.
func (m *Admin) CheckImport(ctx context.Context, server prefix.Server, states []State) []Imported {
	results := make([]Imported, 0, len(states))
	for page := range slices.Chunk(states, scanCount) {
		checks := make([]func() Imported, len(page))
		pipeline.Send(ctx, m.client, func(p redis.Pipeliner) {
			for i := range page {
				checks[i] = m.check(ctx, p, server, &page[i])
			}
		})
		var down error
		for _, check := range checks {
			result := check()
			if errors.Is(result.Err, failure.ErrUnavailable) {
				down = result.Err
			}
			results = append(results, result)
		}
		if down != nil {
			rest := slices.Repeat([]Imported{{Err: down}}, len(states)-len(results))
			return append(results, rest...)
		}
	}
	return results
}

// check sends what is to be known of the server by p, and returns the function that reads the replies.
func (m *Admin) check(ctx context.Context, p redis.Pipeliner, server prefix.Server, state *State) func() Imported {
	if err := m.validState(state); err != nil {
		return func() Imported { return Imported{Err: err} }
	}
	s := m.storage(state.Kind)
	keys := s.keys(state.Name)
	read := s.read(ctx, p, keys.Counter)
	other := redis.NewIntCmd(ctx)
	if keys.Other != keys.Server && server.IsZero() {
		other = p.Exists(ctx, keys.Other)
	}
	return func() Imported {
		switch there, err := other.Result(); {
		case err != nil:
			return Imported{Err: attemptError(ctx, state.Name, err)}
		case there > 0:
			return Imported{Err: fmt.Errorf("admin: %s: %w: key %s may not be used while the key of the same name and the other kind exists: %q: without a server prefix or node tag both give the same identifiers",
				state.Name, scripts.ErrMixed, keys.Counter, keys.Other)}
		}
		counter, found, err := s.find(ctx, keys.Counter, read)
		if err != nil {
			return Imported{Err: err}
		}
		low, high := server.Interval()
		if state.Max > high {
			return Imported{Err: fmt.Errorf("admin: %s: %w: key %s may not be raised above MaxValue of %s, %d, to %d: it would issue nothing more",
				state.Name, scripts.ErrExhausted, keys.Counter, keys.Server, high, state.Max)}
		}
		return Imported{Existed: found, Before: counter.Max, Now: max(counter.Max, low-1, min(state.raised(), high))}
	}
}

// validState returns an error for a state that no counter can have.
func (m *Admin) validState(state *State) error {
	name := state.Name
	switch state.Kind {
	case KindHiLo, KindIdentity:
		if err := m.validName(name); err != nil {
			return err
		}
	case KindServerSide:
		name = "server-side"
		if state.Max > prefix.MaxServerSide {
			return fmt.Errorf("admin: %s: %w: Max of %d: must be at most %d", name, failure.ErrInvalidOptions, state.Max, int64(prefix.MaxServerSide))
		}
	default:
		return fmt.Errorf("admin: %s: %w: kind %q: must be %s, %s, %s", name, failure.ErrInvalidOptions, state.Kind,
			KindHiLo, KindIdentity, KindServerSide)
	}
	negative := func(field string, n int64) error {
		return fmt.Errorf("admin: %s: %w: %s of %d: must be 0 or more", name, failure.ErrInvalidOptions, field, n)
	}
	if state.Margin < 0 {
		return negative("Margin", state.Margin)
	}
	for _, field := range scripts.Fields {
		if n := state.number(field.Name); n != nil && *n < 0 {
			return negative(field.Name, *n)
		}
	}
	return nil
}
