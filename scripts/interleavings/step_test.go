package interleavings

import (
	"fmt"

	"github.com/hilo-id/hilo/scripts"
)

// event is one thing that may happen.
type event int8

const (
	_ event = iota

	// A client asks a primary.
	take
	takeLost // the server serves it, and the reply is lost
	takeLate // the client gives up waiting, and the server sees it later, or never
	again    // the request whose reply did not come is sent again
	againLost
	value // of the identity
	valueLost
	valueLate
	exact     // a value of the identity that is free
	atReplica // a client asks a replica that accepts writes
	// A client raises the ceiling of a durable server.
	reserve // it raises, waits for the disk, and permits
	reserveValue
	raise     // it raises, and gives up or goes on with ask
	ask       // it asks the next question, of which the last permits
	permitted // it raises and waits for the disk, and its permit is late
	// A client returns numbers, and ends.
	unused
	unusedLate
	unusedTwice // the reply is lost, and a copy is late
	ended
	// A message that is late is seen.
	arrive

	// Time.
	minute // and client 1 takes a minute's numbers at a steady rate
	eleven // minutes
	second
	turn // of a server's event loop
	synced
	flush // all that was written is on disk

	// A server loses its data, or part of it.
	restart  // from all that was written
	crash    // and restart from the file
	keep     // a snapshot
	crashRDB // and restart from the snapshot, without an AOF
	older    // restart from the snapshot as a copy, with an AOF
	quiet    // the snapshot is put back, with the replication id unchanged
	lose     // the key of the collection
	loseValue
	emptied // settings too

	// Replication.
	attach
	stall // the replica gets nothing any more, while it is connected
	detach
	promote
	demote // an old primary becomes a replica of the new one

	// The append-only file.
	switchOff
	switchOn
	rewrite
	rewritten
	full // the disk is

	// An operator.
	initSeeded // hilo init --seeded-only
	setPrefix
	clearPrefix
	setDurable
	unsetDurable
	setMin
	setMinLate // hilo settings set --tag, decided before setMin, and late
	prefixByHand
	clearByHand
	maxByHand
	seed
	seedValue
	force
	forceTwice // the reply is lost, and a copy is late
	move       // export, and import by another server in its place
)

// step is an event with what it affects.
type step struct {
	event  event
	node   int8
	client int8
	which  int8 // how many numbers were used of what is returned; which message arrives
}

// What operators set.
const (
	seedTo    = 90
	forceTo   = 5
	handTo    = 60
	lowest    = 1_000_000_001
	modelLife = 6
)

// steps returns all steps that may be next, including those that will turn out to be impossible.
func steps(s scope) (all []step) {
	for _, e := range s.events {
		for n := range int8(2) {
			switch {
			case e == unused || e == unusedLate || e == unusedTwice:
				for c := range s.clients {
					all = append(all, step{e, n, c, 0}, step{e, n, c, 1})
				}
			case e < arrive:
				for c := range s.clients {
					all = append(all, step{event: e, node: n, client: c})
				}
			case e == arrive:
				all = append(all, step{event: e, node: n}, step{event: e, node: n, which: 1})
			default:
				all = append(all, step{event: e, node: n})
			}
		}
	}
	return all
}

// outcome is the outcome of a step.
type outcome struct {
	possible bool   // and covered by the promise
	twice    string // a text that a client already had, or ""
}

// apply takes a step.
func (m *model) apply(w *world, s step) outcome {
	n, nd, c, name := s.node, &w.nodes[s.node], &w.clients[s.client], 'A'+rune(s.client)
	follower := s.event == atReplica || s.event == promote
	if s.event != promote && !nd.up && (!follower || !nd.follows) {
		return outcome{}
	}
	switch s.event {
	case take, takeLost, takeLate, again, againLost, value, valueLost, valueLate, exact, atReplica:
		return m.ask(w, s)
	case reserve, reserveValue, raise, ask, permitted:
		return outcome{possible: m.reserve(w, s)}
	case unused, unusedLate, unusedTwice:
		return outcome{possible: c.ranges[0] != none && m.giveBack(w, s)}
	case ended:
		m.logf("%c ends, and another one comes", name)
		possible := n == 0 && *c != newClient(c.sent)
		*c = newClient(c.sent)
		return outcome{possible: possible}
	case arrive:
		return outcome{possible: w.flight[s.which] != none && m.arrive(w, s)}
	case minute:
		m.logf("a minute passes, in which B takes 16,200 numbers")
		w.clock += 60_000
		b := &w.clients[1]
		q := m.request(w, b, 1, collection, 16_200)
		got, ok := m.take(w, n, q, false)
		if !ok {
			return outcome{}
		}
		return outcome{true, m.deliver(w, b, q, got)}
	default:
		if s.event >= initSeeded {
			return outcome{possible: m.operate(w, s)}
		}
		return outcome{possible: m.befall(w, s)}
	}
}

// ask sends a request for numbers.
func (m *model) ask(w *world, s step) outcome {
	n, c, name, k := s.node, &w.clients[s.client], 'A'+rune(s.client), collection
	if s.event == value || s.event == valueLost || s.event == valueLate || s.event == exact {
		k = identity
	}
	var q taking
	switch resend := s.event == again || s.event == againLost; {
	case resend && c.pending == none:
		return outcome{}
	case resend:
		q = m.messages.values[c.pending].(taking)
		q.Marks = w.sends(c, collection)
	case k == identity:
		q = m.request(w, c, s.client, k, 1)
	default:
		q = m.request(w, c, s.client, k, m.counts[s.client])
	}
	if s.event == exact {
		q.exact = c.marks[identity].floor + 2
	}
	id := m.messageID(q)
	if k == collection {
		c.pending = id
	}
	what := map[kind]string{collection: "numbers", identity: "a value"}[k]
	if s.event == takeLate || s.event == valueLate {
		m.logf("%c asks for %s, which is late", name, what)
		return outcome{possible: w.posts(id)}
	}
	heir, lost := w.nodes[n].heir, s.event == takeLost || s.event == againLost || s.event == valueLost
	got, ok := m.take(w, n, q, lost)
	if !ok {
		return outcome{possible: heir && !w.nodes[n].heir}
	}
	m.logf("%c asks node %d for %s%s: %s%d..%d of %d %s%s", name, n+1, what, map[bool]string{true: " again"}[s.event == again || s.event == againLost],
		got.Prefix, got.Low, got.High, got.Ceiling, got.Evidence, map[bool]string{true: ", and the reply is lost"}[lost])
	if lost {
		return outcome{possible: true}
	}
	return outcome{true, m.deliver(w, c, q, got)}
}

// reserve raises a ceiling, or goes on with a raise.
func (m *model) reserve(w *world, s step) bool {
	n, c, name := s.node, &w.clients[s.client], 'A'+rune(s.client)
	if s.event == ask {
		return m.question(w, s)
	}
	k := collection
	if s.event == reserveValue {
		k = identity
	}
	q := m.request(w, c, s.client, k, map[kind]int64{collection: m.counts[s.client], identity: 1}[k])
	q.raise = true
	if !m.covered(w, n, q) {
		return false
	}
	r := m.serve(w, n, q)
	if !r.ok {
		return false
	}
	if r.raised.Evidence != "" {
		w.nodes[n].lost[k] = false
	}
	m.logf("%c raises the ceiling at node %d to %d %s", name, n+1, r.raised.Raised, r.raised.Evidence)
	c.raise = raising{stageRaised, k, r.raised.Raised, r.raised.Origin}
	if r.raised.Permitted {
		c.raise = raising{}
		return s.event != permitted
	}
	permit := scripts.PermitRequest{Keys: keys[k], Origin: r.raised.Origin, Raised: r.raised.Raised}
	switch s.event {
	case reserve, reserveValue:
		c.raise = raising{}
		m.logf("  which gets to disk, and is permitted")
		w.sync(n)
		return m.serve(w, n, permit).err == nil
	case permitted:
		c.raise = raising{}
		m.logf("  which gets to disk, and the permit is late")
		w.sync(n)
		return w.posts(m.messageID(permit))
	default:
		return true
	}
}

// question asks the next question of a raise.
func (m *model) question(w *world, s step) bool {
	n, c, name := s.node, &w.clients[s.client], 'A'+rune(s.client)
	it := &c.raise
	q := scripts.PermitRequest{Keys: scripts.Keys{Counter: settingsKey, Server: settingsKey, Other: settingsKey}}
	next, further := m.layers.after[it.stage]
	if !further {
		q = scripts.PermitRequest{Keys: keys[it.kind], Origin: it.origin, Raised: it.raised}
	}
	if it.stage == 0 || it.stage == stageAsked {
		return false
	}
	if err := m.serve(w, n, q).err; err != nil {
		m.logf("node %d refuses: %v", n+1, err)
		return false
	}
	if !further {
		m.logf("%c asks the last question, and the ceiling is %d", name, it.raised)
		*it = raising{}
		return true
	}
	m.logf("%c asks question %d", name, it.stage)
	it.stage = next
	return true
}

func (m *model) giveBack(w *world, s step) bool {
	c, nd := &w.clients[s.client], &w.nodes[s.node]
	newest := m.messages.values[c.ranges[0]].(held)
	if newest.Low+int64(s.which) > newest.High {
		return false
	}
	r, floor := m.unused(c, int64(s.which))
	id := m.messageID(r)
	list := without(m.texts.values[w.texts], span{affixes(collection, newest.Range), r.Last + 1, r.End})
	w.texts = m.texts.id(fmt.Sprint(list), list)
	c.ranges, c.pending = [2]int32{none, none}, none
	m.logf("%c returns %d..%d to node %d%s", 'A'+rune(s.client), r.Last+1, r.End, s.node+1,
		map[event]string{unusedLate: ", which is late", unusedTwice: ", the reply is lost, and a copy is late"}[s.event])
	c.marks[collection].floor, c.below = floor, floor // whatever the reply is
	if s.event != unusedLate {
		m.serve(w, s.node, r)
	}
	return nd.up && (s.event == unused || w.posts(id))
}

// arrive lets a server see a message that is late.
func (m *model) arrive(w *world, s step) bool {
	switch q := m.messages.values[w.takes(s.which)].(type) {
	case taking:
		got, ok := m.take(w, s.node, q, true)
		m.logf("node %d sees %q late: %s%d..%d for nobody %s", s.node+1, q.Token, got.Prefix, got.Low, got.High, got.Evidence)
		return ok
	case seeding:
		r := m.serve(w, s.node, q)
		m.logf("node %d sees the forced seed of %d late: %v", s.node+1, q.Value, r.err == nil)
		return r.err == nil
	case configuring:
		r := m.serve(w, s.node, q)
		m.logf("node %d sees a change of settings late: %v", s.node+1, r.err == nil)
		return r.err == nil
	case scripts.PermitRequest:
		r := m.serve(w, s.node, q)
		m.logf("node %d sees the permit of %d late: %v", s.node+1, q.Raised, r.err == nil)
		return r.err == nil
	default:
		r := m.serve(w, s.node, q)
		m.logf("node %d sees a return late: %v", s.node+1, r.ok)
		return r.ok
	}
}
