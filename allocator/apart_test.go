package allocator

import (
	"context"
	"slices"
	"testing"

	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// spreadJumps makes the block of "orders" large. Two servers that jump by a margin of it are then unlikely to issue overlapping
// ranges, since the offset is uniform over many margins. With the first block, as many numbers as these tests take would overlap in
// one of some hundred runs.
func spreadJumps(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := redistest.NewClient(t, s).HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 0, "Block", int64(1<<31)).Err(); err != nil {
		t.Fatal(err)
	}
}

// ranges takes n ranges of 32 numbers, with one request for each and no other in flight.
func ranges(t *testing.T, a *Allocator, n int) (numbers []int64) {
	t.Helper()
	c := mustCollection(t, a, "orders")
	for range n {
		batch, err := c.Take(t.Context(), 32)
		if err != nil {
			t.Fatal(err)
		}
		for number := batch.Range().Low; number <= batch.Range().High; number++ {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// jumpedFrom returns the value of the counter of "orders" before its jump, from the log. If two jumps begin at the same value,
// only the offset makes them end at different ones.
func jumpedFrom(t *testing.T, logs *observer.ObservedLogs) int64 {
	t.Helper()
	jumps := logs.FilterMessageSnippet("jumped").All()
	if len(jumps) != 1 {
		t.Fatalf("got log %v, want 1", logs.All())
	}
	fields := jumps[0].ContextMap()
	if fields["evidence"] != string(EvidenceOrigin) {
		t.Errorf("got the fields %v, want the evidence %v", fields, string(EvidenceOrigin))
	}
	return fields["low"].(int64) - 1 - fields["jump"].(int64)
}

// numbersOfANewClient takes numbers with a client without a floor, and returns the value that its first range jumped from.
func numbersOfANewClient(t *testing.T, s *redistest.Server) (numbers []int64, from int64) {
	t.Helper()
	log, logs := observed()
	numbers = ranges(t, mustNew(t, redistest.NewClient(t, s), Options{Logger: log}), 100)
	return numbers, jumpedFrom(t, logs)
}

// The old primary is restarted without fencing and serves requests beside the promoted replica. Both continue from the same
// counter, and both detect that another server, or the same one before its restart, wrote it last.
func TestJumpSeparatesAnUnfencedOldPrimaryFromItsSuccessor(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			primary := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "always")
			replica := redistest.StartReplica(t, primary)
			spreadJumps(t, primary)
			old := mustNew(t, redistest.NewClient(t, primary), Options{})
			numbers := ranges(t, old, 100)
			stands := mustCounter(t, primary, "orders")
			replica.Await("to have all", func(ctx context.Context) bool {
				return replica.Client(t).HGet(ctx, "{Raven}/HiLo/orders", "Lease").Val() == primary.Client(t).HGet(ctx, "{Raven}/HiLo/orders", "Lease").Val()
			})
			primary.Kill()
			replica.Promote()
			primary.Restart()
			beside, from := numbersOfANewClient(t, primary)
			after, alike := numbersOfANewClient(t, replica)
			if from != alike || from != stands.Max {
				t.Errorf("got jumps from %d and %d, want both from %d", from, alike, stands.Max)
			}
			numbers = append(numbers, ranges(t, old, 100)...) // an active client continues beside them
			wantDistinct(t, slices.Concat(numbers, beside, after))
		})
	}
}

// A server starts from a snapshot, runs for a while, and starts from the same snapshot again.
func TestJumpSeparatesTwoStartsFromOneSnapshot(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		spreadJumps(t, s)
		numbers := ranges(t, mustNew(t, redistest.NewClient(t, s), Options{}), 10)
		if err := redistest.NewClient(t, s).Save(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.Restart()
		first, from := numbersOfANewClient(t, s)
		s.Restart()
		second, alike := numbersOfANewClient(t, s)
		if from != alike {
			t.Errorf("got jumps from %d and %d, want both from the same number", from, alike)
		}
		wantDistinct(t, slices.Concat(numbers, first, second))
	})
}

// The counter is lost and one client continues above its own floor. Then it is lost again, and another client continues above
// a floor that is close to the first one.
func TestJumpSeparatesTwoClientsAfterRepeatedLosses(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		spreadJumps(t, s)
		client := redistest.NewClient(t, s)
		clients := []*Allocator{mustNew(t, client, Options{}), mustNew(t, client, Options{})}
		numbers := slices.Concat(ranges(t, clients[0], 10), ranges(t, clients[1], 1)) // so that their floors are close
		for range 12 {
			for _, a := range clients {
				if n, err := client.Del(t.Context(), "{Raven}/HiLo/orders").Result(); n != 1 || err != nil {
					t.Fatalf("got %d keys deleted, %v, want 1", n, err)
				}
				numbers = append(numbers, ranges(t, a, 10)...)
			}
		}
		wantDistinct(t, numbers)
		for i, a := range clients {
			if jumps := a.Stats().Servers[0].Jumps[EvidenceMissing]; jumps != 12 {
				t.Errorf("client %d: got %d jumps, want 12", i, jumps)
			}
		}
	})
}
