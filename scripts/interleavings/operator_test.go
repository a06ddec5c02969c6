package interleavings

import (
	"fmt"
	"strconv"

	"github.com/hilo-id/hilo/scripts"
)

// operate does what operators do.
func (m *model) operate(w *world, s step) bool {
	n, nd := s.node, &w.nodes[s.node]
	stored := m.settings(w, n)
	var read scripts.Settings
	for i, field := range scripts.SettingsFields {
		read[i] = stored[field]
	}
	wanted := read
	set := func(field int, from, to string) bool {
		if read[field] != from {
			return false
		}
		wanted[field] = to
		if m.serve(w, n, configuring{read: read, wanted: wanted}).err != nil {
			return false
		}
		w.sync(n) // the operator waits for that
		w.low = max(w.low, number(m.settings(w, n), "MinValue"))
		m.logf("on node %d %s is set to %q", n+1, scripts.SettingsFields[field], to)
		return true
	}
	durable := "everysec"
	if m.always {
		durable = "always"
	}
	switch s.event { //nolint:exhaustive // the others are not of operators
	case initSeeded:
		wanted[6] = "no"
		m.logf("node %d is initialised with NewCounters no", n+1)
		return len(stored) == 0 && m.serve(w, n, configuring{first: true, wanted: wanted}).err == nil
	case setPrefix:
		wanted[2] = "here"
		return set(0, "", "N/")
	case clearPrefix:
		return set(0, "N/", "")
	case setDurable:
		w.beside = false
		return nd.aof == aofOn && !nd.connected && !nd.heir && set(3, "", durable)
	case unsetDurable:
		return set(3, durable, "")
	case setMin:
		return set(4, "", strconv.Itoa(lowest))
	case setMinLate:
		wanted[1] = "T"
		m.logf("the tag of node %d is set, which is late", n+1)
		return w.posts(m.messageID(configuring{read: read, wanted: wanted}))
	case prefixByHand:
		m.logf("on node %d the prefix is set by hand", n+1)
		return m.edit(w, n, settingsKey, "ServerPrefix", "N/") && m.edit(w, n, settingsKey, "Identities", "here")
	case clearByHand:
		m.logf("on node %d the prefix is cleared by hand", n+1)
		return m.edit(w, n, settingsKey, "ServerPrefix", "")
	case maxByHand:
		m.logf("on node %d Max is set to %d by hand", n+1, handTo)
		if stored["ServerPrefix"] != "" || w.given[collection]+w.given[identity] > 0 {
			return false
		}
		list := []span{{"", 1, handTo}} // which are in use
		w.given[collection], w.bare[collection], w.texts = handTo, true, m.texts.id(fmt.Sprint(list), list)
		return m.edit(w, n, keys[collection].Counter, scripts.FieldMax, strconv.Itoa(handTo))
	case move:
		return m.move(w, n)
	}
	return m.seed(w, s)
}

func (m *model) seed(w *world, s step) bool {
	n, k := s.node, collection
	if s.event == seedValue {
		k = identity
	}
	q := seeding{scripts.SeedRequest{Field: k.field(), Name: "orders", Value: seedTo}, k}
	counter := m.hash(w, n, keys[k].Counter)
	if s.event == force || s.event == forceTwice {
		if w.given[k] > forceTo {
			return false
		}
		q.Value, q.Force, q.Expected = forceTo, true, scripts.Standing{Value: counter[k.field()], Written: counter["Written"]}
	}
	if m.serve(w, n, q).err != nil {
		return false
	}
	m.logf("node %d is seeded with %d", n+1, q.Value)
	if m.durable(w, n) != "" {
		w.sync(n)
		if m.serve(w, n, scripts.PermitRequest{Keys: keys[k], Raised: q.Value}).err != nil {
			return false
		}
	}
	if number(m.hash(w, n, keys[k].Counter), k.field()) >= w.given[k] && !w.nodes[1-n].up {
		w.nodes[n].lost[k] = false
	}
	return s.event != forceTwice || w.posts(m.messageID(q))
}

// move exports a node and imports that into a new server in its place.
func (m *model) move(w *world, n int8) bool {
	nd, other := &w.nodes[n], &w.nodes[1-n]
	if len(m.settings(w, n)) == 0 || other.up || other.copied || nd.connected || m.durable(w, n) != "" || w.lives == modelLife {
		return false
	}
	all := m.data.values[nd.memory]
	var settings scripts.Settings
	for i, field := range scripts.SettingsFields {
		settings[i] = all[settingsKey][field]
	}
	from := nd.environment
	nd.up = false
	*other = node{up: true, since: w.clock, file: none, syncing: none, environment: environment{aof: nd.aof}, lost: nd.lost, unmarked: nd.unmarked, interval: nd.interval}
	other.life = w.lives
	w.lives++
	w.clock++
	m.logf("node %d is exported, and imported by node %d", n+1, 2-n)
	if m.serve(w, 1-n, configuring{first: true, wanted: settings}).err != nil {
		return false
	}
	for k := range kind(len(keys)) {
		c := all[keys[k].Counter]
		if c == nil {
			continue
		}
		q := scripts.ImportRequest{
			Keys: keys[k], Field: k.field(), Name: "orders", Value: number(c, k.field()), Epoch: number(c, "Epoch"), Ranges: number(c, "Ranges"),
			Raised: number(c, "Raised"), Block: number(c, "Block"), RaisedAt: number(c, "RaisedAt"), Written: number(c, "Written"),
			Lowered: number(c, "Lowered"), Bare: c["Bare"] != "",
		}
		if origin := c["Origin"]; origin != "" && origin != replicationID(from.life) { // as admin.Export
			units := int64(4)
			if origin != replicationID(from.past-1) && from.aof == aofOff {
				units *= 15
			}
			q.Value = max(q.Value, q.Raised) + units*max(q.Block, map[kind]int64{collection: 16384, identity: 256}[k])
			q.Epoch++
		}
		if m.serve(w, 1-n, q).err != nil {
			return false
		}
	}
	return true
}
