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
	keys   scripts.Keys
}

// Probe returns a counter at a key of the namespace that nothing else uses. The settings of the server, such as its interval, do not
// apply. The caller removes the key, which expires a minute after Raise.
func (m *Admin) Probe(key string) Probe {
	return Probe{client: m.client, keys: scripts.Keys{Counter: key, Server: key + "/server", Other: key + "/other"}}
}

// probeStays is how long a probe's key stays at most if it could not be removed.
const probeStays = time.Minute

const probeName = "probe"

// Raise sets the counter to max, as by hand, because a seed needs settings.
func (p Probe) Raise(ctx context.Context, max int64) error {
	err := p.client.HSet(ctx, p.keys.Counter, scripts.FieldMax, max).Err()
	if err == nil {
		p.client.PExpire(ctx, p.keys.Counter, probeStays) // in case this process is killed
	}
	return err
}

// Next takes a range of at most capacity numbers. guarded reports whether scripts may use INFO, without which lost writes do not
// show. The errors are ErrCorrupt, ErrExhausted, and those of the server.
func (p Probe) Next(ctx context.Context, capacity int64) (got Range, guarded bool, err error) {
	r, err := scripts.Next(ctx, p.client, p.keys, scripts.NextRequest{
		Token: crand.Text(), Name: probeName, Capacity: capacity, Limit: math.MaxInt64,
	})
	return Range{Low: r.Low, High: r.High}, r.Origin != "", err
}
