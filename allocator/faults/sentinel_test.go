package faults

import (
	"context"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The primary stops, and three sentinels agree on another one. The old one then resumes and accepts writes of clients that are
// still connected to it, until the sentinels reconfigure it. Only ranges that both replicas have are used.
func TestSentinelFailoverWithAResumedPrimaryRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			primary := redistest.Start(t, b)
			redistest.StartReplica(t, primary)
			redistest.StartReplica(t, primary)
			sentinels := redistest.StartSentinels(t, primary, 3, 2)

			watching := fullSpeed(2, address{Addrs: sentinels.Addrs(), Master: redistest.MasterName})
			watching.Pause = steady().Pause
			stale := watching
			stale.Servers = []address{at(primary)}
			f.start(2, watching)
			f.start(2, stale)
			f.awaitEach(10_000)

			primary.Pause()
			sentinels.AwaitFailover(primary)
			f.running()[0].kill()
			f.start(1, watching)
			primary.Resume()
			client := redistest.NewClient(t, primary)
			primary.Await("to be found by the sentinels", func(ctx context.Context) bool {
				return strings.Contains(client.Info(ctx, "replication").Val(), "role:slave")
			})
			for _, w := range []*worker{f.workers[1], f.workers[4]} {
				w.awaitUse(100_000)
			}
		})
	})
}
