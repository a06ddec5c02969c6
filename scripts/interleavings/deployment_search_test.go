package interleavings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// extent is one small case of a deployment, with the events that happened before and those that may happen.
type extent struct {
	name   string
	events []event
	begin  []transition
	depth  int
	hasty  bool // Durable is set without settling the counters
	within bool
	beyond bool
	calm   bool // no counter may jump while Durable is set
	// interval is whether the server has an interval, and neither prefix nor tag, as one of several masters. A number outside of it
	// counts as issued twice, since another master may issue it.
	interval bool
}

// transitions returns all transitions that may be next, including those that will turn out to be impossible.
func transitions(e extent) (all []transition) {
	for _, ev := range e.events {
		for n := range int8(2) {
			switch ev {
			case takeRange, takeLost, takeAgain, takeIdentity:
				all = append(all, transition{ev, n, 0}, transition{ev, n, 1})
			case newClient:
				if n == 0 {
					all = append(all, transition{ev, 0, 0}, transition{ev, 0, 1})
				}
			default:
				all = append(all, transition{ev, n, 0})
			}
		}
	}
	return all
}

// explore walks all interleavings of an extent, breadth first. It returns the shortest that issues a text twice, or that jumps
// where none may.
func explore(m *deploymentModel, e extent) (found []string, worlds int) {
	type spot struct {
		world deployment
		from  int
		words string
	}
	w := newDeployment()
	if e.interval {
		m.byHand(&w, 0, "MinValue", strconv.Itoa(intervalLow))
		m.byHand(&w, 0, "MaxValue", strconv.Itoa(intervalHigh))
		m.byHand(&w, 0, "Identities", "here")
	}
	var begun []string
	for _, h := range e.begin {
		r := m.apply(&w, h)
		if !r.possible || r.twice != "" {
			panic(fmt.Sprintf("bug: it cannot begin with %+v: %+v", h, r))
		}
		begun = append(begun, r.words)
	}
	tree := []spot{{w, none, ""}}
	known := map[deployment]bool{w: true}
	may := transitions(e)
	for depth, low := 0, 0; depth < e.depth; depth++ {
		high := len(tree)
		for at := low; at < high; at++ {
			for _, h := range may {
				w := tree[at].world
				r := m.apply(&w, h)
				if !r.possible {
					continue
				}
				if r.twice != "" || e.calm && w.jumped {
					found = []string{r.words, map[bool]string{true: r.twice + " is issued twice", false: "it jumps"}[r.twice != ""]}
					for ; at != none; at = tree[at].from {
						found = slices.Insert(found, 0, tree[at].words)
					}
					return append(begun, found[1:]...), len(tree)
				}
				if depth+1 < e.depth && !known[w] {
					known[w] = true
					tree = append(tree, spot{w, at, r.words})
				}
			}
		}
		low = high
	}
	return nil, len(tree)
}

// These are the cases that the promise covers.
var covered = []extent{
	{
		name: "both kinds of a name, a prefix that comes and goes, a loss", depth: 5,
		events: []event{takeRange, takeIdentity, newClient, prefixSet, prefixCleared, prefixSetByHand, prefixClearedByHand, keep, restartOld, keyLost},
		begin:  []transition{{event: takeRange}},
	},
	{
		name: "a name of both kinds beside a prefix", depth: 5,
		events: []event{takeRange, takeIdentity, prefixCleared, prefixClearedByHand, prefixSetByHand, keep, restartOld, seededLow, moved},
		begin:  []transition{{event: prefixSet}, {event: takeRange}, {event: keep}},
	},
	{
		name: "Durable as it is stated", depth: 5, calm: true,
		events: []event{takeRange, takeLost, takeAgain, takeIdentity, prefixSet, prefixCleared, restartAOF, durableRemoved},
		begin:  []transition{{event: durableSet}, {event: takeRange}},
	},
	{
		name: "Durable set after a loss", depth: 5,
		events: []event{takeRange, takeIdentity, restartAOF, durableSet, durableRemoved, prefixSetByHand},
		begin:  []transition{{event: takeRange}, {event: keep}, {event: takeRange, client: 1}, {event: restartOld}},
	},
	{
		name: "Durable beside replicas", depth: 6, within: true,
		events: []event{takeRange, takeAgain, takeLost, restartAOF, attach, detach, promote, replicaRestarted, turnedBack},
		begin:  []transition{{event: durableSet}, {event: takeRange}},
	},
	{
		name: "Durable, and the AOF switched off", depth: 6,
		events: []event{takeRange, takeIdentity, keep, aofOff, restartRDB, durableSet, durableRemoved},
		begin:  []transition{{event: durableSet}, {event: takeRange}},
	},
	{
		name: "a master with an interval", depth: 5, interval: true,
		events: []event{takeRange, takeLost, takeAgain, newClient, keep, restartOld, seededLow, emptied, moved, attach, promote},
		begin:  []transition{{event: takeRange}},
	},
	{
		name: "identities of a master with an interval", depth: 5, interval: true,
		events: []event{takeIdentity, newClient, keep, restartOld, restartAOF, emptied, moved},
		begin:  []transition{{event: takeIdentity}},
	},
}

// These are the cases that replicas:N covers. A primary fails over to a replica that confirmed what was used, servers restart
// from a disk, and the statement is set and removed.
var coveredByReplicas = []extent{
	{
		name: "failovers", depth: 6,
		events: []event{takeRange, takeLost, takeAgain, attach, detach, promote, turnedBack}, begin: confirmed,
	},
	{
		name: "restarts from a disk", depth: 6,
		events: []event{takeRange, keep, attach, detach, promote, restartRDB, restartOld}, begin: confirmed,
	},
	{
		name: "the word set and taken back", depth: 6,
		events: []event{takeRange, attach, detach, promote, turnedBack, replicasSet, replicasRemoved}, begin: confirmed,
	},
	{
		name: "both kinds of a name", depth: 5,
		events: []event{takeRange, takeIdentity, prefixCleared, attach, detach, promote, turnedBack}, begin: slices.Concat([]transition{{event: prefixSet}}, confirmed),
	},
}

// confirmed begins with a primary, a replica and replicas:1, and a range in use.
var confirmed = []transition{{event: attach}, {event: replicasSet}, {event: takeRange}}

func TestNoInterleavingUnderReplicasIssuesATextTwice(t *testing.T) {
	t.Parallel()
	walkExtents(t, coveredByReplicas)
}

// The interval of a master begins above what a jump of another one reaches here.
const (
	intervalLow  = 1_000_000_001
	intervalHigh = 2_000_000_000
)

func (e extent) model(l layers) *deploymentModel {
	m := newDeploymentModel(l)
	m.hasty, m.within, m.beyond, m.interval = e.hasty, e.within, e.beyond, e.interval
	return m
}

func TestNoInterleavingOfADeploymentIssuesATextTwice(t *testing.T) {
	t.Parallel()
	walkExtents(t, covered)
}

func walkExtents(t *testing.T, extents []extent) {
	t.Helper()
	for _, e := range extents {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			e.depth += *deeper
			m := e.model(allLayers)
			found, worlds := explore(m, e)
			t.Logf("to a depth of %d: %d states, %d runs", e.depth, worlds, len(m.served))
			if found != nil {
				t.Errorf("got\n\t%s\nwant no text twice", strings.Join(found, "\n\t"))
			}
		})
	}
}
