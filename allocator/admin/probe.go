package admin

import (
	"context"
	crand "crypto/rand"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
)

// Range is consecutive numbers, both ends included.
type Range struct{ Low, High int64 }

// Probe is a counter of no collection, with which a tool checks whether a server counts as it should. It uses the scripts of
// an allocator, and so needs the same rights.
type Probe struct {
	client redis.Cmdable
	// scripter is the client with the durability that is wanted.
	scripter redis.Scripter
	keys     scripts.Keys
}

// Probe returns a counter at a key of the namespace that nothing else uses. Its ranges are confirmed as durability requires.
// The settings of the server, such as its interval, do not apply. The caller removes the key, which expires a minute after Raise.
func (m *Admin) Probe(key string, durability Durability) Probe {
	p := Probe{client: m.client, scripter: m.client, keys: scripts.Keys{Counter: key, Server: key + "/server", Other: key + "/other"}}
	if durability.Replicas > 0 || durability.Fsync {
		p.scripter = scripts.Durable(m.client, scripts.Durability(durability))
	}
	return p
}

// probeStays is how long a probe's key stays at most if it could not be removed.
const probeStays = time.Minute

const probeName = "probe"

// Raise raises the counter to max.
func (p Probe) Raise(ctx context.Context, max int64) error {
	_, err := scripts.Seed(ctx, p.client, p.keys, scripts.SeedRequest{Field: scripts.FieldMax, Name: probeName, Value: max})
	if err == nil {
		p.client.PExpire(ctx, p.keys.Counter, probeStays) // in case this process is killed
	}
	return err
}

// Next takes a range of at most capacity numbers. guarded reports whether scripts may use INFO, without which the guard
// against lost writes is off. The errors are ErrCorrupt, ErrNotDurable, ErrExhausted, and those of the server.
func (p Probe) Next(ctx context.Context, capacity int64) (got Range, guarded bool, err error) {
	r, err := scripts.Next(ctx, p.scripter, p.keys, scripts.NextRequest{
		Token: crand.Text(), Name: probeName, Capacity: capacity, Limit: math.MaxInt64, Awaited: notUsed,
	})
	return Range{Low: r.Low, High: r.High}, r.Origin != "", err
}
