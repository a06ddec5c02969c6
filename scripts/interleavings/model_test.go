package interleavings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
)

// model is what the worlds of one search share.
type model struct {
	setting
	layers   layers
	server   *inProcess
	data     interned[data]
	messages interned[any]
	texts    interned[[]span]
	served   map[service]reply

	log func(format string, args ...any) // logs what happens, or nil
}

// service is one run of a script.
type service struct {
	message, data, clock int32
	node                 environment
}

// reply is the outcome of a service.
type reply struct {
	data   int32
	got    scripts.Range  // of a taking
	raised scripts.Raised // of a raise
	ok     bool           // of a return
	err    error
}

// taking is a request for numbers, or for the raise that it waits for.
type taking struct {
	scripts.NextRequest

	kind  kind
	raise bool
	exact int64
}

type seeding struct {
	scripts.SeedRequest

	kind kind
}

// configuring is a change of settings, or the first ones.
type configuring struct {
	first        bool
	read, wanted scripts.Settings
}

// setting is what does not change between the worlds of a search.
type setting struct {
	aof    aof              // at the begin
	always bool             // appendfsync is always, so that each write is on disk
	limit  int64            // of the clients, 0 for none
	counts [3]int64         // how many numbers each client requests
	first  scripts.Settings // of the server
	losses int8             // how many losses may happen, 0 for any number
	// trusting permits what violates the statement of Durable: a copy of its data is started in its place before anybody asked it.
	trusting bool
	beyond   bool // what the promise does not cover happens too
}

func newModel(l layers, s setting) *model {
	for i, n := range s.counts {
		if n == 0 {
			s.counts[i] = [...]int64{2, 1, 2}[i]
		}
	}
	m := &model{setting: s, layers: l, server: newInProcess(l.lua), served: map[service]reply{}}
	m.data.id("", nil)
	m.texts.id("", nil)
	return m
}

func (m *model) newWorld() world {
	w := world{kept: none, lives: 1}
	w.nodes[0] = node{up: true, environment: environment{aof: m.aof}, since: -3_600_000, file: none, syncing: none}
	for i := range w.clients {
		w.clients[i] = newClient(0)
	}
	for i := range w.flight {
		w.flight[i] = none
	}
	if r := m.serve(&w, 0, configuring{first: true, wanted: m.first}); r.err != nil {
		panic("bug: " + r.err.Error())
	}
	w.sync(0)
	w.low = number(m.settings(&w, 0), "MinValue")
	return w
}

func (m *model) logf(format string, args ...any) {
	if m.log != nil {
		m.log(format, args...)
	}
}

// hash returns a key of a node.
func (m *model) hash(w *world, n int8, key string) map[string]string {
	return m.data.values[w.nodes[n].memory][key]
}

func (m *model) settings(w *world, n int8) map[string]string { return m.hash(w, n, settingsKey) }

func (m *model) durable(w *world, n int8) string { return m.settings(w, n)["Durable"] }

func (m *model) dataID(d data) int32 { return m.data.id(d.text(), d) }

func (m *model) messageID(message any) int32 { return m.messages.id(message, message) }

// serve runs a script on a node.
func (m *model) serve(w *world, n int8, message any) reply {
	nd := &w.nodes[n]
	nd.pending, nd.uptime = nd.syncing != none, (w.clock-nd.since)/1000
	s := service{m.messageID(message), nd.memory, w.clock, nd.environment}
	r, ok := m.served[s]
	if !ok {
		m.server.node, m.server.clock, m.server.state = s.node, s.clock, m.data.values[s.data].clone()
		r = m.call(m.server, message)
		r.data = m.dataID(m.server.state)
		if errors.Is(r.err, scripts.ErrReply) && !m.layers.mutant || r.err != nil && !scripts.Answered(r.err) && !errors.Is(r.err, scripts.ErrNotDurable) &&
			!strings.Contains(r.err.Error(), "READONLY") || r.err != nil && strings.Contains(r.err.Error(), "bad argument") {
			panic(fmt.Sprintf("bug: %v of %+v at\n%s", r.err, message, m.data.values[s.data].text()))
		}
		m.served[s] = r
	}
	m.write(w, n, r.data)
	return r
}

// call sends a message to a server.
func (m *model) call(client redis.Cmdable, message any) (r reply) {
	ctx := context.Background()
	switch q := message.(type) {
	case taking:
		next := m.layers.sent(q.NextRequest)
		values := scripts.IdentityRequest{
			Token: next.Token, Name: next.Name, Count: next.Capacity, Exact: q.exact, Limit: next.Limit, Marks: next.Marks,
		}
		switch k := keys[q.kind]; {
		case q.kind == collection && q.raise:
			r.raised, r.err = scripts.RaiseNext(ctx, client, k, next)
		case q.kind == collection:
			r.got, r.err = scripts.Next(ctx, client, k, next)
		case q.raise:
			r.raised, r.err = scripts.RaiseIdentity(ctx, client, k, values)
		default:
			r.got, r.err = scripts.Identity(ctx, client, k, values)
		}
		r.ok = r.err == nil && r.raised.Obstacle == ""
	case scripts.PermitRequest:
		r.err = scripts.Permit(ctx, client, q)[0].Err
	case scripts.ReturnRequest:
		r.ok, r.err = scripts.Return(ctx, client, q)
	case seeding:
		_, r.err = scripts.Seed(ctx, client, keys[q.kind], q.SeedRequest)
	case scripts.ImportRequest:
		r.err = scripts.Import(ctx, client, q).Err
	case configuring:
		at := time.Unix(begin, 0)
		if q.first {
			r.err = scripts.Initialize(ctx, client, settingsKey, at, q.wanted)
		} else {
			r.err = scripts.Configure(ctx, client, settingsKey, at, q.read, q.wanted)
		}
	}
	return r
}

// write replaces the data of a node, as far as its file and its replica get it, and ends the turn of the server.
func (m *model) write(w *world, n int8, data int32) {
	nd := &w.nodes[n]
	nd.memory = data
	if nd.aof == aofOn && m.always {
		nd.file = data
	}
	w.turn(n)
	if nd.connected && !nd.stalled {
		other := &w.nodes[1-n]
		other.memory, other.file = data, data
	}
}

// turn ends a turn of a server's event loop, which begins a sync if the last one began more than a second ago.
func (w *world) turn(n int8) bool {
	nd := &w.nodes[n]
	if !nd.due || nd.syncing != none || nd.memory == nd.file || nd.aof != aofOn {
		return false
	}
	nd.syncing, nd.due = nd.memory, false
	return true
}

// sync brings everything to the disk, as it was after what is awaited.
func (w *world) sync(n int8) bool {
	nd := &w.nodes[n]
	if nd.aof != aofOn || nd.file == nd.memory && nd.syncing == none {
		return false
	}
	nd.file, nd.syncing = nd.memory, none
	return true
}

// edit changes a field by hand, as redis-cli does.
func (m *model) edit(w *world, n int8, key, field, value string) bool {
	all := m.data.values[w.nodes[n].memory].clone()
	if all[key][field] == value {
		return false
	}
	if all[key] == nil {
		all[key] = map[string]string{}
	}
	all[key][field] = value
	if value == "" {
		delete(all[key], field)
	}
	m.write(w, n, m.dataID(all))
	return true
}

// covered reports, before a request is sent, whether the promise covers it. If it does, no text may be issued twice. It does not
// cover
//
//   - a counter that went back behind numbers that were issued, without another replication id or without an Origin to compare
//     with, such as a key that was deleted, if the request has no mark that shows it, unless a missing counter may not be made;
//   - numbers without prefix of the other kind of the name whose record was lost, if this client was issued none of them;
//   - an interval that was lost while the counter was not, if the client was not issued numbers of it;
//   - numbers that were lost beyond the margin of a jump, of which there are none in cases that are this small.
func (m *model) covered(w *world, n int8, q taking) bool {
	nd, counter, settings := &w.nodes[n], m.hash(w, n, keys[q.kind].Counter), m.settings(w, n)
	missing := counter[q.kind.field()] == ""
	refused := missing && q.Floor == 0 && (len(settings) == 0 || settings["NewCounters"] != "") || missing && q.Floor > 0 && q.Age > 600
	if nd.follows || refused || m.beyond {
		return true
	}
	floor, epoch, origin := q.Floor, number(counter, "Epoch"), counter["Origin"]
	if q.kind == identity && number(counter, "Lowered") > q.Lowered { // on purpose
		floor = 0
	}
	shows := floor > number(counter, q.kind.field()) || q.Ceiling > number(counter, "Raised") || q.Epoch > epoch ||
		q.Epoch != 0 && q.Epoch != epoch && epoch%1_000_000 == 0 || origin != "" && origin != replicationID(nd.life)
	if nd.lost[q.kind] && !shows {
		return false
	}
	bare := settings["ServerPrefix"]+settings["NodeTag"] == ""
	switch {
	case nd.interval && (!q.Settled || !bare || settings["MinValue"]+settings["MaxValue"] != ""):
		return false
	case q.kind == identity:
		return !nd.unmarked[collection] || q.Mixed
	default:
		return !bare || !nd.unmarked[identity] || q.Mixed
	}
}

// replace replaces the data of a node, perhaps in another life, and records what was lost.
func (m *model) replace(w *world, n int8, data int32, anotherLife bool) {
	nd := &w.nodes[n]
	nd.memory = data
	w.clock++
	for k := range nd.lost {
		counter := m.hash(w, n, keys[k].Counter)
		// A range of a lease may have been issued to others since.
		back := number(counter, kind(k).field()) < w.given[k] || counter["Lease"] != ""
		if nd.lost[k] = back && !anotherLife; counter["Written"] == "" { // then it has no Origin
			nd.lost[k] = back || w.nodes[1-n].up
		}
		nd.unmarked[k] = w.bare[k] && (len(counter) == 0 || k == int(collection) && counter["Bare"] == "")
	}
	nd.interval = number(m.settings(w, n), "MinValue") < w.low
}
