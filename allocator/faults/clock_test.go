package faults

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The server's clock goes back an hour, or ahead, and some time later the server comes back with older state under another
// replication id. The tallies by which the gap is computed go by that clock. miniredis is the only server whose clock can
// be set; the workers' own clocks do not count, hilo measures by the monotonic one.
func TestTheServersClockIsSetByAnHour(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"back": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proves(t, func(t *testing.T, f *fleet) {
				s := redistest.StartMini(t)
				address := redistest.NewProxy(t, s)
				old := f.start(4, steady(through(address)))
				f.awaitTotal(15_000)
				s.Mini().SetTime(time.Now().Add(by))
				f.awaitTotal(10_000)
				rollBack := snapshot(t, redistest.NewClient(t, s), f.counter())
				f.awaitTotal(5_000)
				address.Refuse(true)
				address.Cut()
				rollBack()
				s.ChangeReplicationID()
				old[0].kill()
				old[1].kill()
				address.Refuse(false)
				f.start(2, steady(through(address)))
				f.awaitEach(1000)
			})
		})
	}
}

// snapshot is a counter as it stands; calling what it gives brings that back.
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
