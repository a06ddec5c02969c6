package faults

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The server's clock goes back or ahead by an hour, or is not set at all, as at the start of a machine without one. Some time later
// older state is restored, under another replication id. What a counter reserved, and its birth, have the times of that clock. Only
// the clock of miniredis can be set. The clock of the workers has no effect, since hilo measures by the monotonic one.
func TestServerClockThatIsWrongRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Time{"back": time.Now().Add(-time.Hour), "ahead": time.Now().Add(time.Hour), "not set": time.Unix(3, 0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proves(t, func(t *testing.T, f *fleet) {
				s := redistest.StartMini(t)
				if name == "not set" { // until the restart
					s.Mini().SetTime(at)
				}
				address := redistest.NewProxy(t, s)
				old := f.start(4, steady(through(address)))
				f.awaitTotal(15_000)
				s.Mini().SetTime(at)
				f.awaitTotal(10_000)
				rollBack := snapshot(t, redistest.NewClient(t, s), f.counter())
				f.awaitTotal(5_000)
				address.Refuse(true)
				address.Cut()
				rollBack()
				s.ChangeReplicationID()
				if name == "not set" {
					s.Mini().SetTime(time.Now())
				}
				old[0].kill()
				old[1].kill()
				address.Refuse(false)
				f.start(2, steady(through(address)))
				f.awaitEach(1000)
			})
		})
	}
}

// snapshot copies the state of a counter and returns a function that restores it.
func snapshot(t *testing.T, client *redis.Client, key string) (rollBack func()) {
	t.Helper()
	if key == bareKey {
		text := client.Get(t.Context(), key).Val()
		return func() { client.Set(t.Context(), key, text, 0) }
	}
	state := client.HGetAll(t.Context(), key).Val()
	return func() {
		client.Del(t.Context(), key)
		client.HSet(t.Context(), key, state)
	}
}
