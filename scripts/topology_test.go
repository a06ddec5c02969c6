package scripts

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The failovers of package redistest are tested here, beside other slow tests, since go test runs few packages at once.

func TestSentinelsReportAnotherPrimaryWhenTheirsIsKilled(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			primary := redistest.Start(t, b)
			redistest.StartReplica(t, primary)
			sentinels := redistest.StartSentinels(t, primary, 3, 1)
			client := redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: redistest.MasterName, SentinelAddrs: sentinels.Addrs(), ContextTimeoutEnabled: true,
			})
			t.Cleanup(func() { _ = client.Close() })
			if err := client.Set(t.Context(), "n", "1", 0).Err(); err != nil {
				t.Fatal(err)
			}
			primary.Kill()
			sentinels.AwaitFailover(primary)
			primary.Await("to have a successor", func(ctx context.Context) bool { return client.Incr(ctx, "n").Err() == nil })
		})
	}
}

func TestClusterMovesASlotAndReplacesAPrimary(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 3, 1)
			client := redistest.NewClusterClient(t, cluster)
			slot := cluster.Slot("n")
			owner := int(slot) * 3 / 16384
			steps := 0
			if err := client.Incr(t.Context(), "n").Err(); err != nil {
				t.Fatal(err)
			}
			cluster.Move(slot, cluster.Nodes[owner], cluster.Nodes[(owner+1)%3], func() { steps++ })
			if n, err := client.Incr(t.Context(), "n").Result(); n != 2 || err != nil || steps != 3 {
				t.Errorf("after the move in %d steps: %d, %v", steps, n, err)
			}
			cluster.Nodes[(owner+1)%3].Kill()
			cluster.Nodes[0].Await("to serve again", func(ctx context.Context) bool {
				client.ReloadState(ctx) // go-redis would use the dead one for a minute otherwise
				return client.Incr(ctx, "n").Err() == nil
			})
		})
	}
}
