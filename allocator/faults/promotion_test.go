package faults

import (
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// filler is the key that floods the way to a replica. The braces put it on the node of a cluster where hilo's are.
const filler = "{Raven}/filler"

// pair is a primary with a replica, and an address that follows the primary.
func pair(t *testing.T, b redistest.Binary) (primary, replica *redistest.Server, address *redistest.Proxy) {
	t.Helper()
	primary = redistest.Start(t, b)
	return primary, redistest.StartReplica(t, primary), redistest.NewProxy(t, primary)
}

// 1,000 ranges a second at most are taken, and a second of them is lost.
func TestAReplicaIsPromotedThatWasStoppedForASecond(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			primary, replica, address := pair(t, b)
			old := f.start(4, steady(through(address)))
			f.awaitTotal(64_000)
			primary.PauseReplica(replica, filler)
			f.writesAreLost(time.Second)
			primary.Kill()
			old[0].kill()
			old[1].kill()
			replica.Resume()
			replica.Promote()
			address.Redirect(replica)
			f.start(2, steady(through(address)))
			f.awaitEach(1000)
		})
	})
}

// At full speed a second may lose more than any gap covers: a range counts only when the replica has it.
func TestAReplicaIsPromotedThatWasStoppedWhileWorkersWentAtFullSpeed(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			primary, replica, address := pair(t, b)
			f.start(3, fullSpeed(1, through(address)))
			f.awaitEach(1000)
			primary.PauseReplica(replica, filler)
			f.writesAreLost(time.Second)
			primary.Kill()
			f.running()[0].kill()
			replica.Resume()
			replica.Promote()
			redistest.StartReplica(t, replica)
			address.Redirect(replica)
			f.start(1, fullSpeed(1, through(address)))
			f.awaitEach(100_000)
		})
	})
}

// The replica that was to confirm ranges stops: those that it did not confirm are never used, not when it wakes either,
// and not when it is promoted after all.
func TestTheOnlyReplicaIsStoppedAndWakes(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			primary, replica, address := pair(t, b)
			// In ranges this small nobody gets far on what is in hand.
			j := steady(through(address))
			j.Replicas, j.DurableTimeout = 1, 50*time.Millisecond
			f.start(3, j)
			f.awaitEach(1000)
			replica.Pause()
			if f.bare {
				f.awaitEach(1000)
			} else {
				for _, w := range f.running() {
					w.awaitError("not durable")
				}
			}
			replica.Resume()
			f.awaitEach(1000)

			primary.PauseReplica(replica, filler)
			f.writesAreLost(300 * time.Millisecond)
			primary.Kill()
			replica.Resume()
			replica.Promote()
			redistest.StartReplica(t, replica)
			address.Redirect(replica)
			f.awaitEach(1000)
		})
	})
}

// From P to R and back to P, which was never restarted, so that its run_id is the same: each time the newest writes are
// lost.
func TestThePrimaryChangesForthAndBack(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			from, to, address := pair(t, b)
			f.start(4, steady(through(address)))
			f.awaitTotal(30_000)
			for range 3 {
				from.PauseReplica(to, filler)
				f.awaitTotal(5_000)
				from.Pause()
				f.running()[0].kill()
				to.Resume()
				to.Promote()
				address.Redirect(to)
				from.Resume()
				if err := to.Client(t).Del(t.Context(), filler).Err(); err != nil {
					t.Fatal(err)
				}
				from.Follow(to)
				f.start(1, steady(through(address)))
				f.awaitTotal(30_000)
				from, to = to, from
			}
		})
	})
}
