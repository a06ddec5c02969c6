package interleavings

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/hilo-id/hilo/scripts"
)

// event is one thing that may happen to a deployment.
type event int8

const (
	takeRange event = iota + 1 // a client takes a range of two
	takeLost                   // and the reply is lost
	takeAgain                  // it is sent again
	takeIdentity
	newClient
	prefixSet // by admin, which makes the server the home of identities
	prefixCleared
	prefixSetByHand
	prefixClearedByHand
	durableSet // by admin, which settles the counters first
	durableSetByHand
	durableRemoved
	replicasSet // by admin: replicas:1
	replicasRemoved
	replicasRemovedAlone // though the replica is away
	thirdAttached        // another replica, which acknowledges and is never promoted
	restartAOF           // as kill -9 does, with everything that was acknowledged
	restartOld           // with the snapshot: a loss
	restartRDB           // with the snapshot, with the AOF off
	aofOff
	aofOn // with what the AOF had when it was switched off still being loaded by a restart
	keep  // the snapshot is taken
	attach
	detach // the replica keeps what it has
	promote
	replicaRestarted // alone, from its own AOF, and made a primary
	historyForgotten // repl-backlog-ttl
	turnedBack       // the promoted one becomes a replica of the first again
	moved            // exported, and imported by a new server
	seededLow        // by force, to 1
	keyLost          // of the collection, with the replication id unchanged
	emptied          // all keys are lost, those of the settings too
)

// transition is an event, with the host and the client that it affects.
type transition struct {
	event  event
	host   int8
	client int8
}

const lifetimes = 7

// result is the outcome of a transition.
type result struct {
	possible bool
	words    string
	twice    string
}

// apply applies a transition to d.
func (m *deploymentModel) apply(d *deployment, h transition) (r result) {
	n, p := h.host, &d.clients[h.client]
	nd := &d.hosts[n]
	name := 'A' + rune(h.client)
	if d.lives == lifetimes && h.event >= restartAOF {
		return result{}
	}
	switch h.event {
	case takeRange, takeLost, takeAgain, takeIdentity:
		return m.request(d, h)
	case newClient:
		r = result{possible: *p != clientState{sent: p.sent}, words: fmt.Sprintf("%c ends, and another one comes", name)}
		*p = clientState{sent: p.sent}
	case thirdAttached:
		r = result{possible: nd.up && nd.backlog && !nd.replicas && !nd.third, words: "another replica attaches"}
		nd.third = true
	case prefixSet, prefixCleared, durableSet, durableRemoved, replicasSet, replicasRemoved, replicasRemovedAlone:
		return m.administer(d, h)
	case prefixSetByHand:
		set := m.byHand(d, n, "ServerPrefix", "N/")
		m.byHand(d, n, "Identities", "here")
		r = result{possible: set, words: "the prefix is set by hand"}
	case prefixClearedByHand:
		r = result{possible: m.byHand(d, n, "ServerPrefix", ""), words: "the prefix is cleared by hand"}
	case durableSetByHand:
		r = result{possible: m.byHand(d, n, "Durable", "always"), words: "Durable is set by hand"}
	case seededLow:
		r.words = fmt.Sprintf("on host %d the collection is set to 1 by force", n+1)
		_, err := m.run(d, n, "seed", func(ctx context.Context) (scripts.Range, error) {
			state := m.server.state[hilo.keys.Counter]
			_, err := scripts.Seed(ctx, m.server, hilo.keys, scripts.SeedRequest{
				Field: scripts.FieldMax, Name: "orders", Value: 1, Force: true, Expected: scripts.Standing{Value: state["Max"], Written: state["Written"]},
			})
			return scripts.Range{}, err
		})
		r.possible, d.lowered = err == nil, true
	case emptied:
		r = result{possible: nd.up && nd.data != m.data.id(""), words: fmt.Sprintf("host %d is emptied", n+1)}
		m.write(d, n, m.data.id(""))
	case keyLost:
		state := unpacked(m.data.values[nd.data])
		r = result{possible: state[hilo.keys.Counter] != nil, words: "the key of the collection is lost"}
		delete(state, hilo.keys.Counter)
		m.write(d, n, m.data.id(packed(state)))
	case moved:
		return m.move(d, n)
	default:
		return m.applyHostEvent(d, h)
	}
	return r
}

// request sends a request of a client to a host.
func (m *deploymentModel) request(d *deployment, h transition) result {
	n, p, name := h.host, &d.clients[h.client], 'A'+rune(h.client)
	nd := &d.hosts[n]
	if !nd.up || h.event == takeAgain && !p.pending || !m.covered(d, n, p, h.event == takeIdentity) {
		return result{}
	}
	stated := m.field(d, n, hilo.keys.Server, "Durable") != ""
	awaited := 0
	if m.field(d, n, hilo.keys.Server, "Durable") == "replicas:1" {
		awaited = 1
	}
	discarded := awaited > 0 && !nd.replicas && !nd.third // no replica confirms it
	d.beside, nd.heir = d.beside || nd.replicas, false
	prefix := m.field(d, n, hilo.keys.Server, "ServerPrefix")
	if h.event == takeRange || h.event == takeLost || h.event == takeIdentity {
		p.sent++
		p.pending = p.pending && h.event == takeIdentity
	}
	token := fmt.Sprintf("request %d of %c", p.sent, name)
	if h.event == takeIdentity {
		r := scripts.IdentityRequest{
			Token: token, Name: "orders", Count: 1, Limit: math.MaxInt64,
			Floor: int64(p.identityFloor), Epoch: int64(p.identityEpoch), BareFloor: int64(p.bare), Awaited: awaited, RequirePrefix: m.interval,
		}
		sent := m.layers.sent(scripts.NextRequest{Floor: r.Floor, IdentityFloor: r.BareFloor})
		r.Floor, r.BareFloor = sent.Floor, sent.IdentityFloor
		got, err := m.run(d, n, r, func(ctx context.Context) (scripts.Range, error) {
			return scripts.Identity(ctx, m.server, identities.keys, r)
		})
		if err != nil {
			return result{possible: refused(err)}
		}
		if discarded {
			return result{possible: true, words: fmt.Sprintf("%c asks host %d for an identity, which nobody confirms", name, n+1)}
		}
		d.kinds |= issuedIdentities
		p.identityFloor, p.identityEpoch = int32(got.High), max(p.identityEpoch, int32(got.Epoch))
		d.jumped = d.jumped || stated && got.Evidence != ""
		return result{true, fmt.Sprintf("%c asks host %d for an identity: %d %s", name, n+1, got.Low, got.Evidence), m.hold(d, true, "", got)}
	}
	r := scripts.NextRequest{
		Token: token, Name: "orders", Capacity: 2, Limit: math.MaxInt64,
		Floor: int64(p.floor), Epoch: int64(p.epoch), IdentityFloor: int64(p.identityFloor), Awaited: awaited, RequirePrefix: m.interval,
	}
	r = m.layers.sent(r)
	got, err := m.run(d, n, r, func(ctx context.Context) (scripts.Range, error) {
		return scripts.Next(ctx, m.server, hilo.keys, r)
	})
	if err != nil {
		return result{possible: refused(err)}
	}
	if discarded {
		return result{possible: true, words: fmt.Sprintf("%c asks host %d for a range, which nobody confirms: %d..%d %s", name, n+1, got.Low, got.High, got.Evidence)}
	}
	d.kinds |= issuedRanges
	if prefix == "" {
		d.kinds |= issuedBare
	}
	d.jumped = d.jumped || stated && got.Evidence != ""
	words := fmt.Sprintf("%c asks host %d for a range: %s%d..%d %s", name, n+1, prefix, got.Low, got.High, got.Evidence)
	if h.event == takeLost {
		p.pending = true
		return result{possible: true, words: words + ", and the reply is lost"}
	}
	p.pending = false
	p.floor, p.epoch = int32(got.High), max(p.epoch, int32(got.Epoch))
	if prefix == "" {
		p.bare = max(p.bare, int32(got.High))
	}
	return result{true, words, m.hold(d, false, prefix, got)}
}

// refused panics unless err is an error reply of the script. It returns false, since a refusal changes nothing and is no step.
func refused(err error) bool {
	if !scripts.Answered(err) {
		panic("bug: " + err.Error())
	}
	return false
}

// administer changes the settings of a host as package admin does.
func (m *deploymentModel) administer(d *deployment, h transition) result {
	n := h.host
	nd := &d.hosts[n]
	prefix, stated := m.field(d, n, hilo.keys.Server, "ServerPrefix"), m.field(d, n, hilo.keys.Server, "Durable")
	home := m.field(d, n, hilo.keys.Server, "Identities") != ""
	r := scripts.ConfigureRequest{Prefix: prefix, Identities: home, Durable: scripts.DurableKeep, Origin: fmt.Sprintf("%040x", nd.life+1)}
	r.MinValue, r.MaxValue = intervalOf(m.state(d, n)[hilo.keys.Server])
	possible := nd.up
	var words string
	switch h.event {
	case prefixSet:
		possible, words = possible && prefix == "", "the prefix is set"
		r.Prefix, r.Identities = "N/", true
	case prefixCleared:
		possible, words = possible && prefix != "", "the prefix is cleared"
		r.Prefix = ""
	case durableSet:
		possible, words = possible && stated == "" && nd.aof && !nd.replicas, "the counters are settled, and Durable is set"
		r.Durable = scripts.DurableSet
	case replicasSet:
		possible, words = possible && stated == "" && nd.replicas, "the counters are settled, and replicas:1 is set"
		r.Durable = "replicas:1"
	case replicasRemoved, replicasRemovedAlone:
		possible, words = possible && stated != "" && nd.replicas == (h.event == replicasRemoved), "replicas:1 is taken back"
		r.Durable = scripts.DurableRemove
	default:
		possible, words = possible && stated != "", "Durable is removed"
		r.Durable = scripts.DurableRemove
	}
	if !possible {
		return result{}
	}
	_, err := m.run(d, n, r, func(ctx context.Context) (scripts.Range, error) {
		if h.event == prefixSet && m.server.state[hilo.keys.Counter] != nil { // what is bare is recorded
			scripts.ImportAll(ctx, single{server: m.server}, []scripts.ImportRequest{{Keys: hilo.keys, Field: scripts.FieldMax, Name: "orders"}})
		}
		if (h.event == durableSet || h.event == replicasSet) && !m.hasty {
			if err := m.settle(ctx, nd); err != nil {
				return scripts.Range{}, err
			}
		}
		return scripts.Range{}, scripts.Configure(ctx, m.server, hilo.keys.Server, r)
	})
	if err != nil {
		return result{possible: refused(err)}
	}
	return result{possible: true, words: fmt.Sprintf("on host %d %s", n+1, words)}
}

// intervalOf returns the interval among the settings of a server.
func intervalOf(settings map[string]string) (low, high int64) {
	return int64(decimalOf(settings["MinValue"])), int64(decimalOf(settings["MaxValue"]))
}

// settle takes a number of each counter that was last written under another replication id.
func (m *deploymentModel) settle(ctx context.Context, h *host) error {
	for i, k := range []kind{hilo, identities} {
		origin := m.server.state[k.keys.Counter]["Origin"]
		if origin == "" || origin == fmt.Sprintf("%040x", h.life+1) {
			continue
		}
		epoch := int64(decimalOf(m.server.state[k.keys.Counter]["Epoch"])) + 1
		token := fmt.Sprintf("settled in life %d", h.life)
		var err error
		if i == 0 {
			_, err = scripts.Next(ctx, m.server, k.keys, scripts.NextRequest{Token: token, Name: "orders", Capacity: 1, Limit: math.MaxInt64, Epoch: epoch, Awaited: 999})
		} else {
			_, err = scripts.Identity(ctx, m.server, k.keys, scripts.IdentityRequest{Token: token, Name: "orders", Count: 1, Limit: math.MaxInt64, Epoch: epoch, Awaited: 999})
		}
		if err != nil && !errors.Is(err, scripts.ErrMixed) && !errors.Is(err, scripts.ErrElsewhere) {
			return err
		}
	}
	return nil
}

// applyHostEvent applies a restart, a failover or another event of a host.
func (m *deploymentModel) applyHostEvent(d *deployment, h transition) (r result) {
	n := h.host
	nd, other := &d.hosts[n], &d.hosts[1-n]
	alone := nd.up && !nd.replicas
	switch h.event { //nolint:exhaustive // the other events do not befall a host
	case restartAOF:
		r = result{possible: alone && nd.aof && m.statedOf(d, nd), words: fmt.Sprintf("host %d restarts from its AOF", n+1)}
		nd.data, nd.backlog = nd.disk, false
		d.started(n, 0)
	case restartOld, restartRDB:
		off := h.event == restartRDB
		r = result{possible: alone && d.snapshot != none && nd.data != d.snapshot, words: fmt.Sprintf("host %d restarts with the state that was kept, AOF on: %v", n+1, !off)}
		was := m.field(d, n, hilo.keys.Server, "ServerPrefix")
		nd.data, nd.disk, nd.aof = max(0, d.snapshot), max(0, d.snapshot), !off
		d.returned = d.returned || was == "" && m.field(d, n, hilo.keys.Server, "ServerPrefix") != ""
		d.started(n, named(d.kept, off && nd.backlog)) // an RDB file names the life
		nd.backlog = off && nd.backlog                 // and makes one
	case aofOff:
		r = result{possible: nd.up && nd.aof, words: fmt.Sprintf("on host %d the AOF is switched off", n+1)}
		nd.aof = false
	case aofOn: // by the configuration, at the restart
		r = result{possible: alone && !nd.aof, words: fmt.Sprintf("host %d restarts from the AOF as it was when it was switched off", n+1)}
		nd.aof, nd.data, nd.backlog = true, nd.disk, false
		d.started(n, 0)
	case keep:
		r = result{possible: nd.up && d.snapshot != nd.data, words: fmt.Sprintf("the state of host %d is kept", n+1)}
		d.snapshot, d.kept = nd.data, nd.life
	case attach:
		r = result{possible: alone && !other.up, words: "a replica attaches"}
		if !nd.backlog {
			d.live(n, 0)
		}
		nd.replicas, nd.backlog, d.beside = true, true, false
		if !other.runs {
			other.since = d.clock
			d.clock++
		}
		*other = host{aof: true, data: nd.data, disk: nd.data, heir: true, runs: true, since: other.since}
	case detach:
		r = result{possible: nd.replicas, words: "the replica is cut off"}
		nd.replicas = false
	case promote, replicaRestarted:
		verb := map[event]string{promote: "is promoted", replicaRestarted: "is restarted from its own AOF, as a primary"}[h.event]
		r = result{possible: nd.backlog && !other.up && (h.event == promote || m.statedOf(d, other)), words: "the replica " + verb}
		nd.replicas = false
		if h.event == promote {
			d.live(1-n, named(nd.life, true))
		} else {
			d.started(1-n, 0)
		}
		other.backlog = h.event == promote
	case historyForgotten:
		r = result{possible: alone && nd.history != 0 && m.statedOf(d, nd), words: fmt.Sprintf("host %d forgets its history (repl-backlog-ttl)", n+1)}
		nd.backlog = false
		d.live(n, 0)
	case turnedBack:
		r = result{possible: alone && other.up, words: fmt.Sprintf("host %d becomes a replica of the other one", n+1)}
		if !other.backlog {
			d.live(1-n, 0)
		}
		other.replicas, other.backlog, d.beside = true, true, false
		*nd = host{aof: true, data: other.data, disk: other.data, heir: true, runs: true, since: nd.since}
	}
	return r
}

// statedOf reports whether a host may be restarted alone. Durable states that there is no other copy, and the scripts can remove
// it from a copy only when a request arrives.
func (m *deploymentModel) statedOf(d *deployment, h *host) bool {
	return !m.within || !h.heir || d.beside
}

// move exports a host and imports the export into the other host, a new server that replaces it.
func (m *deploymentModel) move(d *deployment, n int8) result {
	nd, other := &d.hosts[n], &d.hosts[1-n]
	if !nd.up || other.up || nd.replicas {
		return result{}
	}
	state := unpacked(m.data.values[nd.data])
	life := fmt.Sprintf("%040x", nd.life+1)
	settings := state[hilo.keys.Server]
	low, high := intervalOf(settings)
	if settings["Durable"] != "" {
		return result{}
	}
	*other = host{aof: true}
	d.started(1-n, 0)
	nd.up = false
	_, err := m.run(d, 1-n, fmt.Sprintf("import %d %s", nd.data, life), func(ctx context.Context) (scripts.Range, error) {
		for _, k := range []kind{hilo, identities} {
			c := state[k.keys.Counter]
			if c == nil {
				continue
			}
			r := scripts.ImportRequest{
				Keys: k.keys, Field: k.field, Name: "orders", Value: int64(decimalOf(c[k.field])), Epoch: int64(decimalOf(c["Epoch"])),
				Ranges: int64(decimalOf(c["Ranges"])), Bare: int64(decimalOf(c["Bare"])), Lost: c["Origin"] != "" && c["Origin"] != life,
			}
			r.Keys.Other = r.Keys.Server // the server is about to get its prefix, or the names are known to be of one kind
			if err := scripts.ImportAll(ctx, single{server: m.server}, []scripts.ImportRequest{r})[0].Err; err != nil {
				return scripts.Range{}, err
			}
		}
		return scripts.Range{}, scripts.Configure(ctx, m.server, hilo.keys.Server, scripts.ConfigureRequest{
			Prefix: settings["ServerPrefix"], Identities: settings["Identities"] != "", MinValue: low, MaxValue: high,
		})
	})
	if err != nil {
		return result{possible: refused(err)}
	}
	for i := range d.clients { // they have no state of another server
		d.clients[i] = clientState{sent: d.clients[i].sent}
	}
	return result{possible: true, words: fmt.Sprintf("host %d is exported, and imported by host %d", n+1, 2-n)}
}
