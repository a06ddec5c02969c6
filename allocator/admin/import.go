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
)

// raised returns the value to which Import raises the counter. For one that is marked Lost it is above all numbers whose writes
// may be lost, by the least jump that the scripts compute.
func (s *State) raised() int64 {
	if !s.Lost {
		return s.Max
	}
	gap := int64(1024)
	if s.Kind == KindHiLo {
		gap = 65536
	}
	gap = max(gap, 2*min(s.Issued, math.MaxInt64/2))
	return s.Max + min(gap, math.MaxInt64-s.Max)
}

// Imported is the outcome of importing a State, or of checking it. Existed reports that there was a counter before. Before
// and Now are its Max before and afterwards.
type Imported struct {
	Existed     bool
	Before, Now int64
	Err         error
}

// Import raises many counters in few round trips, 100,000 in some seconds, and adds those that are missing. It never
// lowers one. Max, Ranges, Epoch, Bare, Top and Issued each become the greater of the stored value and the State's, and
// Forced the newer one. Lowered becomes the State's, also where it is smaller, if Written is known: workers that follow
// to this server compare it with what they saw. A State that is marked Lost is raised by a gap too. Origin is not copied,
// because another server's would be evidence of lost writes. If there is none, this server's own is written, so that a loss
// right after the import shows. Like a seed, an import keeps ranges that are in use from being returned.
//
// The outcomes are in the order of states, and their errors are those of Seed. If the server goes down, all further outcomes
// have the same error. If the writes are not confirmed, every outcome has ErrNotConfirmed. The states are written then, and
// a failover can lose them. To repeat an import does no harm.
func (m *Admin) Import(ctx context.Context, states []State) []Imported {
	results := make([]Imported, len(states))
	var requests []scripts.ImportRequest
	var places []int
	for i := range states {
		state := &states[i]
		if results[i].Err = m.validState(state); results[i].Err != nil {
			continue
		}
		s := m.storage(state.Kind)
		keys := s.keys(state.Name)
		if m.filling {
			keys.Other = keys.Server
		}
		requests = append(requests, scripts.ImportRequest{
			Keys: keys, Field: s.field,
			Name: state.Name, Value: state.Max, Epoch: state.Epoch, Ranges: state.Ranges, Bare: state.Bare, Top: state.Top,
			Lost: state.Lost, Issued: min(state.Issued, math.MaxInt64/2),
			Lowered: state.Lowered, Written: state.Written, Forced: state.Forced,
		})
		places = append(places, i)
	}
	err := m.confirmedAsRequired(ctx, m.keys.Server(), func(client redis.Scripter) error {
		var last *scripts.ImportRequest
		for i, got := range scripts.ImportAll(ctx, m.client, requests) {
			result := &results[places[i]]
			*result = Imported{Existed: got.Existed, Before: got.Stood, Now: got.Stands}
			if got.Err != nil {
				result.Err = attemptError(ctx, requests[i].Name, got.Err)
				continue
			}
			last = &requests[i]
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
		_, _ = m.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
			for i := range page {
				checks[i] = m.check(ctx, p, server, &page[i])
			}
			return nil
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
	for i, n := range state.numbers() {
		if *n < 0 {
			return fmt.Errorf("admin: %s: %w: %s of %d: must be 0 or more", name, failure.ErrInvalidOptions, append([]string{"Max"}, bookkeeping...)[i], *n)
		}
	}
	return nil
}
