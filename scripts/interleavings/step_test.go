package interleavings

import "github.com/hilo-id/hilo/scripts"

// steps returns all steps that may be next, including those that will turn out to be impossible.
func steps(s scope, w *world) []step {
	var all []step
	add := func(verb verb, of step) {
		if of.verb = verb; s.verbs == 0 || s.verbs>>verb&1 == 1 {
			all = append(all, of)
		}
	}
	for n := range int8(len(w.nodes)) {
		if !w.nodes[n].up {
			continue
		}
		for c := range s.clients {
			if c == 2 && w.clients[0].sent == 0 { // the first client, which is its equal, comes first
				continue
			}
			for _, fate := range []fate{answered, lost, late} {
				add(doNext, step{client: c, node: n, fate: fate})
			}
			for _, fate := range []fate{answered, lost} {
				add(doAgain, step{client: c, node: n, fate: fate})
			}
			for used := range int8(capacities[c]) {
				for _, fate := range []fate{answered, late, twice} {
					add(doReturn, step{client: c, node: n, fate: fate, which: used})
				}
			}
		}
		for i := range w.flight {
			add(doArrive, step{node: n, which: int8(i)})
		}
		add(doSeed, step{node: n})
		add(doForced, step{node: n})
		add(doForced, step{node: n, fate: twice})
		for _, verb := range []verb{doSnapshot, doRestart, doBack, doQuietBack, doLose} {
			add(verb, step{node: n})
		}
	}
	for c := range s.clients {
		add(doEnd, step{client: c})
	}
	add(doPromote, step{node: 1})
	return all
}

// outcome is the outcome of a step.
type outcome struct {
	possible bool  // and covered by the promise
	twice    int32 // a number that a client already has, or 0
}

// take takes a step.
func (m *model) take(w *world, s step) outcome {
	n, c, name := s.node, &w.clients[s.client], 'A'+rune(s.client)
	switch s.verb {
	case doNext, doAgain:
		var r rangeRequest
		switch {
		case s.verb == doNext:
			r = request(c, s.client)
		case c.pending == none:
			return outcome{}
		default:
			r = m.nexts.values[c.pending]
			if m.kind == hilo { // requests of an identity are resent unchanged by the client library
				r.Floor, r.Epoch = int64(c.floor), int64(c.epoch)
			}
		}
		id := m.nexts.id(r)
		c.pending = id
		if s.fate == late {
			m.logf("%c asks%s", name, fates[s.fate])
			return outcome{possible: w.sends(message{doNext, id})}
		}
		got, covered := m.next(w, n, id)
		if !covered {
			return outcome{}
		}
		again := map[verb]string{doAgain: " again"}[s.verb]
		m.logf("%c asks node %d%s%s: %d..%d %s", name, n+1, again, fates[s.fate], got.Low, got.High, got.Evidence)
		if s.fate == lost {
			return outcome{possible: true}
		}
		return outcome{true, m.deliver(w, c, r.Token, got)}
	case doReturn:
		return outcome{possible: c.held[0] != none && m.giveBack(w, s)}
	case doArrive:
		return outcome{possible: w.flight[s.which] != message{} && m.arrive(w, s)}
	case doEnd:
		m.logf("%c ends, and another one comes", name)
		possible := *c != newPeer(c.sent)
		*c = newPeer(c.sent)
		return outcome{possible: possible}
	case doSeed, doForced:
		return outcome{possible: m.seed(w, s)}
	default:
		return outcome{possible: m.applyFault(w, s)}
	}
}

func (m *model) giveBack(w *world, s step) bool {
	c := &w.clients[s.client]
	if newest := m.spans.values[c.held[0]]; newest.low+int32(s.which) > newest.high {
		return false
	}
	r, floor := m.back(c, s.which)
	id := m.returns.id(r)
	w.taken = m.sets.id(m.sets.values[w.taken].without(int32(r.Last)+1, int32(r.End)))
	c.held, c.pending, c.below = [2]int32{none, none}, none, c.floor
	m.logf("%c returns %d..%d to node %d%s", 'A'+rune(s.client), r.Last+1, r.End, s.node+1, fates[s.fate])
	if s.fate != late && m.serve(w, s.node, doReturn, id).ok && s.fate == answered {
		c.floor, c.below = floor, floor
	}
	return s.fate == answered || w.sends(message{doReturn, id})
}

func (m *model) arrive(w *world, s step) bool {
	msg := w.arrives(s.which)
	switch msg.verb {
	case doNext:
		got, covered := m.next(w, s.node, msg.id)
		m.logf("node %d sees %q late: %d..%d for nobody %s", s.node+1, m.nexts.values[msg.id].Token, got.Low, got.High, got.Evidence)
		return covered
	case doReturn:
		ok := m.serve(w, s.node, doReturn, msg.id).ok
		m.logf("node %d sees the return of %d..%d late: %v", s.node+1, m.returns.values[msg.id].Last+1, m.returns.values[msg.id].End, ok)
	default:
		ok := m.serve(w, s.node, doForced, msg.id).ok
		m.logf("node %d sees the forced seed of %d late: %v", s.node+1, modelForced, ok)
	}
	return true
}

func (m *model) seed(w *world, s step) bool {
	nd := &w.nodes[s.node]
	r := scripts.SeedRequest{Field: m.kind.field, Name: "orders", Value: modelSeed}
	if s.verb == doForced {
		state := m.states.values[nd.state]
		r.Value, r.Force, r.Expected = modelForced, true, scripts.Standing{Value: state.max, Written: state.written}
	}
	id := m.seeds.id(r)
	if !m.covered(w, s.node, s.verb, id) {
		return false
	}
	m.serve(w, s.node, s.verb, id)
	if decimalOf(m.states.values[nd.state].max) >= w.given && !w.nodes[1-s.node].up {
		nd.lost = false
	}
	m.logf("node %d is seeded with %d%s", s.node+1, r.Value, map[bool]string{true: " by force"}[r.Force]+fates[s.fate])
	return s.fate == answered || w.sends(message{doForced, id})
}

// applyFault applies a restart, a loss or another event of a node.
func (m *model) applyFault(w *world, s step) bool {
	n, nd := s.node, &w.nodes[s.node]
	state := m.states.values[nd.state]
	switch s.verb {
	case doSnapshot:
		m.logf("the state of node %d is kept: %s", n+1, state.max)
		changed := w.snapshot != nd.state
		w.snapshot = nd.state
		return changed
	case doRestart:
		m.logf("node %d restarts", n+1)
		return state.origin == m.ids[nd.life] && m.rise(w, n, nd.state)
	case doBack:
		m.logf("node %d restarts with the state that was kept", n+1)
		return w.snapshot != none && w.snapshot != nd.state && m.rise(w, n, w.snapshot)
	case doPromote:
		m.logf("node 2 is promoted, with the state that was kept")
		return w.snapshot != none && !nd.up && m.rise(w, n, w.snapshot)
	case doQuietBack:
		m.logf("on node %d the state that was kept is put back", n+1)
		return w.snapshot != none && m.put(w, n, w.snapshot)
	default:
		m.logf("node %d loses the key", n+1)
		return m.put(w, n, 0)
	}
}

// put replaces the state of a running node.
func (m *model) put(w *world, n int8, state int32) bool {
	nd := &w.nodes[n]
	if nd.state == state {
		return false
	}
	nd.state = state
	w.clock++
	nd.lost = m.undetected(w, n, false)
	if m.players != nil {
		m.players.put(n, m.states.values[state])
	}
	return true
}
