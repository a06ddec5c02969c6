package interleavings

import (
	"testing"

	"github.com/hilo-id/hilo/scripts"
)

// rule is a rule of the protection, under a case that shows what it is for.
type rule struct {
	name    string
	without layers
	scope   scope
}

// Jumps have no offset in these cases, since an offset hides collisions.
const (
	offset   = "place(redis.sha1hex(token .. replication), places)"
	noOffset = "'0'"
)

const (
	ceilingReached = "elseif is_durable and issue and (evidence ~= '' or not ceiling or above(high, ceiling)) then"
	restarted      = "not find(info, 'master_replid2:' .. origin .. '\\r', 1, true)"
	noAOF          = "elseif not find(persistence, 'aof_enabled:1\\r', 1, true) then"
)

func count(n int64) setting { return setting{counts: [3]int64{n, n, n}} }

func durably(s setting, more setting) setting {
	s.counts, s.losses = more.counts, more.losses
	return s
}

// ofRequests are the rules about what is lost, late or repeated.
var ofRequests = []rule{
	{
		"the token of a request", sending(func(r *scripts.NextRequest) { r.Token = "one for all" }),
		scope{clients: 2, depth: 3, events: []event{take}},
	},
	{
		"the lease in the return", running("lease ~= token or", "", "written ~= range_written or", ""),
		scope{clients: 3, depth: 5, events: []event{take, unused, unusedLate, unusedTwice, arrive}},
	},
	{
		"the time in the return", running("written ~= range_written", "false"),
		scope{clients: 3, depth: 4, events: []event{take, arrive}, begin: []step{took, {event: takeLate}, {event: again}, {event: unusedTwice}}},
	},
	{
		"the floor", sending(func(r *scripts.NextRequest) { r.Floor, r.Ceiling = 0, 0 }),
		scope{clients: 2, depth: 4, events: []event{take, keep, quiet}},
	},
	{
		"the epoch", sending(func(r *scripts.NextRequest) { r.Epoch = 0 }),
		scope{clients: 2, depth: 6, events: []event{take, unused, lose, keep, quiet}},
	},
	{
		"what a forced seed expects", running("stood ~= wanted and (stood", "false and (stood"),
		scope{clients: 2, depth: 4, events: []event{take, force, forceTwice, arrive}},
	},
	{
		"the evidence of a resend", running("lease == token and evidence == '' and", "lease == token and"),
		scope{clients: 2, depth: 3, events: []event{take, again, older, crashRDB}, begin: []step{{event: takeLost}, {event: keep}, {event: attach}, tookB}},
	},
	{
		"a replica issues nothing", running("if is_replica then return redis.error_reply(ON_REPLICA) end\nif bare", "if bare"),
		scope{clients: 2, depth: 3, events: []event{take, attach, atReplica}},
	},
}

func TestEachRuleIsNeeded(t *testing.T) {
	t.Parallel()
	for _, rules := range [][]rule{ofRequests} {
		for _, r := range rules {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				with := whole
				if r.scope.setting.losses > 0 {
					with = running(offset, noOffset)
				}
				both := whole
				both.sent, both.after, both.mutant = r.without.sent, r.without.after, true
				both.lua = func(source string) string { return with.lua(r.without.lua(source)) }
				seen := search(newModel(both, r.scope.setting), r.scope)
				if seen.found == nil {
					t.Fatalf("without it no text is issued twice: %v", seen)
				}
				fault, _ := describe(newModel(both, r.scope.setting), seen.found)
				t.Logf("without it, after %v:%s", seen, fault)
				if seen := search(newModel(with, r.scope.setting), r.scope); seen.found != nil {
					words, _ := describe(newModel(with, r.scope.setting), seen.found)
					t.Errorf("with it:%s", words)
				}
			})
		}
	}
}
