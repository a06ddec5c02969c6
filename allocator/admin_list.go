package allocator

import (
	"context"
	"errors"
	"iter"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
)

// scanCount is how many keys the server looks at per step of a scan.
const scanCount = 1000

// Counters gives every counter of the namespace, in no order. It scans, so it neither blocks the server nor is a
// snapshot; one that is added or removed meanwhile may be missed. After an error about one counter it goes on; any
// other error is the last thing it gives.
func (m *Admin) Counters(ctx context.Context) iter.Seq2[Counter, error] {
	return countersOf(m.all(ctx, m.storage(KindHiLo)))
}

// Identities is Counters for identities.
func (m *Admin) Identities(ctx context.Context) iter.Seq2[Counter, error] {
	return countersOf(m.all(ctx, m.storage(KindIdentity)))
}

func countersOf(states iter.Seq2[State, error]) iter.Seq2[Counter, error] {
	return func(yield func(Counter, error) bool) {
		for state, err := range states {
			if !yield(state.Counter, err) {
				return
			}
		}
	}
}

func (m *Admin) all(ctx context.Context, s storage) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		client, err := m.primary(ctx)
		if err != nil {
			yield(State{Kind: s.kind}, adminError(ctx, s.prefix+"*", err))
			return
		}
		seen := make(map[string]bool) // SCAN may give a key twice
		var cursor uint64
		for {
			keys, next, err := client.Scan(ctx, cursor, prefix.EscapeGlob(s.prefix)+m.filter, scanCount).Result()
			if err != nil {
				yield(State{Kind: s.kind}, adminError(ctx, s.prefix+"*", err))
				return
			}
			fresh := keys[:0]
			for _, key := range keys {
				if !seen[key] {
					seen[key] = true
					fresh = append(fresh, key)
				}
			}
			if !s.page(ctx, client, fresh, yield) {
				return
			}
			if cursor = next; cursor == 0 {
				return
			}
		}
	}
}

// page reads the counters under some keys in one round trip.
func (s storage) page(ctx context.Context, client redis.Cmdable, keys []string, yield func(State, error) bool) bool {
	reads := make([]*redis.SliceCmd, len(keys))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			reads[i] = s.read(ctx, p, key)
		}
		return nil
	})
	for i, read := range reads {
		counter, err := s.counter(ctx, keys[i], read)
		if errors.Is(err, ErrNotSeeded) { // removed since it was scanned
			continue
		}
		if !yield(counter, err) {
			return false
		}
	}
	return true
}

// primary is the node that holds the namespace: its keys share one slot. Any node of a cluster scans, and another one would
// find nothing; but it refuses to read.
func (m *Admin) primary(ctx context.Context) (redis.Cmdable, error) {
	if err := m.client.HMGet(ctx, m.keys.Server(), fieldPrefix).Err(); err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, err
	}
	if cluster, ok := m.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, m.keys.Server())
	}
	return m.client, nil
}

// States gives all counters of the namespace, of all kinds: those of collections, those of identities, and the
// server-side one where there is one. It reads a page at a time, while others may write. Errors: as Counters.
func (m *Admin) States(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		for _, kind := range []Kind{KindHiLo, KindIdentity} {
			for state, err := range m.all(ctx, m.storage(kind)) {
				if !yield(state, err) {
					return
				}
			}
		}
		counter, err := m.ServerSide(ctx)
		if !errors.Is(err, ErrNotSeeded) {
			yield(State{Kind: KindServerSide, Counter: counter}, err)
		}
	}
}
