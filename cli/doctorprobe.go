package cli

import (
	"context"
	crand "crypto/rand"
	"errors"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts"
)

const (
	checkScripts  = "scripts"
	checkExact    = "exactness"
	checkGuard    = "guard"
	checkDurable  = "durability"
	checkLeftover = "probe"
)

// leftFor is how long a key of the doctor's own stays at most where it could not be removed.
const leftFor = time.Minute

// counting is what the scripts do to a counter.
type counting interface {
	// raise brings the counter to max.
	raise(ctx context.Context, max int64) error
	// next takes a range.
	next(ctx context.Context, capacity int64) (scripts.Range, error)
}

// checkCounting counts where doubles no longer can, and at the end of int64.
func checkCounting(ctx context.Context, c counting) []finding {
	probes := []struct{ max, capacity, low, high int64 }{
		{1 << 53, 3, 1<<53 + 1, 1<<53 + 3},
		{math.MaxInt64 - 3, 10, math.MaxInt64 - 2, math.MaxInt64},
	}
	var got scripts.Range
	for _, p := range probes {
		err := c.raise(ctx, p.max)
		if err == nil {
			got, err = c.next(ctx, p.capacity)
		}
		switch {
		case errors.Is(err, allocator.ErrCorrupt): // the server's prefix, which is another check's
			return nil
		case err != nil:
			remedy := "See to what it says, and try again."
			if redis.HasErrorPrefix(err, "NOPERM") {
				remedy = "Grant this user +evalsha +eval +hmget +hset +hdel +exists +time on the keys of the namespace."
			}
			return []finding{found(checkScripts, levelFault, "a range could not be taken: %s", plain(err)).
				because("No identifier can be given from it.").remedy("%s", remedy)}
		case got.Low != p.low || got.High != p.high:
			return []finding{found(checkExact, levelFault, "above %d it gives %d..%d, and should give %d..%d", p.max, got.Low, got.High, p.low, p.high).
				because("Numbers are given twice.").remedy("Do not use this server.")}
		}
	}
	all := []finding{found(checkExact, levelOK, "it counts exactly, past 2^53 and up to 2^63-1")}
	if got.Origin == "" {
		return append(all, found(checkGuard, levelWarning, "scripts may not use INFO").
			because("So the guard is off: after a restart or a failover that lost writes, workers that were not running give numbers again.").
			remedy(grantInfo))
	}
	return append(all, found(checkGuard, levelOK, "scripts may use INFO, so the guard is on"))
}

// checkConfirmed takes a range with the durability that is wanted.
func checkConfirmed(ctx context.Context, c counting) []finding {
	switch _, err := c.next(ctx, 1); {
	case err == nil:
		return []finding{found(checkDurable, levelOK, "a range was confirmed as asked for")}
	case errors.Is(err, allocator.ErrNotDurable):
		return []finding{found(checkDurable, levelFault, "a range was not confirmed: %s", plain(err)).
			because("It would be discarded, and no identifier given.").
			remedy("See to replicas and AOF, or ask for less with --replicas and --fsync.")}
	default: // checkCounting has said so
		return nil
	}
}

// ownCounter is a counter of the doctor's own.
type ownCounter struct {
	client   redis.UniversalClient
	scripter redis.Scripter // client, with the durability that is wanted
	keys     scripts.Keys
}

func (p ownCounter) raise(ctx context.Context, max int64) error {
	_, err := scripts.Seed(ctx, p.client, p.keys, scripts.SeedRequest{Field: scripts.FieldMax, Name: "probe", Value: max})
	if err == nil {
		p.client.PExpire(ctx, p.keys.Counter, leftFor) // in case that this process is killed
	}
	return err
}

func (p ownCounter) next(ctx context.Context, capacity int64) (scripts.Range, error) {
	return scripts.Next(ctx, p.scripter, p.keys, scripts.NextRequest{Token: crand.Text(), Name: "probe", Capacity: capacity, Limit: math.MaxInt64})
}

// own is a key of the doctor's own, in the namespace, where it has the rights that a worker has.
func (d doctor) own(nonce string) string { return "{" + d.Namespace + "}/Doctor/" + nonce }

// count is what comes of counting on the server.
func (d doctor) count(ctx context.Context, p *patient) []finding {
	all := d.atProbe(ctx, p, p.client, checkCounting)
	if want := d.servers.durability; want.Replicas > 0 || want.Fsync {
		all = append(all, d.atProbe(ctx, p, scripts.Durable(p.client, scripts.Durability(want)), checkConfirmed)...)
	}
	return all
}

// atProbe runs a check at a counter of its own, which it removes.
func (d doctor) atProbe(ctx context.Context, p *patient, scripter redis.Scripter, check func(context.Context, counting) []finding) []finding {
	key := d.own(crand.Text())
	all := check(ctx, ownCounter{p.client, scripter, scripts.Keys{Counter: key, Server: d.keys.Server(), Other: key + "/other"}})
	return append(all, d.remove(ctx, p.client, key, "Max", "Name", "Ranges", "Lease", "Low", "Origin", "Epoch", "Minute", "Issued", "IssuedBefore")...)
}

// remove removes a key of the doctor's own, by its fields where the user has no more rights than a worker needs.
func (d doctor) remove(ctx context.Context, client redis.UniversalClient, key string, fields ...string) []finding {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.Timeout)
	defer cancel()
	err := client.Del(ctx, key).Err()
	if err != nil {
		err = client.HDel(ctx, key, fields...).Err()
	}
	if err == nil {
		return nil
	}
	if n, none := client.Exists(ctx, key).Result(); none == nil && n == 0 { // nothing was written
		return nil
	}
	return []finding{found(checkLeftover, levelWarning, "the key %s could not be removed: %s", key, plain(err)).
		because("It does no harm.").remedy("DEL '%s'", key)}
}
