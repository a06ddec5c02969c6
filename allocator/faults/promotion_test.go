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
