package interleavings

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts"
)

var deeper = flag.Int("deeper", 0, "how many steps farther than by default the interleavings are walked")

// layers is the protection, or what is left of it. It consists of what a client sends of a request, of the scripts as they run, and
// of the questions that a client asks.
type layers struct {
	sent   func(r scripts.NextRequest) scripts.NextRequest
	lua    func(source string) string
	after  map[stage]stage // what follows the answer to a question
	mutant bool
	parts  []string // of the scripts, and what is in their place
}

var whole = layers{
	sent:  func(r scripts.NextRequest) scripts.NextRequest { return r },
	lua:   func(source string) string { return source },
	after: map[stage]stage{stageRaised: stageAsked, stageApart: stageSure},
}

// sending returns all layers except what change removes from a request.
func sending(change func(r *scripts.NextRequest)) layers {
	l := whole
	l.sent, l.mutant = func(r scripts.NextRequest) scripts.NextRequest { change(&r); return r }, true
	return l
}

// asking returns all layers with other questions.
func asking(after map[stage]stage) layers {
	l := whole
	l.after, l.mutant = after, true
	return l
}

// running returns all layers with parts of the Lua replaced, each by the text after it.
func running(parts ...string) layers {
	l := whole
	l.parts, l.lua, l.mutant = parts, strings.NewReplacer(parts...).Replace, true
	return l
}

// missing returns a part that no script has, or "".
func (l layers) missing() string {
	var all strings.Builder
	files, _ := filepath.Glob("../*.lua")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		all.Write(text)
	}
	for i := 0; i < len(l.parts); i += 2 {
		if !strings.Contains(all.String(), l.parts[i]) {
			return l.parts[i]
		}
	}
	return ""
}

// The settings of the servers here.
var (
	plain    = setting{aof: aofOff}
	plainAOF = setting{aof: aofOn}
	everysec = setting{aof: aofOn, counts: [3]int64{40, 30, 40}, first: scripts.Settings{3: "everysec"}}
	always   = setting{aof: aofOn, counts: [3]int64{40, 30, 40}, first: scripts.Settings{3: "always"}, always: true}
	prefixed = setting{aof: aofOff, first: scripts.Settings{0: "N/", 2: "here"}}
	interval = setting{aof: aofOff, first: scripts.Settings{2: "here", 4: "1000000001", 5: "2000000000"}}
)

// took is a first step of many cases.
var (
	took  = step{event: take}
	tookB = step{event: take, client: 1}
)

// covered are the cases that the promise covers.
var covered = []scope{
	{
		name: "two clients of a plain server", clients: 2, depth: 4, setting: plain,
		events: []event{take, takeLost, takeLate, again, unused, unusedLate, unusedTwice, ended, arrive, keep, crashRDB, restart, quiet, lose, seed, force, forceTwice},
	},
	{
		name: "three clients of a plain server", clients: 3, depth: 4, setting: plain,
		events: []event{take, takeLost, takeLate, again, unused, unusedLate, unusedTwice, arrive, keep, crashRDB, lose, force},
	},
	{
		name: "late requests and returns", clients: 2, depth: 5, setting: plain,
		events: []event{take, takeLost, takeLate, again, unused, unusedLate, unusedTwice, arrive},
	},
	{
		name: "losses that no replication id shows", clients: 2, depth: 5, setting: plain,
		events: []event{take, takeLost, again, unused, keep, quiet, lose, emptied, ended, initSeeded},
	},
	{
		name: "a plain server with an AOF that loses its newest writes", clients: 2, depth: 5, setting: plainAOF,
		events: []event{take, takeLost, again, value, unused, flush, crash, restart, ended},
	},
	{
		name: "failovers of a plain server", clients: 2, depth: 5, setting: plain, begin: []step{{event: attach}, took},
		events: []event{take, takeLost, again, stall, detach, attach, promote, demote, atReplica, restart, crashRDB},
	},
	{
		name: "the blocks of a plain server", clients: 2, depth: 5, setting: setting{aof: aofOn, counts: [3]int64{20_000, 15_000}},
		events: []event{take, takeLost, again, unused, flush, crash, lose, ended},
	},
	{
		name: "a steady rate", clients: 2, depth: 5, setting: counting(plain, 2, 1), begin: slices.Concat(begun(take, keep), times(3, step{event: minute})),
		events: []event{take, minute, keep, crashRDB, lose, emptied, eleven, ended},
	},
	{
		name: "a steady rate beside replicas", clients: 2, depth: 5, setting: counting(plain, 2, 1),
		begin:  slices.Concat(begun(attach, take, keep), times(5, step{event: minute})),
		events: []event{take, minute, detach, crashRDB, ended},
	},
	{
		name: "an identity", clients: 2, depth: 4, setting: plain,
		events: []event{value, valueLost, valueLate, exact, arrive, ended, keep, crashRDB, restart, quiet, loseValue, seedValue},
	},
	{
		name: "failovers of an identity", clients: 2, depth: 5, setting: plain, begin: []step{{event: attach}, {event: value}},
		events: []event{value, exact, stall, detach, attach, promote, demote, crashRDB},
	},
	{
		name: "a name of both kinds", clients: 2, depth: 4, setting: plain,
		events: []event{take, value, ended, setPrefix, clearPrefix, prefixByHand, clearByHand, keep, crashRDB, quiet, lose, loseValue, maxByHand, seed},
	},
	{
		name: "a name of both kinds beside a prefix", clients: 2, depth: 5, setting: prefixed, begin: []step{took, {event: keep}},
		events: []event{take, value, clearPrefix, clearByHand, prefixByHand, keep, crashRDB, older, seed, move},
	},
	{
		name: "a server with an interval", clients: 2, depth: 4, setting: interval, begin: []step{took},
		events: []event{take, value, takeLost, again, ended, keep, crashRDB, emptied, move, attach, promote, seed, force},
	},
	{
		name: "an interval that is raised", clients: 2, depth: 5, setting: plain,
		events: []event{take, value, setMin, setMinLate, arrive, ended, emptied, move},
	},
	{
		name: "a limit", clients: 2, depth: 5, setting: setting{aof: aofOff, limit: 70_000},
		events: []event{take, takeLost, again, unused, keep, crashRDB, restart, lose},
	},
	{
		name: "a durable server", clients: 2, depth: 5, setting: everysec,
		events: []event{take, takeLost, again, unused, reserve, raise, flush, crash, restart, ended},
	},
	{
		name: "a durable server and late messages", clients: 2, depth: 5, setting: everysec,
		events: []event{take, takeLate, reserve, permitted, raise, arrive, unusedLate, crash, flush},
	},
	{
		name: "a durable server that syncs always", clients: 2, depth: 5, setting: always,
		events: []event{take, takeLost, again, unused, raise, restart, ended, seed},
	},
	{
		name: "an identity of a durable server", clients: 2, depth: 5, setting: everysec,
		events: []event{value, valueLost, valueLate, arrive, exact, reserveValue, crash, restart, seedValue},
	},
	{
		name: "the questions to a disk", clients: 2, depth: 10, setting: everysec, begin: []step{{event: reserve}, took, {event: crash}},
		events: []event{take, raise, ask, second, turn, synced, crash},
	},
	{
		name: "the AOF off and on, everysec", clients: 2, depth: 5, setting: everysec, begin: []step{{event: reserve}, took, {event: keep}},
		events: []event{take, reserve, switchOff, switchOn, rewrite, rewritten, full, crash, crashRDB, restart},
	},
	{
		name: "the AOF off and on, always", clients: 2, depth: 5, setting: always, begin: []step{{event: raise}, took, {event: keep}},
		events: []event{take, raise, switchOff, switchOn, rewrite, rewritten, full, crash, crashRDB, restart},
	},
	{
		name: "a durable server that restarts without its AOF", clients: 2, depth: 7, setting: always,
		begin:  []step{{event: raise}, {event: keep}, took, tookB, took, {event: raise}, took, {event: switchOff}},
		events: []event{take, raise, switchOn, rewrite, rewritten, crashRDB, crash},
	},
	{
		name: "a durable server beside replicas", clients: 2, depth: 5, setting: everysec, begin: []step{{event: reserve}, took},
		events: []event{take, reserve, crash, restart, attach, stall, detach, promote, demote},
	},
	{
		name: "Durable set and taken back", clients: 2, depth: 5, setting: plainAOFDurable, begin: []step{took},
		events: []event{take, reserve, setDurable, unsetDurable, keep, older, crash, restart, lose},
	},
	{
		name: "Durable and a prefix", clients: 2, depth: 5, setting: everysec,
		events: []event{take, value, reserve, reserveValue, setPrefix, clearPrefix, crash},
	},
}

// plainAOFDurable is a plain server whose Durable is set later.
var plainAOFDurable = setting{aof: aofOn, counts: [3]int64{40, 30, 40}}

func TestNoInterleavingIssuesATextTwice(t *testing.T) {
	t.Parallel()
	for _, s := range covered {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.depth += *deeper
			m := newModel(s.setting.layers(), s.setting)
			seen := search(m, s)
			t.Logf("to a depth of %d: %v, %d runs of the scripts", s.depth, seen, len(m.served))
			switch words, _ := describe(m, slices.Concat(s.begin[:seen.stopped], seen.found)); {
			case seen.stopped > 0:
				t.Errorf("it cannot begin so:%s", words)
			case seen.found != nil:
				t.Errorf("a text is issued twice:%s", words)
			}
		})
	}
}
