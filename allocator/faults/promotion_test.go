package faults

import (
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// filler is the key that floods the link to a replica. The braces put it in the slot of hilo's counters.
const filler = "{Raven}/filler"

// pair starts a primary and a replica of it, and returns them with a proxy whose address can follow the primary.
func pair(t *testing.T, b redistest.Binary) (primary, replica *redistest.Server, address *redistest.Proxy) {
	t.Helper()
	primary = redistest.Start(t, b)
	return primary, redistest.StartReplica(t, primary), redistest.NewProxy(t, primary)
}

// At most 1,000 ranges are taken in a second, and the writes of one second are lost.
func TestPromotionThatLosesASecondRepeatsNoNumber(t *testing.T) {
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

// At full speed the writes of one second may exceed any gap. A range is used only if the replica has it.
func TestPromotionAtFullSpeedRepeatsNoNumber(t *testing.T) {
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

// The replica that has to confirm ranges stops. Ranges that it did not confirm are never used, neither when it resumes nor when
// it is promoted later.
func TestReplicaThatStopsAndResumesRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			primary, replica, address := pair(t, b)
			// Small ranges leave a worker few numbers in hand.
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

// The primary changes from P to R and back to P, which was never restarted and keeps its run_id. Each change loses the newest
// writes.
func TestPromotionBackAndForthRepeatsNoNumber(t *testing.T) {
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
