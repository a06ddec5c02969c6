package faults

import (
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// ofSix starts a cluster of three primaries with a replica each, and returns which of them has the counters.
func ofSix(t *testing.T, b redistest.Binary) (c *redistest.Cluster, address address, owner int) {
	t.Helper()
	c = redistest.StartCluster(t, b, 3, 1)
	address.Addrs, address.Cluster = c.Addrs(), true
	return c, address, int(c.Slot(filler)) * 3 / 16384
}

// The primary that has the counters is killed when its replica has missed the newest writes.
func TestKilledPrimaryOfAClusterRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			cluster, address, owner := ofSix(t, b)
			primary, replica := cluster.Nodes[owner], cluster.Nodes[3+owner]
			j := steady(address)
			f.start(3, j)
			f.awaitEach(10_000)
			primary.PauseReplica(replica, filler)
			f.writesAreLost(300 * time.Millisecond)
			primary.Kill()
			f.running()[0].kill()
			replica.Resume()
			cluster.AwaitTakeover(replica)
			primary.Restart() // as a replica
			f.start(1, j)
			for _, w := range f.running() {
				w.awaitUse(10_000)
			}
		})
	})
}

// The slot of the counters moves from one primary to the next, around all three, while ranges are taken.
func TestSlotMoveUnderLoadRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		holds(t, func(t *testing.T, f *fleet) {
			cluster, address, owner := ofSix(t, b)
			j := steady(address)
			f.start(3, j)
			for range 3 {
				f.awaitEach(1000)
				next := (owner + 1) % 3
				cluster.Move(cluster.Slot(filler), cluster.Nodes[owner], cluster.Nodes[next], func() { pass(50 * time.Millisecond) })
				owner = next
			}
			f.awaitEach(1000)
		})
	})
}
