package peerbench_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextDoesNotWaitWhileTheServerIsStoppedForTheRunway(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		const outage = 10 * time.Second // the default Runway
		load := newSteadyLoad(t, redistest.NewClient(t, s), 50_000)
		load.warmUp(t)

		s.Pause()
		load.run(t, outage)
		s.Resume()
		load.run(t, 3*time.Second) // few numbers are held now, so the next range has to arrive at once
		load.nobodyWaited(t)
	})
}

func TestNextDoesNotWaitWhereRoundTripsAreSlow(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s)
		proxy.Tamper(func(reply []byte) (time.Duration, int) { return 5 * time.Millisecond, len(reply) })
		client := redis.NewClient(redistest.Options(proxy))
		t.Cleanup(func() { _ = client.Close() })
		load := newSteadyLoad(t, client, 200_000)
		load.warmUp(t)

		load.run(t, 10*time.Second)
		load.nobodyWaited(t)
	})
}

// steadyLoad is a worker that takes numbers of one collection at a rate. It catches up after a pause of the machine, so that the
// rate holds on average.
type steadyLoad struct {
	ids    *allocator.Allocator
	orders *allocator.Collection
	rate   float64 // numbers a second
	before allocator.CollectionStats
	most   int64 // held at any time since warmUp
}

func newSteadyLoad(t *testing.T, client *redis.Client, rate float64) *steadyLoad {
	t.Helper()
	ids := newAllocator(t.Context(), t, client, allocator.Options{})
	orders, err := ids.Collection(collectionName)
	if err != nil {
		t.Fatal(err)
	}
	return &steadyLoad{ids: ids, orders: orders, rate: rate}
}

// warmUp runs until the ranges have grown to what the rate requires.
func (l *steadyLoad) warmUp(t *testing.T) {
	t.Helper()
	const most = 90 * time.Second
	for start := time.Now(); float64(l.stats().Held) < 11*l.rate; { // the default Runway is 10 s
		if time.Since(start) > most {
			t.Fatalf("after %s at %.0f numbers a second %d are held: the ranges do not grow", most, l.rate, l.stats().Held)
		}
		l.run(t, time.Second)
	}
	l.before, l.most = l.stats(), 0
}

func (l *steadyLoad) run(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	start, taken := time.Now(), 0.0
	for ctx.Err() == nil {
		for due := time.Since(start).Seconds() * l.rate; taken < due; taken++ {
			if _, err := l.orders.NextNumber(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		l.most = max(l.most, l.stats().Held)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (l *steadyLoad) stats() allocator.CollectionStats {
	for _, c := range l.ids.Stats().Collections {
		if c.Name == collectionName {
			return c
		}
	}
	return allocator.CollectionStats{}
}

func (l *steadyLoad) nobodyWaited(t *testing.T) {
	t.Helper()
	after := l.stats()
	t.Logf("%d numbers, %d waits, %d refills failed, at most %d held", after.Issued-l.before.Issued,
		after.Waits-l.before.Waits, after.Failures-l.before.Failures, l.most)
	if waits := after.Waits - l.before.Waits; waits > 0 {
		t.Errorf("%d calls waited, want none", waits)
	}
	// The bound is what the Runway takes, and one range that was requested when it was reached.
	if bound := int64(15*l.rate) + 1<<20; l.most > bound {
		t.Errorf("%d numbers were held at %.0f a second, want at most %d", l.most, l.rate, bound)
	}
}
