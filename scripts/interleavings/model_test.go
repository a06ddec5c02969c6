package interleavings

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
)

// Ranges of one or two numbers are enough to show everything. A few of them never fill the gap.
const (
	modelSeed   = 9 // what a seed raises to
	modelForced = 5 // what a seed by force sets
	modelLives  = 5
)

// capacities are what the clients request. They differ, so that a counter can return to the very number that it had before.
var capacities = [3]int64{2, 1, 2}

type verb int8

const (
	doNext verb = iota + 1
	doAgain
	doReturn
	doArrive
	doEnd
	doSeed
	doForced
	doSnapshot
	doRestart
	doBack
	doQuietBack
	doPromote
	doLose
)

type fate int8

const (
	answered fate = iota // the server runs it, the client has the reply
	lost                 // the server runs it, the reply is lost
	late                 // the client gives up waiting, the server sees it later, or never
	twice                // the server runs it, the reply is lost, and a copy is on its way
)

var fates = [...]string{"", ", and the reply is lost", ", which is late", ", the reply is lost, and a copy is late"}

// step is one event of a client or a node.
type step struct {
	verb   verb
	client int8
	node   int8
	fate   fate
	which  int8 // how many numbers were used of what is returned; which message arrives
}

// rangeRequest is a request for a range, or for values of an identity.
type rangeRequest struct {
	scripts.NextRequest

	lowered int32 // for an identity, how often it had been lowered by force when the floor was issued
}

// model is the state that the worlds of one search share.
type model struct {
	kind    kind
	layers  layers
	server  *inProcess
	ids     [modelLives]string // replication ids
	states  interned[counter]
	nexts   interned[rangeRequest]
	returns interned[scripts.ReturnRequest]
	seeds   interned[scripts.SeedRequest]
	spans   interned[span]
	sets    interned[numbers]
	leaps   interned[string]
	served  map[service]served
	clock   int8 // of the world that is served

	log     func(format string, args ...any) // logs what happens, or nil
	players players                          // real servers that have to agree, or nil
}

// players repeat what the model does, and check that the outcome is the same.
type players interface {
	rise(n int8, c counter) (replicationID string) // another life of a node, with a state
	put(n int8, c counter)                         // a state, in the same life
	serve(n int8, request any, s served, c counter)
}

// microseconds returns the part of the clock that changes. The seconds are constant.
func microseconds(clock int8) string { return strconv.Itoa(int(clock) * 1000) }

// service is one run of a script.
type service struct {
	verb        verb
	life, clock int8
	state       int32
	request     int32
}

// served is the outcome of a service.
type served struct {
	state int32
	got   scripts.Range // of next
	ok    bool          // of the others: it did something
}

func newModel(k kind, l layers) *model {
	m := &model{kind: k, layers: l, server: newInProcess(l.lua), served: map[service]served{}}
	for life := range m.ids {
		m.ids[life] = fmt.Sprintf("%040x", life+1)
	}
	m.states.id(counter{}) // 0, as in a new world
	m.sets.id("")
	m.leaps.id("")
	return m
}

func (m *model) logf(format string, args ...any) {
	if m.log != nil {
		m.log(format, args...)
	}
}

// serve runs a script on a node.
func (m *model) serve(w *world, n int8, verb verb, request int32) served {
	nd := &w.nodes[n]
	m.clock = w.clock
	key := service{verb, nd.life, w.clock, nd.state, request}
	s, ok := m.served[key]
	if !ok {
		s = m.run(key)
		m.served[key] = s
	}
	nd.state = s.state
	if m.players != nil {
		var r any
		switch verb {
		case doNext:
			r = m.nexts.values[request]
		case doReturn:
			r = m.returns.values[request]
		default:
			r = m.seeds.values[request]
		}
		m.players.serve(n, r, s, m.states.values[s.state])
	}
	return s
}

func (m *model) run(key service) (s served) {
	ctx := context.Background()
	m.server.replicationID, m.server.microseconds = m.ids[key.life], microseconds(key.clock)
	m.server.state = map[string]map[string]string{m.kind.keys.Counter: m.states.values[key.state].fields(m.kind)}
	var err error
	switch key.verb {
	case doNext:
		s.got, err = m.request(ctx, m.server, m.nexts.values[key.request])
	case doReturn:
		s.ok, err = scripts.Return(ctx, m.server, m.returns.values[key.request])
	default:
		_, err = scripts.Seed(ctx, m.server, m.kind.keys, m.seeds.values[key.request])
		s.ok = err == nil
		if scripts.Answered(err) {
			err = nil
		}
	}
	if err != nil {
		panic(fmt.Sprintf("bug: %v at %+v", err, m.states.values[key.state]))
	}
	s.state = m.states.id(counterOf(m.kind, m.server.state[m.kind.keys.Counter]))
	return s
}

// request sends a request to a server.
func (m *model) request(ctx context.Context, server redis.Scripter, a rangeRequest) (scripts.Range, error) {
	r := m.layers.sent(a.NextRequest)
	if m.kind == hilo {
		return scripts.Next(ctx, server, m.kind.keys, r)
	}
	return scripts.Identity(ctx, server, m.kind.keys, scripts.IdentityRequest{
		Token: r.Token, Name: r.Name, Count: r.Capacity, Limit: r.Limit,
		Floor: r.Floor, Epoch: r.Epoch, Lowered: int64(a.lowered),
	})
}

// greatest returns the greatest number that any client has.
func (m *model) greatest(w *world) int32 { return m.sets.values[w.taken].greatest() }

// covered reports, before a step is taken, whether the promise covers it. If it does, no number may be issued twice. The promise
// does not cover
//
//   - a counter that goes back behind numbers that were issued, without another replication id or without an Origin to compare
//     with (a key removed, a state restored by hand, a server that restarts empty), if the next request has no floor and no
//     epoch that shows it. A client that has the collection in hand sends them, and RequireSeeded covers a missing counter;
//   - a counter that is lost in this way again before a request that jumped is sent again. In the same life of the server its
//     token leads to the same offset;
//   - a seed by force below what a client has, the first time it takes effect.
//
// Beyond one gap only the random offset protects, which makes a collision unlikely and not impossible. The few offsets in these
// searches do not collide.
func (m *model) covered(w *world, n int8, verb verb, request int32) bool {
	nd := &w.nodes[n]
	state := m.states.values[nd.state]
	switch verb {
	case doNext:
		r := m.nexts.values[request]
		floor := r.Floor
		if m.kind == identities && decimalOf(state.lowered) > r.lowered { // it was lowered since, on purpose
			floor = 0
		}
		knows := floor > int64(decimalOf(state.max)) || r.Epoch > int64(decimalOf(state.epoch)) || state.origin != "" && state.origin != m.ids[nd.life]
		if knows && strings.Contains(m.leaps.values[w.jumps], m.leap(w, n, request)) {
			return false
		}
		return !nd.lost || knows
	case doForced:
		return modelForced >= m.greatest(w)
	default:
		return true
	}
}

// undetected reports whether a node whose state was replaced, possibly with another life, went back behind a number that was
// issued without a replication id that shows it.
func (m *model) undetected(w *world, n int8, anotherLife bool) bool {
	state := m.states.values[w.nodes[n].state]
	back := decimalOf(state.max) < w.given || state.lease != "" // a range of it may have been issued to others since
	if state.origin == "" {
		return back || anotherLife || w.nodes[1-n].up
	}
	return back && !anotherLife
}

// leap returns the key of a jump in a world. It names the request and the life of the server.
func (m *model) leap(w *world, n int8, request int32) string {
	return fmt.Sprintf("%s in life %d;", m.nexts.values[request].Token, w.nodes[n].life)
}

// next serves a request for a range on a node.
func (m *model) next(w *world, n int8, request int32) (got scripts.Range, covered bool) {
	if !m.covered(w, n, doNext, request) {
		return got, false
	}
	got = m.serve(w, n, doNext, request).got
	w.given = max(w.given, int32(got.High))
	if got.Evidence != "" {
		w.jumps = m.leaps.id(m.leaps.values[w.jumps] + m.leap(w, n, request))
	}
	if got.Evidence != "" {
		w.nodes[n].lost = false
	}
	return got, true
}

// deliver records that a client received a range. It returns the first of its numbers that a client already had, or 0.
func (m *model) deliver(w *world, c *peer, token string, got scripts.Range) (twice int32) {
	low, high := int32(got.Low), int32(got.High)
	if m.kind == hilo { // of which ranges are returned
		if c.held[1] != none {
			c.below = m.spans.values[c.held[1]].high
		}
		c.held[1] = c.held[0]
		c.held[0] = m.spans.id(span{token, low, high, int32(got.Epoch), got.Before, got.Written})
	}
	c.pending, c.floor, c.epoch, c.lowered = none, high, max(c.epoch, int32(got.Epoch)), int32(got.Lowered)
	taken, twice := m.sets.values[w.taken].with(low, high)
	w.taken = m.sets.id(taken)
	return twice
}

// back returns the return of a client that used some numbers of its newest range, and the floor of that client if it succeeds. If
// it used none, it also returns all but one of the numbers of the range before, where no other range was issued between the two.
func (m *model) back(c *peer, used int8) (r scripts.ReturnRequest, floor int32) {
	newest := m.spans.values[c.held[0]]
	last, floor := newest.low-1+int32(used), newest.low-1+int32(used)
	if used == 0 {
		floor = c.below
		if c.held[1] != none {
			older := m.spans.values[c.held[1]]
			floor = older.high
			if newest.before == older.written && older.high == last {
				last, floor = older.low, older.low
			}
		}
	}
	return scripts.ReturnRequest{
		Counter: m.kind.keys.Counter, Token: newest.token, End: int64(newest.high), Last: int64(last), Epoch: int64(newest.epoch), Written: newest.written,
	}, floor
}

func request(c *peer, client int8) rangeRequest {
	c.sent++
	return rangeRequest{scripts.NextRequest{
		Token: fmt.Sprintf("request %d of client %d", c.sent, client), Name: "orders", Capacity: capacities[client], Limit: math.MaxInt64,
		Floor: int64(c.floor), Epoch: int64(c.epoch),
	}, c.lowered}
}

// rise starts a node with another replication id.
func (m *model) rise(w *world, n int8, state int32) bool {
	if int(w.lives) == len(m.ids) {
		return false
	}
	w.nodes[n] = node{up: true, life: w.lives, state: state}
	w.lives++
	w.clock++
	c := m.states.values[state]
	if m.players != nil {
		m.ids[w.nodes[n].life] = m.players.rise(n, c)
	}
	w.nodes[n].lost = m.undetected(w, n, true)
	return true
}
