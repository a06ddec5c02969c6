package scripts

import (
	"fmt"
	"maps"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// arena is the set of servers on which the scripts are fuzzed, miniredis and a real server if there is one. They have to agree. Both
// report an append-only file.
type arena []redistest.Client

func newArena(f *testing.F) arena {
	f.Helper()
	mini := redistest.StartMini(f)
	mini.ReportDurable()
	a := arena{mini.Client(f)}
	if binaries := redistest.Binaries(f); len(binaries) > 0 {
		client := redistest.Start(f, binaries[len(binaries)-1], "--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0").Client(f)
		server, err := Describe(f.Context(), client, serverKey)
		if err != nil {
			f.Fatal(err)
		}
		mini.SetReplicationID(server.Origin) // it affects the offset of a jump
		a = append(a, client)
	}
	return a
}

// outcome is what a script wrote and replied, without the values in which two servers always differ, which are times.
type outcome struct {
	reply    []any
	err      string
	state    map[string]string
	settings map[string]string
}

// callOn runs a verb on one server that is in a given state, and checks what holds for any state and arguments.
func callOn(t *testing.T, client redistest.Client, v verb, durable bool, args []string, state map[string]string) outcome {
	t.Helper()
	ctx, key := t.Context(), keys.Counter
	if err := client.FlushDB(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if len(state) > 0 {
		if err := client.HSet(ctx, key, state).Err(); err != nil {
			t.Fatal(err)
		}
	}
	settings(t, client, "Initialized", "now")
	if durable {
		client.HSet(ctx, serverKey, "Durable", "always")
	}
	before, server := storedAt(t, client, key), storedAt(t, client, serverKey)
	var rest []any
	for _, arg := range args[:v.args] {
		rest = append(rest, arg)
	}
	all := []string{key, serverKey, "{Raven}/other"}
	value, err := v.script.Run(ctx, client, all[:v.keys], rest...).Result()
	o := outcome{state: storedAt(t, client, key), settings: storedAt(t, client, serverKey)}
	if client.Exists(ctx, all[2]).Val() > 0 {
		t.Fatalf("got the key %s, want none", all[2])
	}
	if err != nil {
		o.err = strings.Map(blank, strings.TrimPrefix(err.Error(), "ERR "))
		if !strings.HasPrefix(o.err, "HILO_") {
			t.Fatalf("%s%q on %q: got %v, want an error of the script", v.name, args[:v.args], state, err)
		}
		if !maps.Equal(before, o.state) || !maps.Equal(server, o.settings) {
			t.Fatalf("%s%q failed, %v: got state %q and %q, want %q as before", v.name, args[:v.args], err, o.state, o.settings, before)
		}
		return o
	}
	o.reply, _ = value.([]any)
	if len(o.reply) == 0 {
		t.Fatalf("%s%q: got %v, want an array", v.name, args[:v.args], value)
	}
	for _, item := range o.reply {
		if _, ok := item.(string); !ok {
			t.Fatalf("%s%q: got %q, want strings only", v.name, args[:v.args], o.reply)
		}
	}
	if v.file != "configure" && big10(o.state["Raised"]).Cmp(big10(before["Raised"])) < 0 {
		t.Fatalf("%s%q on %q: got Raised %s, want no less than before", v.name, args[:v.args], before, o.state["Raised"])
	}
	if v.name == "next" || v.name == "identity" {
		o.checkIssued(t, v, args, before)
	}
	return o
}

// blank replaces white space by a blank, as miniredis does in errors. It writes them in UTF-8 only.
func blank(r rune) rune {
	if unicode.IsSpace(r) {
		return ' '
	}
	return r
}

// checkIssued checks issued numbers. They are the requested ones, above everything issued before and not above the ceiling, and the
// counter has the value of the last.
func (o *outcome) checkIssued(t *testing.T, v verb, args []string, before map[string]string) {
	t.Helper()
	field, wanted, limit, floor := FieldMax, args[1], args[2], args[4]
	lowered, exact := false, false
	if v.name == "identity" {
		field = FieldValue
		lowered, exact = big10(before["Lowered"]).Cmp(big10(args[11])) > 0, args[12] != "0"
	}
	if o.reply[0] != args[0] {
		t.Fatalf("%s%q: got the token %q, want that of the request", v.name, args, o.reply[0])
	}
	low, high := big10(o.reply[1]), big10(o.reply[2])
	if low.Sign() == 0 && exact {
		if !maps.Equal(before, o.state) {
			t.Fatalf("identity%q was refused: got state %q, want %q as before", args, o.state, before)
		}
		return
	}
	stood, stands := big10(before[field]), big10(o.state[field])
	resent := v.name == "next" && before["Lease"] == args[0] && low.Cmp(big10(before["Low"])) == 0
	reserved := big10(o.state["Raised"])
	if o.reply[13] == "always" {
		reserved = big10(before["Ceiling"])
	}
	switch {
	case low.Sign() <= 0 || high.Cmp(low) < 0 || high.Cmp(big10(limit)) > 0 || high.BitLen() > 63:
		t.Fatalf("%s%q on %q: got %v..%v, want a range from 1 to the limit", v.name, args, before, low, high)
	case stands.Cmp(high) != 0:
		t.Fatalf("%s%q on %q: got %v..%v and then %v, want the end of the range", v.name, args, before, low, high, stands)
	case low.Cmp(stood) <= 0 && !resent:
		t.Fatalf("%s%q on %q: got %v..%v, want it above what was issued", v.name, args, before, low, high)
	case high.Cmp(reserved) > 0 && high.Cmp(stood) > 0:
		t.Fatalf("%s%q on %q: got %v..%v, want it within what is reserved, %v", v.name, args, before, low, high, reserved)
	case low.Cmp(big10(floor)) <= 0 && !lowered && !exact:
		t.Fatalf("%s%q on %q: got %v..%v, want it above the floor", v.name, args, before, low, high)
	case !exact && new(big.Int).Sub(high, low).Cmp(big10(wanted)) >= 0:
		t.Fatalf("%s%q on %q: got %v..%v, want no more than requested", v.name, args, before, low, high)
	}
}

// big10 parses a decimal. It returns 0 for any other text.
func big10(text any) *big.Int {
	n, ok := new(big.Int).SetString(fmt.Sprint(text), 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

// timed are the items of a reply that depend on the time.
var timed = map[string][]int{
	"next": {3, 11}, "identity": {3, 11}, "raise": {4, 9}, "raise of an identity": {4, 9}, "permit": {1},
}

// agree fails the test unless the outcome is the same on all servers.
func (a arena) agree(t *testing.T, v verb, durable bool, args []string, state map[string]string) {
	t.Helper()
	var first outcome
	for i, client := range a {
		o := callOn(t, client, v, durable, args, state)
		for _, field := range []string{"Written", "RaisedAt", "Epoch"} {
			delete(o.state, field)
		}
		for _, at := range timed[v.name] {
			if len(o.reply) > 0 {
				o.reply[at] = ""
			}
		}
		if i == 0 {
			first = o
		} else if fmt.Sprintf("%q", o) != fmt.Sprintf("%q", first) {
			t.Fatalf("%s%q on %q: got %q, want %q as on miniredis", v.name, args[:v.args], state, o, first)
		}
	}
}

// With any arguments a script either returns a valid range or fails with an error of its own and writes nothing.
func FuzzArguments(f *testing.F) {
	a := newArena(f)
	for i := range verbs {
		f.Add(i, i%2 == 1, "token", "32", greatest, "orders", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "100")
		f.Add(i, i%2 == 0, "token", "32", greatest, "orders", "101", "7", "5000", "64", "9", "0", "0", "0", "0", "0", "0", "0", "100")
		f.Add(i, i%2 == 1, "next", "1", "9007199254740993", "Orders", "9007199254740992", "7", "5000", "3", "0", "1", "0", "0", "0", "0", "0", "0", "9007199254740991")
		f.Add(i, i%2 == 0, "next", "1", greatest, "Orders", "9", "7", "9007199254740993", "9007199254740993", "601", "0", "0", "7", "0", "1", "0", "0", "2")
		f.Add(i, i%2 == 1, "next", "1", greatest, "Orders", "9", "0", "0", "4294967296", "60", "0", "1", "0", "0", "0", "0", "0", "")
		f.Add(i, i%2 == 0, "exact", "1", "5000", "x", "01", "-1", "1e3", "", "", "", "", "", "", "", "", "", "")
		f.Add(i, i%2 == 1, "exact", "1", "5000", "orders", "0", "0", "0", "0", "0", "0", "0", "0", "4000", "1", "0", "0", "100")
		f.Add(i, i%2 == 0, "token", "100", "90", "o\x00\xff", "0", "2", "1", " 1", "1", "1", "1", "1", "-1", "1", "1", "1", "100")
		f.Add(i, i%2 == 1, "Max", "200", "orders", "1", "100", "1", "", "0", "0", "0", "0", "0", "0", "0", "0", "0", "100")
		f.Add(i, i%2 == 0, "Max", "200", "orders", "1", "99", "1", "0", "1", "50", "70000", "7", "", "0", "0", "0", "0", "100")
		f.Add(i, i%2 == 1, "Value", "9223372036854775808", "orders", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", greatest)
		f.Add(i, i%2 == 0, "Value", "9223372036854775000", "orders", "1", "", "", "token", "1", "1", "0", "0", "0", "0", "0", "0", "0", "9223372036854775000")
		f.Add(i, i%2 == 1, "token", "32", greatest, "orders", "0", "0", "0", "1", "0", "0", "0", "0", "0", "0", "0", "0", "9223372036854775800")
		f.Add(i, i%2 == 0, "set", "", "", "", "", "", "", "", "N/", "A", "here", "always", "1", "5", "no", "now", "100")
		f.Add(i, i%2 == 1, "", "96", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "100")
	}
	f.Fuzz(func(t *testing.T, i int, durable bool, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, stands string) {
		state := map[string]string{}
		if stands != "" {
			state = map[string]string{"Max": stands, "Value": stands, "Low": "1", "Lease": "token", "Ranges": "1", "Lowered": "0"}
			if durable {
				state["Raised"], state["Ceiling"] = stands, stands
			}
		}
		args := []string{a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15}
		a.agree(t, verbs[uint(i)%uint(len(verbs))], durable, args, state)
	})
}

// Whatever a counter contains, no script misreads it, and none repairs it.
func FuzzStateWrittenByHand(f *testing.F) {
	a := newArena(f)
	for i := range verbs {
		f.Add(i, i%2 == 0, uint(0x7fff), "100", "69", "token", "3", "1", anotherOrigin, "180", "64", "29000000", "160", "0", "orders", "1", "5", "f", "100")
		f.Add(i, i%2 == 1, uint(0x1), "4000", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "4001")
		f.Add(i, i%2 == 0, uint(0x7fff), greatest, "1", "t", greatest, greatest, anotherOrigin, greatest, greatest, greatest, greatest, greatest, "x", greatest, greatest, "", greatest)
		f.Add(i, i%2 == 1, uint(0x7fff), "-5", "01", "", "1.0", "+1", "zz", "1e3", " 1", "0x1f", "9223372036854775808", "01", "\x00", "1", "x", "f", "0")
		f.Add(i, i%2 == 0, uint(0x1ffe), "", "1", "token", "1", "0", "", "0", "0", "0", "1", "0", "", "5", "", "", "0")
		f.Add(i, i%2 == 1, uint(0xdf), "100", "69", "token", "3", "1800000000000000000", "", "4000", "64", "x", "3000", "0", "orders", "1", "5", "", "90")
	}
	f.Fuzz(func(t *testing.T, i int, durable bool, present uint, value, low, lease, ranges, epoch, origin, raised, block, raisedAt, ceiling, lowered, name, bare, written, forced, floor string) {
		v := verbs[uint(i)%uint(len(verbs))]
		field := FieldMax
		args := []string{"token", "32", greatest, "orders", floor, "0", "0", "0", "0", "0", "0", "0", "0", "0", "", ""}
		switch v.name {
		case "identity", "raise of an identity":
			field = FieldValue
		case "return":
			args = []string{lease, value, low, epoch, written}
		case "permit":
			args = []string{"", raised}
		case "seed":
			args = []string{field, floor, "orders", strconv.FormatUint(uint64(present>>15&1), 10), value, written, forced}
		case "import":
			args = []string{field, floor, "orders", "1", "1", raised, "0", "1", "1", lowered, written}
		case "configure":
			args = []string{"set", "", "", "", "", "", "", "", value, "", "", "", "", "", "no", "now"}
		}
		state := map[string]string{}
		for bit, pair := range [][2]string{
			{field, value}, {"Low", low}, {"Lease", lease}, {"Ranges", ranges}, {"Epoch", epoch}, {"Origin", origin}, {"Raised", raised},
			{"Block", block}, {"RaisedAt", raisedAt}, {"Ceiling", ceiling}, {"Lowered", lowered}, {"Name", name}, {"Bare", bare}, {"Written", written}, {"Forced", forced},
		} {
			if present>>bit&1 == 1 {
				state[pair[0]] = pair[1]
			}
		}
		a.agree(t, v, durable, args, state)
	})
}
