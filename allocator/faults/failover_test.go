package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// loss disconnects or ends a primary that states replicas:1. It returns what undoes that.
type loss func(t *testing.T, s *redistest.Server) (back func())

var losses = []loss{
	func(_ *testing.T, s *redistest.Server) func() { // killed
		s.Kill()
		return s.Restart
	},
	func(_ *testing.T, s *redistest.Server) func() { // stopped
		s.Pause()
		return s.Resume
	},
	func(t *testing.T, s *redistest.Server) func() { // cut off from all but its replicas
		t.Helper()
		client := redistest.NewClient(t, s)
		if err := client.Do(t.Context(), "CLIENT", "PAUSE", 6000, "ALL").Err(); err != nil { // also for sentinels
			t.Fatal(err)
		}
		return func() {
			s.Await("to go on", func(ctx context.Context) bool { return client.Ping(ctx).Err() == nil })
		}
	},
}

// many is how many numbers the long form takes.
const many = 1_000_000

// failOver loses the primary in each way, or until the long form has its numbers and its time is over, and takes ids of a slow
// counter in between. fail loses the primary and returns when another one serves and the lost one follows it.
func failOver(t *testing.T, losses []loss, open func() redis.UniversalClient, fail func(lose loss)) {
	t.Helper()
	operator := open()
	stateReplicas(t, operator)
	if err := operator.Close(); err != nil {
		t.Fatal(err)
	}
	c := newCrew(t)
	slow := c.open(open(), allocator.Options{})
	take := func(n int) (last int64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for range n {
			for {
				id, err := slow.NextID(ctx, "slow")
				if err == nil {
					last = id.Number
					break
				}
				if !allocator.Retryable(err) || ctx.Err() != nil {
					t.Fatalf("slow: got %v, want a number", err)
				}
			}
		}
		return last
	}
	defer func() { _ = slow.Close(context.WithoutCancel(t.Context())) }()
	before := take(32)
	const some = 1000
	for i := range 3 {
		c.start(open(), allocator.Options{MaxCapacity: 32 << (4 * i)}, time.Millisecond/2)
	}
	c.goOn(some)
	failovers, began := 0, time.Now()
	for failovers < len(losses) || *long > 0 && (c.count() < many || time.Since(began) < *long) {
		fail(losses[failovers%len(losses)])
		failovers++
		c.goOn(some)
		after := take(32)
		if failovers == 1 && (before != 32 || after >= 1000) {
			t.Errorf("slow: got %d, and %d after a failover, want 32 and less than 1000", before, after)
		}
	}
	c.report(fmt.Sprintf("%d failovers", failovers))
}

// Three sentinels fail over between a primary and two replicas, one of which has to confirm a number.
func TestSentinelsFailOverUnderReplicas(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		primary := redistest.Start(t, b)
		others := []*redistest.Server{redistest.StartReplica(t, primary), redistest.StartReplica(t, primary)}
		sentinels := redistest.StartSentinels(t, primary, 3, 2)
		for _, s := range append(others, primary) {
			s.AwaitUptime(2)
		}
		at := address{Addrs: sentinels.Addrs(), Master: redistest.MasterName}
		failOver(t, losses, at.client, func(lose loss) {
			old := primary
			back := lose(t, old)
			sentinels.AwaitFailover(old)
			for i, s := range others {
				if info(t.Context(), redistest.NewClient(t, s), "role") == "master" {
					primary, others[i] = s, old
				}
			}
			back()
			for _, s := range others {
				s.Follow(primary)
			}
		})
	})
}

// A cluster loses the primary that has the counters, whose only replica has to confirm a number.
func TestClusterFailsOverUnderReplicas(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		cluster, address, owner := ofSix(t, b)
		primary, replica := cluster.Nodes[owner], cluster.Nodes[3+owner]
		primary.AwaitUptime(2)
		replica.AwaitUptime(2)
		failOver(t, losses[:2], address.client, func(lose loss) { // nodes do not heed CLIENT PAUSE among themselves
			back := lose(t, primary)
			cluster.AwaitTakeover(replica)
			back()
			primary, replica = replica, primary
			client := redistest.NewClient(t, replica)
			replica.Await("to be a replica in sync", func(ctx context.Context) bool {
				return info(ctx, client, "role") == "slave" && info(ctx, client, "master_link_status") == "up"
			})
		})
	})
}
