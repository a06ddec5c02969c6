package interleavings

import (
	"slices"
	"testing"
)

// The scripts cannot verify everything that an operator states. Each of these cases violates a statement, and has the shortest
// sequence that issues a text twice because of it. GUARANTEES.md says the same to operators.
func TestFalseStatementIssuesATextTwice(t *testing.T) {
	t.Parallel()
	trusting := wide
	trusting.trusting = true
	trustingAlways := wideAlways
	trustingAlways.trusting = true
	for _, s := range []scope{
		{
			name: "a replica of a durable server is promoted and restarted before anybody asks it", clients: 2, depth: 7, setting: trusting,
			events: []event{take, reserve, promote, restart}, begin: begun(reserve, take, take, attach, detach),
		},
		{
			name: "a durable server is started from an older copy", clients: 2, depth: 5, setting: trusting,
			events: []event{take, reserve, older}, begin: begun(reserve, keep, take, take, reserve),
		},
		{
			name: "a durable server is started from a snapshot, and the AOF is on again before anybody asks it", clients: 2, depth: 7, setting: trustingAlways,
			events: []event{take, raise, crashRDB, switchOn, rewrite, rewritten}, begin: begun(raise, keep, take, take, raise, take, switchOff),
		},
		{
			name: "a new client asks first for a counter that was deleted", clients: 2, depth: 3, setting: setting{beyond: true},
			events: []event{take, lose},
		},
		{
			name: "a new client asks first for a counter whose first range was lost in a failover", clients: 2, depth: 4, setting: setting{beyond: true},
			events: []event{take, stall, promote}, begin: begun(attach),
		},
		{
			name: "the removal of a prefix is lost", clients: 2, depth: 5, setting: setting{first: prefixed.first, beyond: true},
			events: []event{take, value, clearPrefix, crashRDB}, begin: begun(take, keep),
		},
		{
			name: "a new client asks first after a larger loss than the margin", clients: 3, depth: 2, setting: counting(plainAOF, 2, 100_000),
			events: []event{take, crash}, begin: []step{took, {event: flush}, tookB, tookB},
		},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(s.setting.layers(), s.setting)
			seen := search(m, s)
			words, twice := describe(newModel(s.setting.layers(), s.setting), slices.Concat(s.begin[:seen.stopped], seen.found))
			if twice == "" {
				t.Errorf("no text is issued twice: %v; the scripts can promise more:%s", seen, words)
			}
			t.Logf("the shortest, after %v:%s", seen, words)
		})
	}
}
