package interleavings

// befall lets a thing happen to a node.
func (m *model) befall(w *world, s step) bool {
	n, nd, other := s.node, &w.nodes[s.node], &w.nodes[1-s.node]
	switch s.event { //nolint:exhaustive // the others are not of nodes
	case eleven:
		m.logf("eleven minutes pass")
		w.clock += 660_000
		return n == 0
	case second:
		m.logf("a second passes")
		possible := n == 0 && (!nd.due || other.up && !other.due)
		for i := range w.nodes {
			w.nodes[i].due = true
		}
		for i := range w.clients {
			if it := &w.clients[i].raise; it.stage == stageAsked {
				it.stage, possible = stageApart, n == 0
			}
		}
		return possible
	case turn:
		m.logf("node %d begins a sync", n+1)
		return w.turn(n)
	case synced:
		m.logf("node %d has synced", n+1)
		if nd.syncing == none {
			return false
		}
		nd.file, nd.syncing = nd.syncing, none
		return true
	case flush:
		m.logf("everything of node %d is on disk", n+1)
		return w.sync(n)
	case keep:
		m.logf("the data of node %d is kept", n+1)
		possible := w.kept != nd.memory
		w.kept, w.keptPast = nd.memory, 0
		if nd.backlog {
			w.keptPast = nd.life + 1
		}
		return possible
	case restart, crash, crashRDB, older:
		if w.losses++; m.losses > 0 && w.losses > m.losses {
			return false
		}
		return !nd.connected && !m.forgotten(w, n) && m.start(w, s)
	case quiet, lose, loseValue, emptied:
		if w.losses++; m.losses > 0 && w.losses > m.losses {
			return false
		}
		return m.undo(w, s)
	case attach, stall, detach, promote, demote:
		return m.replicate(w, s)
	}
	before := nd.aof
	switch s.event {
	case switchOff:
		m.logf("on node %d the AOF is switched off", n+1)
		nd.aof, nd.syncing = aofOff, none
		return before == aofOn
	case switchOn:
		m.logf("on node %d the AOF is switched on, and its first rewrite is scheduled", n+1)
		nd.aof = aofScheduled
		return before == aofOff && !m.forgotten(w, n)
	case rewrite:
		m.logf("on node %d the AOF is rewritten", n+1)
		nd.aof = aofRewriting
		return before == aofScheduled
	case rewritten:
		m.logf("on node %d the AOF was rewritten, or has room again", n+1)
		nd.aof, nd.file = aofOn, nd.memory
		return before == aofRewriting || before == aofFailing
	default:
		m.logf("the disk of node %d is full", n+1)
		nd.aof, nd.syncing = aofFailing, none
		return before == aofOn
	}
}

// forgotten reports whether the next step of a node hides for ever that Durable is not true of it any more. Only a request for
// numbers can detect that before.
func (m *model) forgotten(w *world, n int8) bool {
	return w.nodes[n].heir && !w.beside && m.durable(w, n) != "" && !m.trusting
}

// live gives a node another replication id, and has it say which one was before.
func (w *world) live(n int8, past int8) {
	nd := &w.nodes[n]
	nd.life, nd.past, nd.quieted = w.lives, past, false
	w.lives++
	w.clock++
}

// start restarts a node.
func (m *model) start(w *world, s step) bool {
	nd, past := &w.nodes[s.node], int8(0)
	var from int32
	switch s.event {
	case restart:
		m.logf("node %d restarts", s.node+1)
		if from = nd.memory; nd.aof == aofOff {
			if nd.file != none {
				return false // it would load the file
			}
			w.kept, w.keptPast = nd.memory, 0
			if nd.backlog {
				past = nd.life + 1
				w.keptPast = past
			}
		}
	case crash:
		m.logf("node %d crashes, and restarts from its file", s.node+1)
		if from = nd.file; from == nd.memory {
			return false
		}
	case crashRDB:
		m.logf("node %d crashes, and restarts from its snapshot", s.node+1)
		if from, past = max(0, w.kept), w.keptPast; nd.aof != aofOff || from == nd.memory {
			return false
		}
	default:
		m.logf("node %d restarts from what was kept", s.node+1)
		if from = w.kept; from == nd.memory || from != none && m.data.values[from][settingsKey]["Durable"] != "" && !m.trusting {
			return false
		}
	}
	if from == none || w.lives == modelLife {
		return false
	}
	w.live(s.node, past)
	nd.syncing, nd.due, nd.backlog, nd.heir = none, false, past != 0, nd.aof == aofOff && s.event != older
	if s.event != crashRDB && (s.event != restart || nd.aof != aofOff) {
		nd.aof, nd.file = aofOn, from
	}
	nd.since = w.clock
	m.replace(w, s.node, from, true)
	return true
}

// undo lets data of a running node go back, or be lost, once in each life.
func (m *model) undo(w *world, s step) bool {
	n, nd := s.node, &w.nodes[s.node]
	all := m.data.values[nd.memory].clone()
	switch s.event {
	case quiet:
		m.logf("on node %d what was kept is put back", n+1)
		if w.kept == none {
			return false
		}
		all = m.data.values[w.kept]
	case lose:
		m.logf("node %d loses the collection", n+1)
		delete(all, keys[collection].Counter)
	case loseValue:
		m.logf("node %d loses the identity", n+1)
		delete(all, keys[identity].Counter)
	default:
		m.logf("node %d is emptied", n+1)
		all = data{}
	}
	id := m.dataID(all)
	if nd.quieted || id == nd.memory {
		return false
	}
	nd.quieted = true
	m.write(w, n, id)
	m.replace(w, n, id, false)
	return true
}

// replicate lets a node become a replica, be cut off, or be promoted.
func (m *model) replicate(w *world, s step) bool {
	n, nd, other := s.node, &w.nodes[s.node], &w.nodes[1-s.node]
	if w.lives == modelLife {
		return false
	}
	follow := func(replica, primary int8) {
		from := &w.nodes[primary]
		if !from.backlog {
			w.live(primary, 0)
		}
		from.connected, from.backlog, from.stalled = true, true, false
		w.nodes[replica] = node{copied: true, heir: true, since: w.clock, lost: from.lost, unmarked: from.unmarked, interval: from.interval, memory: from.memory, file: from.memory, syncing: none, environment: from.environment}
		w.nodes[replica].follows, w.nodes[replica].connected = true, false
	}
	switch s.event {
	case attach:
		m.logf("a replica attaches to node %d", n+1)
		if nd.connected || other.up {
			return false
		}
		follow(1-n, n)
	case stall:
		m.logf("the replica of node %d gets nothing any more", n+1)
		possible := nd.connected && !nd.stalled
		nd.stalled = true
		return possible
	case detach:
		m.logf("the replica of node %d is cut off", n+1)
		possible := nd.connected
		nd.connected, nd.stalled, other.follows = false, false, false
		return possible
	case promote:
		m.logf("node %d is promoted", n+1)
		if nd.up || !nd.copied {
			return false
		}
		other.connected, other.stalled = false, false
		w.live(n, nd.life+1)
		nd.up, nd.copied, nd.follows, nd.backlog = true, false, false, true
		m.replace(w, n, nd.memory, true)
	default:
		m.logf("node %d becomes a replica of the other one", n+1)
		if !other.up || other.connected || nd.connected {
			return false
		}
		follow(n, 1-n)
	}
	return true
}
