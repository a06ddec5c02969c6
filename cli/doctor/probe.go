package doctor

import (
	"context"
	crand "crypto/rand"
	"errors"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
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
	// Raise brings the counter to max.
	Raise(ctx context.Context, max int64) error
	// Next takes a range, and tells whether scripts may use INFO.
	Next(ctx context.Context, capacity int64) (got allocator.Range, guarded bool, err error)
}

// checkCounting counts where doubles no longer can, and at the end of int64. It reports whether
// scripts may use INFO, and true where it could not find that out.
func checkCounting(ctx context.Context, c counting, s *finding.Sheet) (guarded bool) {
	probes := []struct{ max, capacity, low, high int64 }{
		{1 << 53, 3, 1<<53 + 1, 1<<53 + 3},
		{math.MaxInt64 - 3, 10, math.MaxInt64 - 2, math.MaxInt64},
	}
	for _, p := range probes {
		var got allocator.Range
		err := c.Raise(ctx, p.max)
		if err == nil {
			got, guarded, err = c.Next(ctx, p.capacity)
		}
		switch {
		case errors.Is(err, allocator.ErrCorrupt): // the server's prefix, which is another check's
			return true
		case err != nil:
			remedy := "See to what it says, and try again."
			if redis.HasErrorPrefix(err, "NOPERM") {
				remedy = "Grant this user +evalsha +eval +hmget +hset +hdel +exists +time on the keys of the namespace."
			}
			s.Add(checkScripts, finding.Fault, "a range could not be taken: %s", exit.Plain(err)).
				Because("No identifier can be given from it.").Remedy("%s", remedy)
			return true
		case got.Low != p.low || got.High != p.high:
			s.Add(checkExact, finding.Fault, "above %d it gives %d..%d, and should give %d..%d", p.max, got.Low, got.High, p.low, p.high).
				Because("Numbers are given twice.").Remedy("Do not use this server.")
			return true
		}
	}
	s.Add(checkExact, finding.OK, "it counts exactly, past 2^53 and up to 2^63-1")
	if guarded {
		s.Add(checkGuard, finding.OK, "scripts may use INFO, so the guard is on")
	} else {
		s.Add(checkGuard, finding.Warning, "scripts may not use INFO").
			Because("So the guard is off: after a restart or a failover that lost writes, workers that were not running give numbers again.").
			Remedy(grantInfo)
	}
	return guarded
}

// checkConfirmed takes a range with the durability that is wanted. What else is wrong checkCounting has said.
func checkConfirmed(ctx context.Context, c counting, s *finding.Sheet) {
	switch _, _, err := c.Next(ctx, 1); {
	case err == nil:
		s.Add(checkDurable, finding.OK, "a range was confirmed as asked for")
	case errors.Is(err, allocator.ErrNotDurable):
		s.Add(checkDurable, finding.Fault, "a range was not confirmed: %s", exit.Plain(err)).
			Because("It would be discarded, and no identifier given.").
			Remedy("See to replicas and AOF, or ask for less with --replicas and --fsync.")
	}
}

// own is a key of the doctor's own, in the namespace, where it has the rights that a worker has.
func (d doctor) own(nonce string) string { return "{" + d.Namespace + "}/Doctor/" + nonce }

// count counts on the server, at counters of its own, which it removes.
func (p *patient) count(ctx context.Context) {
	p.atProbe(ctx, allocator.Durability{}, func(c counting) { p.unguarded = !checkCounting(ctx, c, &p.Sheet) })
	if want := p.servers.Durability; want.Replicas > 0 || want.Fsync {
		p.atProbe(ctx, want, func(c counting) { checkConfirmed(ctx, c, &p.Sheet) })
	}
}

func (p *patient) atProbe(ctx context.Context, durability allocator.Durability, check func(counting)) {
	key := p.own(crand.Text())
	check(p.admin.Probe(key, durability))
	p.remove(ctx, key, "Max", "Name", "Ranges", "Lease", "Low", "Origin", "Epoch", "Minute", "Issued", "IssuedBefore", "Bare")
}

// remove removes a key of the doctor's own, by its fields where the user has no more rights than a worker needs.
func (p *patient) remove(ctx context.Context, key string, fields ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Timeout)
	defer cancel()
	err := p.client.Del(ctx, key).Err()
	if err != nil {
		err = p.client.HDel(ctx, key, fields...).Err()
	}
	if err == nil {
		return
	}
	if n, none := p.client.Exists(ctx, key).Result(); none == nil && n == 0 { // nothing was written
		return
	}
	p.Add(checkLeftover, finding.Warning, "the key %s could not be removed: %s", key, exit.Plain(err)).
		Because("It does no harm.").Remedy("DEL '%s'", key)
}
