package allocator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// State is a counter of any kind, as another server or another program knows it.
type State struct {
	Kind Kind
	// Counter has a Max of 0 or more and, but for KindServerSide, a valid Name. Ranges and Epoch are 0 where they are
	// not known.
	Counter
	// Bare is the greatest number of a collection that was given without prefix and tag, 0: none. Its identity goes on
	// above it.
	Bare int64
}

// Imported is what came of a State, or what would come of it: Max before and afterwards, and whether there was a
// counter before.
type Imported struct {
	Existed     bool
	Before, Now int64
	Err         error
}

// Import raises many counters in few round trips, 100,000 in some seconds, and adds those that are missing. It never
// lowers one: Max, Ranges and Epoch are each the greater of what stands and what the State says, and so is Bare. Origin
// is not taken over: another server's would read as lost writes; where there is none this server's own is written, so
// that a loss right after it shows. Like a seed, it keeps ranges that are still out from being returned.
//
// The outcomes are in the order of states. Each is as Seed's; when the server is away, that is the error of all the
// rest. To do it again does no harm.
func (m *Admin) Import(ctx context.Context, states []State) []Imported {
	results := make([]Imported, len(states))
	var requests []scripts.ImportRequest
	var places []int
	for i, state := range states {
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
			Name: state.Name, Value: state.Max, Epoch: state.Epoch, Ranges: state.Ranges, Bare: state.Bare,
		})
		places = append(places, i)
	}
	for i, got := range scripts.ImportAll(ctx, m.client, requests) {
		result := &results[places[i]]
		*result = Imported{Existed: got.Existed, Before: got.Stood, Now: got.Stands}
		if got.Err != nil {
			result.Err = adminError(ctx, requests[i].Name, got.Err)
		}
	}
	return results
}

// CheckImport tells what Import would do, and writes nothing. server is the prefix and tag that the server will have by
// then.
func (m *Admin) CheckImport(ctx context.Context, server prefix.Server, states []State) []Imported {
	results := make([]Imported, len(states))
	for low := 0; low < len(states); low += scanCount {
		high := min(low+scanCount, len(states))
		if away := m.checkPage(ctx, server, states[low:high], results[low:high]); away != nil {
			for i := range results[high:] {
				results[high+i].Err = away
			}
			break
		}
	}
	return results
}

// checkPage checks some states in one round trip; its error is that the server is away.
func (m *Admin) checkPage(ctx context.Context, server prefix.Server, states []State, results []Imported) (away error) {
	reads := make([]*redis.SliceCmd, len(states))
	others := make([]*redis.IntCmd, len(states))
	_, _ = m.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, state := range states {
			if results[i].Err = m.validState(state); results[i].Err != nil {
				continue
			}
			s := m.storage(state.Kind)
			reads[i] = s.read(ctx, p, s.key(state.Name))
			if s.other != nil && server.IsZero() {
				others[i] = p.Exists(ctx, s.other(state.Name))
			}
		}
		return nil
	})
	for i, state := range states {
		if reads[i] == nil {
			continue
		}
		results[i] = m.checked(ctx, state, reads[i], others[i])
		if err := results[i].Err; errors.Is(err, ErrUnavailable) {
			away = err
		}
	}
	return away
}

func (m *Admin) checked(ctx context.Context, state State, read *redis.SliceCmd, other *redis.IntCmd) Imported {
	s := m.storage(state.Kind)
	key := s.key(state.Name)
	if other != nil {
		there, err := other.Result()
		if err != nil {
			return Imported{Err: adminError(ctx, state.Name, err)}
		}
		if there > 0 {
			return Imported{Err: fmt.Errorf("allocator: %s: %w: key %s may not be used while the key of the same name and the other kind exists: %q: without a server prefix or node tag both give the same identifiers",
				state.Name, ErrMixed, key, s.other(state.Name))}
		}
	}
	counter, found, err := s.find(ctx, key, read)
	if err != nil {
		return Imported{Err: err}
	}
	return Imported{Existed: found, Before: counter.Max, Now: max(counter.Max, state.Max)}
}

// validState refuses what no server can have.
func (m *Admin) validState(state State) error {
	name := state.Name
	switch state.Kind {
	case KindHiLo, KindIdentity:
		if err := m.validName(name); err != nil {
			return err
		}
	case KindServerSide:
		name = "server-side"
		if state.Max > ServerSideLimit {
			return fmt.Errorf("allocator: %s: %w: Max of %d: must be at most %d", name, ErrInvalidOptions, state.Max, int64(ServerSideLimit))
		}
	default:
		return fmt.Errorf("allocator: %s: %w: kind %q: must be %s", name, ErrInvalidOptions, state.Kind,
			strings.Join([]string{string(KindHiLo), string(KindIdentity), string(KindServerSide)}, ", "))
	}
	for _, field := range []struct {
		name  string
		value int64
	}{{"Max", state.Max}, {"Ranges", state.Ranges}, {"Epoch", state.Epoch}, {"Bare", state.Bare}} {
		if field.value < 0 {
			return fmt.Errorf("allocator: %s: %w: %s of %d: must be 0 or more", name, ErrInvalidOptions, field.name, field.value)
		}
	}
	return nil
}
