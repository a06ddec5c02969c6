package interleavings

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts"
)

var deeper = flag.Int("deeper", 0, "how many steps farther than by default the interleavings are walked")

func TestNoInterleavingIssuesANumberTwice(t *testing.T) {
	t.Parallel()
	for _, s := range []scope{
		{name: "two clients, all that may happen", clients: 2, depth: 5},
		{name: "three clients, one server", clients: 3, verbs: only(doNext, doAgain, doReturn, doArrive, doForced, doSnapshot, doBack, doLose), depth: 4},
		{name: "two servers go on from one state", clients: 2, verbs: only(doNext, doAgain, doSnapshot, doPromote, doRestart), depth: 6},
		{name: "losses that no replication id tells", clients: 2, verbs: only(doNext, doAgain, doReturn, doSnapshot, doQuietBack, doLose), depth: 6},
		{name: "late requests and returns", clients: 2, verbs: only(doNext, doAgain, doReturn, doArrive), depth: 6},
		{name: "two callers of an identity, all that may happen", kind: identities, clients: 2, depth: 4},
		{name: "an identity on two servers", kind: identities, clients: 2, verbs: only(doNext, doAgain, doSnapshot, doPromote, doRestart), depth: 5},
		{name: "losses of an identity", kind: identities, clients: 2, verbs: only(doNext, doSnapshot, doQuietBack, doLose, doForced, doArrive), depth: 5},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.depth += *deeper
			m := newModel(cmp.Or(s.kind, hilo), allLayers)
			seen := search(m, s)
			t.Logf("to a depth of %d: %v, %d runs of the scripts", s.depth, seen, len(m.served))
			if seen.found != nil {
				words, _ := describe(m, seen.found)
				t.Errorf("a number is given twice:%s", words)
			}
		})
	}
}

// layers is the protection, or what is left of it. It consists of what a client sends of a request, and of the scripts as they
// run.
type layers struct {
	sent func(r scripts.NextRequest) scripts.NextRequest
	lua  func(source string) string
}

var allLayers = layers{
	sent: func(r scripts.NextRequest) scripts.NextRequest { return r },
	lua:  func(source string) string { return source },
}

// sending returns all layers except what change removes from a request.
func sending(change func(r *scripts.NextRequest)) layers {
	return layers{func(r scripts.NextRequest) scripts.NextRequest { change(&r); return r }, allLayers.lua}
}

// running returns all layers with a part of the Lua replaced. It panics if no script has that part.
func running(part, instead string) layers {
	files, err := filepath.Glob("../*.lua")
	if err != nil || !slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), part)
	}) {
		panic("bug: no script has the text " + part)
	}
	return layers{allLayers.sent, func(source string) string { return strings.ReplaceAll(source, part, instead) }}
}

// without removes each layer in turn, under a case that shows what it is for. The epoch is not needed for an identity here. None
// of its values is returned, so the floor detects every loss.
var without = []struct {
	layer  string
	layers layers
	scope  scope
}{
	{
		"the token of a request", sending(func(r *scripts.NextRequest) { r.Token = "one for all" }),
		scope{clients: 3, depth: 3},
	},
	{
		"the fence of the return", running(`lease ~= token or above(last_used, range_end) or
    epoch ~= range_epoch or written ~= range_written or origin ~= replication`, `above(last_used, range_end)`),
		scope{clients: 3, verbs: only(doNext, doReturn, doArrive), depth: 5},
	},
	{
		"the time in the return", running(`written ~= range_written`, `false`),
		scope{clients: 3, verbs: only(doNext, doArrive), depth: 4, begin: []step{
			{verb: doNext}, {verb: doNext, fate: late}, {verb: doAgain}, {verb: doReturn, fate: twice},
		}},
	},
	{
		"the floor", sending(func(r *scripts.NextRequest) { r.Floor = 0 }),
		scope{clients: 2, depth: 4},
	},
	{
		"the epoch", sending(func(r *scripts.NextRequest) { r.Epoch = 0 }),
		scope{clients: 2, verbs: only(doNext, doReturn, doLose), depth: 7},
	},
	{
		"the guard", running(`if origin == '' or origin == replication then`, `if true then`),
		scope{clients: 2, depth: 5},
	},
	{
		"what a forced seed expects", running(`if force == '1' and stood ~= wanted and`, `if false and`),
		scope{clients: 2, depth: 5},
	},
	{
		"the floor of an identity", sending(func(r *scripts.NextRequest) { r.Floor = 0 }),
		scope{kind: identities, clients: 2, depth: 4},
	},
	{
		"the guard of an identity", running(`if origin == '' or origin == replication then`, `if true then`),
		scope{kind: identities, clients: 2, depth: 5},
	},
	{
		"the spread of an identity's jumps", running(`place(redis.sha1hex(token .. replication), places)`, `'0'`),
		scope{kind: identities, clients: 2, verbs: only(doNext, doSnapshot, doPromote, doRestart), depth: 6},
	},
	{
		"the spread of jumps", running(`place(redis.sha1hex(token .. replication), places)`, `'0'`),
		scope{clients: 2, verbs: only(doNext, doSnapshot, doPromote, doRestart), depth: 6},
	},
	{
		"the server's say in the spread", running(`token .. replication`, `token`),
		scope{clients: 2, verbs: only(doNext, doAgain), depth: 4, begin: []step{
			{verb: doNext}, {verb: doSnapshot}, {verb: doRestart}, {verb: doPromote, node: 1},
		}},
	},
}

// Without a layer there is a sequence that issues a number twice, of which this is the shortest. With all layers the same steps
// do not, neither on real servers nor in the model. In some cases only the offset of a jump prevents it, as between two servers
// that continue from one state. The log then shows where each jump led.
func TestEachLayerIsNeeded(t *testing.T) {
	t.Parallel()
	for _, test := range without {
		t.Run(test.layer, func(t *testing.T) {
			t.Parallel()
			k := cmp.Or(test.scope.kind, hilo)
			m := newModel(k, test.layers)
			seen := search(m, test.scope)
			if seen.found == nil {
				t.Fatalf("without it no number is given twice: %v", seen)
			}
			fault, _ := describe(m, seen.found)
			apart, twice := describe(newModel(k, allLayers), seen.found)
			if twice != 0 {
				t.Errorf("with all layers %d is given twice:%s", twice, apart)
			}
			t.Logf("without it, after %v:%s\nand with it:%s", seen, fault, apart)
			replay(t, k, seen.found, test.layers, true)
			replay(t, k, seen.found, allLayers, false)
		})
	}
}
