package examine

import (
	"context"
	crand "crypto/rand"
	"errors"
	"math"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
)

const (
	checkScripts  = "scripts"
	checkExact    = "exactness"
	checkGuard    = "guard"
	checkLeftover = "probe"
)

const (
	keyTTL      = time.Minute           // of a key of the doctor's own, in case it cannot be removed
	propagation = time.Second           // bounds the delay until a write on one master appears on another
	pollEvery   = 50 * time.Millisecond // interval of looking for the write
)

// counter is a counter of the doctor's own. admin.Probe implements it.
type counter interface {
	Raise(ctx context.Context, max int64) error
	Next(ctx context.Context, capacity int64) (got admin.Range, guarded bool, err error)
}

const grantScripts = "Grant this user +evalsha +eval +hmget +hset +hdel +exists +time on the keys of the namespace."

// checkCounting takes ranges where doubles are not exact, and at the end of int64.
func (p *probedServer) checkCounting(ctx context.Context, c counter) {
	probes := []struct{ max, capacity, low, high int64 }{
		{1 << 53, 3, 1<<53 + 1, 1<<53 + 3},
		{math.MaxInt64 - 3, 10, math.MaxInt64 - 2, math.MaxInt64},
	}
	var guarded bool
	for _, probe := range probes {
		var got admin.Range
		err := c.Raise(ctx, probe.max)
		if err == nil {
			got, guarded, err = c.Next(ctx, probe.capacity)
		}
		switch {
		case errors.Is(err, allocator.ErrCorrupt): // the prefix is corrupt, which ComparePrefixes reports
			return
		case err != nil:
			remedy := "Correct what the message names, and run hilo doctor again."
			if target.Forbidden(err) {
				remedy = grantScripts
			}
			p.Add(checkScripts, finding.Fault, "a range could not be taken: %s", exit.Plain(err)).
				Because("It issues no identifiers.").Remedy("%s", remedy)
			return
		case got.Low != probe.low || got.High != probe.high:
			p.Add(checkExact, finding.Fault, "above %d it issues %d..%d, and should issue %d..%d", probe.max, got.Low, got.High, probe.low, probe.high).
				Because("Numbers are issued twice.").Remedy("Do not use this server.")
			return
		}
	}
	p.Add(checkExact, finding.OK, "it counts exactly, past 2^53 and up to 2^63-1")
	if p.unguarded = !guarded; guarded {
		p.Add(checkGuard, finding.OK, "scripts may use INFO, so that lost writes show")
	} else {
		p.Add(checkGuard, finding.Warning, "scripts may not use INFO").
			Because("A restart or failover that lost writes does not show, and its numbers are issued again to workers that were started since. A counter that a user with INFO has used issues nothing to this one.").
			Remedy(grantInfo)
	}
}

// newKey returns a unique key. It is in the namespace, because the user may have rights to no other keys.
func (d doctor) newKey() string { return "{" + d.Namespace + "}/Doctor/" + crand.Text() }

// checkScripts takes ranges of a counter of the doctor's own and removes it.
func (p *probedServer) checkScripts(ctx context.Context) {
	key := p.newKey()
	if err := p.own.HDel(ctx, key, "Name").Err(); target.Forbidden(err) { // before anything is written that could not be removed
		p.Add(checkScripts, finding.Fault, "this user may not call HDEL").
			Because("Workers return no numbers without it, and cannot remove a Durable that is not true.").Remedy(grantScripts)
		return
	}
	p.checkCounting(ctx, p.admin.Probe(key))
	p.remove(ctx, key)
}

// remove removes all fields of a key, and with them the key. HDEL is a command that workers have the right to, unlike DEL.
func (p *probedServer) remove(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Timeout)
	defer cancel()
	err := p.own.HDel(ctx, key, fields...).Err()
	if err == nil {
		return
	}
	if found, failed := p.own.Exists(ctx, key).Result(); failed == nil && found == 0 {
		return
	}
	p.Add(checkLeftover, finding.Warning, "the key %s could not be removed: %s", key, exit.Plain(err)).
		Because("It does no harm.").Remedy("DEL '%s'", key)
}

// infos returns the fields of INFO of each node.
func (p *probedServer) infos() (all []map[string]string) {
	for _, n := range p.nodes {
		all = append(all, n.info)
	}
	return all
}

// route is from the server where a key was written to another server.
type route struct{ from, to *probedServer }

// checkSharing writes a key on each server and looks for it on all others, until propagation has passed.
func checkSharing(ctx context.Context, servers []*probedServer, s *finding.Sheet) {
	written := make(map[string]*probedServer)
	for _, p := range servers {
		key := p.newKey()
		if err := p.own.HSet(ctx, key, "Name", "doctor").Err(); err != nil {
			p.Add(finding.CheckShared, finding.Unknown, "no test key could be written to it: %s", exit.Plain(err)).
				Because("Masters that replicate to each other issue the same numbers, unless each has a namespace of its own.")
			continue
		}
		written[key] = p
		p.own.PExpire(ctx, key, keyTTL) // the key is removed anyway
	}
	seen := make(map[route]bool)
	for deadline := time.Now().Add(propagation); ; base.Sleep(ctx, pollEvery) {
		for key, p := range written {
			for _, other := range servers {
				if r := (route{p, other}); !seen[r] {
					seen[r] = other.own.Exists(ctx, key).Val() > 0
				}
			}
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			break
		}
	}
	for key, p := range written {
		p.remove(ctx, key)
	}
	before := len(s.Findings)
	compareServers(servers, seen, s)
	if len(s.Findings) == before && len(written) == len(servers) && len(servers) > 1 {
		s.Add(finding.CheckShared, finding.OK, "what is written to one server appears on no other")
	}
}

// compareServers finds servers that are the same or share their data. It prefers INFO, which also shows how they are related,
// to the keys that were seen.
func compareServers(servers []*probedServer, seen map[route]bool, s *finding.Sheet) {
	for i, p := range servers {
		for _, other := range servers[:i] {
			a, b := other.Label(), p.Label()
			what := "what is written to %s appears on %s"
			switch from, to := seen[route{other, p}], seen[route{p, other}]; {
			case s.CompareNodes(a, b, other.infos(), p.infos()):
				continue
			case from && to:
				what = "what is written to %s or %s appears on both: they replicate to each other, or are one"
			case to:
				a, b = b, a
			case !from:
				continue
			}
			s.Add(finding.CheckShared, finding.Fault, what, a, b).
				Because("One overwrites the other's counters, and numbers are issued twice.").
				Remedy("Stop the replication, or give each a namespace of its own: allocator.Server.Namespace.")
		}
	}
}
