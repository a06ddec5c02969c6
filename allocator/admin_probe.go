package allocator

import (
	"context"
	crand "crypto/rand"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
)

// Probe is a counter of no collection, with which a tool tries out whether a server counts as it should. It is driven
// by the scripts that an allocator uses, and so takes the same rights.
type Probe struct {
	client redis.UniversalClient
	// scripter is the client with the durability that is wanted.
	scripter redis.Scripter
	keys     scripts.Keys
}

// Probe is a counter at a key, which is to be one of the namespace and nobody else's. Its ranges are confirmed as
// durability asks for. Whoever uses it removes the key; a minute after Raise it goes by itself.
func (m *Admin) Probe(key string, durability Durability) Probe {
	p := Probe{client: m.client, scripter: m.client, keys: scripts.Keys{Counter: key, Server: m.keys.Server(), Other: key + "/other"}}
	if durability.Replicas > 0 || durability.Fsync {
		p.scripter = scripts.Durable(m.client, scripts.Durability(durability))
	}
	return p
}

// probeStays is how long a probe's key stays at most where it could not be removed.
const probeStays = time.Minute

const probeName = "probe"

// Raise brings the counter to max.
func (p Probe) Raise(ctx context.Context, max int64) error {
	_, err := scripts.Seed(ctx, p.client, p.keys, scripts.SeedRequest{Field: scripts.FieldMax, Name: probeName, Value: max})
	if err == nil {
		p.client.PExpire(ctx, p.keys.Counter, probeStays) // in case that this process is killed
	}
	return err
}

// Next takes a range of at most capacity numbers. guarded tells whether the server's scripts may use INFO, without
// which the guard against lost writes is off. Errors: ErrCorrupt, ErrNotDurable, ErrExhausted, and those of the server.
func (p Probe) Next(ctx context.Context, capacity int64) (got Range, guarded bool, err error) {
	r, err := scripts.Next(ctx, p.scripter, p.keys, scripts.NextRequest{
		Token: crand.Text(), Name: probeName, Capacity: capacity, Limit: math.MaxInt64,
	})
	return Range{Low: r.Low, High: r.High}, r.Origin != "", err
}
