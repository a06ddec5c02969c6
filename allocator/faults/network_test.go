package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The network delays and loses replies, cuts connections in the middle of a reply, and refuses new ones for a while. The workers
// start and end all the time, and return what they did not use.
func TestNetworkThatLosesRepliesRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			proxy := redistest.NewProxy(t, redistest.Start(t, b))
			j := steady(through(proxy))
			j.Batch, j.Session = 20, 5 // what they have in hand at the end is not used up
			f.start(6, j)
			f.awaitEach(200)
			proxy.Tamper(func(reply []byte) (time.Duration, int) {
				switch dice := rand.IntN(100); {
				case dice < 5: // lost
					return 0, 0
				case dice < 10: // in the middle
					return 0, rand.IntN(len(reply))
				case dice < 30:
					return rand.N(20 * time.Millisecond), len(reply)
				case dice == 30: // longer than a worker waits
					return 2500 * time.Millisecond, len(reply)
				}
				return 0, len(reply)
			})
			cuts := 0
			for began := time.Now(); f.goesOn(began, 8*time.Second); cuts++ {
				proxy.Cut()
				pass(rand.N(200 * time.Millisecond))
				if cuts%8 == 0 {
					proxy.Refuse(true)
					pass(rand.N(300 * time.Millisecond))
					proxy.Refuse(false)
				}
			}
			proxy.Tamper(nil)
			f.awaitEach(500)
			t.Logf("all connections cut %d times, a tenth of the replies lost", cuts)
		})
	})
}
