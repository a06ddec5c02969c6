package interleavings

import (
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts"
)

// Each protection is removed in turn, under a case that shows what it is for.
var deploymentWithout = []struct {
	layer  string
	layers layers
	extent extent
}{
	{
		"Bare", running("local bare_to = bare and high or", "local bare_to ="),
		extent{events: []event{takeRange, takeIdentity, prefixSetByHand}, depth: 4},
	},
	{
		"the settling of the counters", allLayers,
		extent{hasty: true, events: []event{takeRange, durableSet}, depth: 3, begin: []transition{
			{event: takeRange}, {event: keep}, {event: takeRange, client: 1}, {event: restartOld},
		}},
	},
	{
		"the guard of the other kind", running("if lost or above(other_floor, other_bare) then", "if above(other_floor, other_bare) then"),
		extent{events: []event{takeRange, takeIdentity, prefixSetByHand, keep, restartOld}, depth: 6, begin: []transition{{event: takeRange}}},
	},
	{
		"the floor of the other kind", sending(func(r *scripts.NextRequest) { r.IdentityFloor = 0 }),
		extent{events: []event{takeRange, takeIdentity, keyLost, prefixSetByHand}, depth: 4},
	},
	{
		"the Bare that a jump leaves", running("evidence ~= '' and far or '0'", "'0'"),
		extent{
			events: []event{takeRange, takeIdentity, newClient, keep, restartOld}, depth: 5,
			begin: []transition{{event: takeRange}, {event: keep}, {event: takeRange, client: 1}, {event: restartOld}, {event: prefixSetByHand}},
		},
	},
	{
		"what an emptied master refuses", running("if bare and not interval and require_prefix == '1' then", "if false then"),
		extent{events: []event{takeRange, newClient, emptied}, depth: 4, interval: true},
	},
	{
		"the gap of an import", running("if lost == '1' then", "if false then"),
		extent{
			events: []event{takeRange, keep, restartOld, moved}, depth: 5,
			begin: []transition{{event: prefixSet}, {event: takeRange}},
		},
	},
	{
		"the history of a promoted replica", running("not find(info, 'master_replid2:0000000000000000000000000000000000000000\\r', 1, true)", "false"),
		extent{within: true, events: []event{takeRange, attach, detach, promote}, depth: 5, begin: []transition{{event: durableSet}, {event: takeRange}}},
	},
	{
		"the removal of Durable", running("redis.call('HDEL', server_key, 'Durable')", ""),
		extent{
			within: true, events: []event{takeRange, attach, detach, replicaRestarted}, depth: 6,
			begin: []transition{{event: durableSet}, {event: takeRange}},
		},
	},
	{
		"the look for replicas", running("if durable == 'always' and find(info, 'connected_slaves:', 1, true) and", "if false and"),
		extent{
			within: true, events: []event{takeRange, attach, detach, replicaRestarted}, depth: 6,
			begin: []transition{{event: attach}, {event: detach}, {event: durableSet}, {event: takeRange}},
		},
	},
	{
		"the look at the AOF", running("or not find(persistence, 'aof_enabled:1\\r', 1, true)", ""),
		extent{
			events: []event{takeRange, aofOff, restartRDB}, depth: 4,
			begin: []transition{{event: durableSet}, {event: takeRange}, {event: keep}},
		},
	},
}

// Jumps have no offset here, since an offset hides collisions.
const (
	offset   = "place(redis.sha1hex(token .. replication), places)"
	noOffset = "'0'"
)

// Each condition of the small gap of replicas:N is removed in turn, under a case that shows what it is for. Jumps have no offset
// here.
var replicasWithout = []struct {
	layer         string
	part, instead string
	extent        extent
}{
	{
		"the evidence is the replication id alone", "if evidence == 'origin' and replicas ~= '0'", "if replicas ~= '0'",
		extent{events: []event{takeRange, turnedBack}, depth: 3, begin: slices.Concat(confirmed, []transition{
			{event: detach}, {event: thirdAttached}, {event: takeRange}, {event: takeRange, client: 1}, {event: takeRange, client: 1}, {event: takeRange, client: 1},
			{event: takeRange, client: 1}, {event: promote},
		})},
	},
	{
		"master_replid2 is the Origin", "find(info, 'master_replid2:' .. origin .. '\\r', 1, true)", "true",
		extent{events: []event{takeRange, attach, promote, turnedBack}, depth: 4, begin: slices.Concat(confirmed, []transition{
			{event: keep}, {event: takeRange, client: 1}, {event: takeRange, client: 1}, {event: takeRange, client: 1}, {event: detach}, {event: restartOld},
		})},
	},
	{
		"the server has run since before the write", "few = age >= 0 and uptime > age + 1", "few = true",
		extent{events: []event{takeRange, restartRDB, attach}, depth: 3, begin: slices.Concat(confirmed, []transition{
			{event: keep}, {event: takeRange, client: 1}, {event: takeRange, client: 1}, {event: takeRange, client: 1}, {event: detach},
		})},
	},
}

func TestEachConditionOfTheSmallGapIsNeeded(t *testing.T) {
	t.Parallel()
	for _, test := range replicasWithout {
		t.Run(test.layer, func(t *testing.T) {
			t.Parallel()
			plain, part := running(offset, noOffset), running(test.part, test.instead)
			both := layers{allLayers.sent, func(source string) string { return part.lua(plain.lua(source)) }}
			found, worlds := explore(test.extent.model(both), test.extent)
			if found == nil {
				t.Fatalf("without it no text is issued twice, in %d states", worlds)
			}
			t.Logf("without it:\n\t%s", strings.Join(found, "\n\t"))
			if found, _ := explore(test.extent.model(plain), test.extent); found != nil {
				t.Errorf("with it:\n\t%s", strings.Join(found, "\n\t"))
			}
		})
	}
}

// The scripts cannot verify what replicas:N states. These are the shortest sequences that issue a text twice where it is false.
// Jumps have no offset here either.
func TestFalseReplicasIssuesATextTwice(t *testing.T) {
	t.Parallel()
	for _, e := range []extent{
		{
			name: "a replica was away when the word was taken back, and is promoted", depth: 6,
			events: []event{takeRange, promote, turnedBack}, begin: slices.Concat(confirmed, []transition{{event: detach}, {event: replicasRemovedAlone}}),
		},
		{
			name: "another replica acknowledges than the one that is promoted", depth: 6,
			events: []event{takeRange, promote, turnedBack}, begin: slices.Concat(confirmed, []transition{{event: detach}, {event: thirdAttached}}),
		},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			found, worlds := explore(e.model(running(offset, noOffset)), e)
			if found == nil {
				t.Fatalf("no text is issued twice, in %d states: PROTOCOL.md and take.lua can promise more", worlds)
			}
			t.Logf("the shortest:\n\t%s", strings.Join(found, "\n\t"))
		})
	}
}

func TestEachProtectionOfADeploymentIsNeeded(t *testing.T) {
	t.Parallel()
	for _, test := range deploymentWithout {
		t.Run(test.layer, func(t *testing.T) {
			t.Parallel()
			found, worlds := explore(test.extent.model(test.layers), test.extent)
			if found == nil {
				t.Fatalf("without it no text is issued twice, in %d states", worlds)
			}
			t.Logf("without it:\n\t%s", strings.Join(found, "\n\t"))
			test.extent.hasty = false
			if found, _ := explore(test.extent.model(allLayers), test.extent); found != nil {
				t.Errorf("with it:\n\t%s", strings.Join(found, "\n\t"))
			}
		})
	}
}

// The scripts cannot verify everything that an operator states. Each of these cases violates a statement, and has the shortest
// sequence that issues a text twice because of it.
func TestFalseStatementIssuesATextTwice(t *testing.T) {
	t.Parallel()
	begin := []transition{{event: durableSet}, {event: takeRange}}
	for _, e := range []extent{
		{name: "a replica is restarted alone, from its own AOF", events: []event{takeRange, attach, detach, replicaRestarted}, depth: 6, begin: begin},
		{name: "a promoted replica forgets its history before it issues anything", events: []event{takeRange, attach, detach, promote, historyForgotten}, depth: 6, begin: begin},
		{name: "the server is started from an older copy", events: []event{takeRange, keep, restartOld}, depth: 5, begin: begin},
		{name: "the AOF is off for a while", events: []event{takeRange, aofOff, aofOn}, depth: 5, begin: begin},
		{
			name: "the removal of a prefix is lost", beyond: true, events: []event{takeRange, takeIdentity, prefixCleared, restartOld}, depth: 6,
			begin: []transition{{event: prefixSet}, {event: takeRange}, {event: keep}},
		},
		{name: "Durable is set by hand after a loss", events: []event{takeRange, keep, restartOld, durableSetByHand}, depth: 5, begin: begin[1:]},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			found, worlds := explore(e.model(allLayers), e)
			if found == nil {
				t.Fatalf("no text is issued twice, in %d states: PROTOCOL.md and guard.lua can promise more", worlds)
			}
			t.Logf("the shortest:\n\t%s", strings.Join(found, "\n\t"))
		})
	}
}
