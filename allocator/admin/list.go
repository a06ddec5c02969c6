package admin

import (
	"context"
	"errors"
	"iter"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/pipeline"
)

// Counters returns every counter of the namespace, in no order. It scans the server without blocking it, so the result is no
// snapshot, and a counter that is added or removed meanwhile may be missing. It continues after ErrCorrupt, which is about
// one counter. Any other error is the last item, and counters may be missing before it. That is ErrIncomplete while a
// cluster moves the namespace's slot, ErrUnavailable, or ErrInvalidOptions if the server is a node of a cluster and the
// client is not a *redis.ClusterClient.
func (m *Admin) Counters(ctx context.Context) iter.Seq2[Counter, error] {
	return m.counters(ctx, KindHiLo)
}

// Identities is Counters for identities.
func (m *Admin) Identities(ctx context.Context) iter.Seq2[Counter, error] {
	return m.counters(ctx, KindIdentity)
}

// States returns all counters of the namespace, of all kinds, in no order. It scans the server once, a page at a time, while
// others may write. The errors are those of Counters.
func (m *Admin) States(ctx context.Context) iter.Seq2[State, error] {
	return m.states(ctx, m.everyKey(), KindHiLo, KindIdentity, KindServerSide)
}

// counters returns the counters of one kind that the filter matches.
func (m *Admin) counters(ctx context.Context, k Kind) iter.Seq2[Counter, error] {
	return func(yield func(Counter, error) bool) {
		for state, err := range m.states(ctx, prefix.EscapeGlob(m.storage(k).prefix)+m.mode.Filter, k) {
			if !yield(state.Counter, err) {
				return
			}
		}
	}
}

// states returns the counters of some kinds whose keys match a pattern. It reads those of a page in one round trip.
func (m *Admin) states(ctx context.Context, pattern string, kinds ...Kind) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		err := m.scan(ctx, pattern, func(client redis.Cmdable, keys []string) bool {
			var counters []func() (State, error)
			pipeline.Send(ctx, client, func(pipe redis.Pipeliner) {
				for _, kind := range kinds {
					as := m.storage(kind)
					for _, key := range keys {
						if KindOf(m.keys, key) == kind {
							read := as.read(ctx, pipe, key)
							counters = append(counters, func() (State, error) { return as.counter(ctx, key, read) })
						}
					}
				}
			})
			for _, counter := range counters {
				state, err := counter()
				if !errors.Is(err, scripts.ErrNotSeeded) && !yield(state, err) { // unless it was removed since it was scanned
					return false
				}
			}
			return true
		})
		if err != nil {
			yield(State{}, attemptError(ctx, pattern, err))
		}
	}
}
