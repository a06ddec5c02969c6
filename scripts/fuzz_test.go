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

// arena is the set of servers on which the scripts are fuzzed, miniredis and a real server if there is one. They have to agree.
type arena []redistest.Client

func newArena(f *testing.F) arena {
	f.Helper()
	mini := redistest.StartMini(f)
	a := arena{mini.Client(f)}
	if binaries := redistest.Binaries(f); len(binaries) > 0 {
		client := redistest.Start(f, binaries[len(binaries)-1]).Client(f)
		server, err := Describe(f.Context(), client, keys.Server)
		if err != nil {
			f.Fatal(err)
		}
		mini.SetReplicationID(server.Origin) // it affects the offset of a jump
		a = append(a, client)
	}
	return a
}

// outcome is what a script wrote and replied, without the values in which two servers always differ. These are the time and the
// replication ids under which a state was written.
type outcome struct {
	reply []any
	err   string
	state map[string]string
}

// callOn runs a verb on one server that is in a given state, and checks what holds for any state and arguments.
func callOn(t *testing.T, client redistest.Client, v Verb, key string, args []string, state map[string]string) outcome {
	t.Helper()
	ctx := t.Context()
	if err := client.FlushDB(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if len(state) > 0 {
		if err := client.HSet(ctx, key, state).Err(); err != nil {
			t.Fatal(err)
		}
	}
	before := client.HGetAll(ctx, key).Val()
	var rest []any
	for _, arg := range args[:v.Args] {
		rest = append(rest, arg)
	}
	all := []string{key, keys.Server, "{Raven}/other"}
	value, err := v.Script.Run(ctx, client, all[:v.Keys], rest...).Result()
	after := client.HGetAll(ctx, key).Val()
	for _, name := range all[1:] {
		if client.Exists(ctx, name).Val() > 0 {
			t.Fatalf("got the key %s, want none", name)
		}
	}
	o := outcome{state: after}
	if err != nil {
		o.err = strings.Map(blank, strings.TrimPrefix(err.Error(), "ERR "))
		if !strings.HasPrefix(o.err, "HILO_") {
			t.Fatalf("%s%q on %q: got %v, want an error of the script", v.Name, args[:v.Args], state, err)
		}
		if !maps.Equal(before, after) {
			t.Fatalf("%s%q failed, %v: got state %q, want %q as before", v.Name, args[:v.Args], err, after, before)
		}
		return o
	}
	o.reply, _ = value.([]any)
	if len(o.reply) == 0 {
		t.Fatalf("%s%q: got %v, want an array", v.Name, args[:v.Args], value)
	}
	for _, item := range o.reply {
		if _, ok := item.(string); !ok {
			t.Fatalf("%s%q: got %q, want strings only", v.Name, args[:v.Args], o.reply)
		}
	}
	if v.Name == "next" || v.Name == "identity" {
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

// checkIssued checks issued numbers. They are the requested ones, above everything issued before, and the counter has the value
// of the last.
func (o *outcome) checkIssued(t *testing.T, v Verb, args []string, before map[string]string) {
	t.Helper()
	field, wanted, limit, floor := FieldMax, args[1], args[2], args[3]
	lowered, raise := false, false
	if v.Name == "identity" {
		field = FieldValue
		lowered, raise = big10(before["Lowered"]).Cmp(big10(args[13])) > 0, args[14] != "0"
	}
	if o.reply[0] != args[0] {
		t.Fatalf("%s%q: got the token %q, want that of the request", v.Name, args, o.reply[0])
	}
	low, high := big10(o.reply[1]), big10(o.reply[2])
	if low.Sign() == 0 && raise {
		if !maps.Equal(before, o.state) {
			t.Fatalf("raise%q was refused: got state %q, want %q as before", args, o.state, before)
		}
		return
	}
	stood, stands := big10(before[field]), big10(o.state[field])
	resent := v.Name == "next" && before["Lease"] == args[0] && low.Cmp(big10(before["Low"])) == 0
	switch {
	case low.Sign() <= 0 || high.Cmp(low) < 0 || high.Cmp(big10(limit)) > 0 || high.BitLen() > 63:
		t.Fatalf("%s%q on %q: got %v..%v, want a range from 1 to the limit", v.Name, args, before, low, high)
	case stands.Cmp(high) != 0:
		t.Fatalf("%s%q on %q: got %v..%v and then %v, want the end of the range", v.Name, args, before, low, high, stands)
	case low.Cmp(stood) <= 0 && !resent:
		t.Fatalf("%s%q on %q: got %v..%v, want it above what was issued", v.Name, args, before, low, high)
	case low.Cmp(big10(floor)) <= 0 && !lowered && !raise:
		t.Fatalf("%s%q on %q: got %v..%v, want it above the floor", v.Name, args, before, low, high)
	case !raise && new(big.Int).Sub(high, low).Cmp(big10(wanted)) >= 0:
		t.Fatalf("%s%q on %q: got %v..%v, want no more than requested", v.Name, args, before, low, high)
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

// agree fails the test unless the outcome is the same on all servers.
func (a arena) agree(t *testing.T, v Verb, key string, args []string, state map[string]string) {
	t.Helper()
	var first outcome
	for i, client := range a {
		o := callOn(t, client, v, key, args, state)
		for _, field := range []string{"Origin", "Written", "Minute", "IssuedBefore", "Issued"} {
			delete(o.state, field)
		}
		if v.Name == "next" || v.Name == "identity" {
			for at := range o.reply { // issued, seconds, origin, written
				if at >= 8 && at <= 10 || at == 12 {
					o.reply[at] = ""
				}
			}
		}
		if v.Name == "describe" && len(o.reply) > 0 {
			o.reply[3] = "" // origin
		}
		if i == 0 {
			first = o
		} else if fmt.Sprintf("%q", o) != fmt.Sprintf("%q", first) {
			t.Fatalf("%s%q on %q: got %q, want %q as on miniredis", v.Name, args[:v.Args], state, o, first)
		}
	}
}

// With any arguments a script either returns a valid range or fails with an error of its own and writes nothing.
func FuzzArguments(f *testing.F) {
	a := newArena(f)
	for verb := range Verbs {
		f.Add(verb, "token", "32", "9223372036854775807", "0", "0", "0", "orders", "0", "0", "0", "0", "0", "0", "0", "0", "0", "100")
		f.Add(verb, "token", "32", "9223372036854775807", "101", "7", "5000", "orders", "0", "0", "0", "1", "0", "0", "0", "0", "0", "100")
		f.Add(verb, "next", "1", "9007199254740993", "9007199254740992", "7", "5000", "Orders", "3", "0", "0", "0", "0", "0", "0", "0", "0", "9007199254740991")
		f.Add(verb, "next", "1", "9223372036854775807", "9", "7", "9007199254740993", "Orders", "3", "0", "7", "0", "0", "0", "0", "0", "0", "2")
		f.Add(verb, "next", "1", "9223372036854775807", "9", "0", "0", "Orders", "0", "0", "0", "0", "1", "4294967296", "0", "0", "0", "2147483649")
		f.Add(verb, "raise", "1", "5000", "01", "-1", "1e3", "x", "", "", "", "", "", "", "", "", "", "")
		f.Add(verb, "raise", "1", "5000", "0", "0", "0", "orders", "0", "0", "0", "0", "0", "0", "0", "4000", "0", "100")
		f.Add(verb, "token", "100", "90", "0", "2", "1", "o\x00\xff", " 1", "1", "1", "1", "1", "1", "-1", "1", "1", "100")
		f.Add(verb, "Max", "200", "orders", "1", "100", "1", "", "0", "0", "0", "0", "0", "0", "0", "0", "0", "100")
		f.Add(verb, "Max", "200", "orders", "1", "99", "1", "0", "1", "50", "70000", "0", "", "0", "0", "0", "0", "100")
		f.Add(verb, "Value", "9223372036854775808", "orders", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "9223372036854775807")
		f.Add(verb, "Value", "9223372036854775000", "orders", "9223372036854775807", "0", "0", "0", "1", "1", "0", "0", "0", "0", "0", "0", "0", "9223372036854775000")
		f.Add(verb, "token", "32", "9223372036854775807", "0", "0", "0", "orders", "0", "0", "0", "1", "0", "0", "0", "0", "0", "9223372036854775800")
	}
	f.Fuzz(func(t *testing.T, verb int, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, stands string) {
		v := Verbs[uint(verb)%uint(len(Verbs))]
		state := map[string]string{}
		if stands != "" {
			state = map[string]string{"Max": stands, "Value": stands, "Low": "1", "Lease": "token", "Ranges": "1", "Lowered": "0"}
		}
		a.agree(t, v, keys.Counter, []string{a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15}, state)
	})
}

// Whatever a counter contains, no script misreads it, and none repairs it.
func FuzzStateWrittenByHand(f *testing.F) {
	a := newArena(f)
	const origin = "0123456789012345678901234567890123456789"
	for verb := range Verbs {
		f.Add(verb, uint(0x3fff), "100", "69", "token", "3", "1", origin, "29000000", "64", "32", "0", "orders", "100", "5", "100")
		f.Add(verb, uint(1), "4000", "", "", "", "", "", "", "", "", "", "", "", "", "4001")
		f.Add(verb, uint(0x3fff), "9223372036854775807", "1", "t", "9223372036854775807", "9223372036854775807", origin,
			"9223372036854775807", "9223372036854775807", "9223372036854775807", "9223372036854775807", "x", "9223372036854775807",
			"9223372036854775807", "9223372036854775807")
		f.Add(verb, uint(0x3fff), "-5", "01", "", "1.0", "+1", "zz", "1e3", " 1", "0x1f", "9223372036854775808", "\x00", "01", "x", "0")
		f.Add(verb, uint(0x1ffe), "", "1", "token", "1", "0", "", "0", "0", "0", "1", "", "5", "", "0")
	}
	f.Fuzz(func(t *testing.T, verb int, present uint, value, low, lease, ranges, epoch, origin, minute, issued, before, lowered, name, bare, written, floor string) {
		v := Verbs[uint(verb)%uint(len(Verbs))]
		field := FieldMax
		args := []string{"token", "32", "9223372036854775807", floor, "0", "0", "orders", "0", "0", "0", "0", "0", "0", "0", "0", "0"}
		switch v.Name {
		case "identity":
			field = FieldValue
		case "return":
			args = []string{lease, value, low, epoch, written}
		case "seed":
			args = []string{field, floor, "orders", strconv.FormatUint(uint64(present>>13&1), 10), value, written}
		case "import":
			args = []string{field, floor, "orders", "1", "1", before, "0", "1", "5", lowered, written, "seed"}
		}
		state := map[string]string{}
		for i, pair := range [][2]string{
			{field, value}, {"Low", low}, {"Lease", lease}, {"Ranges", ranges}, {"Epoch", epoch}, {"Origin", origin}, {"Minute", minute},
			{"Issued", issued}, {"IssuedBefore", before}, {"Lowered", lowered}, {"Name", name}, {"Bare", bare}, {"Written", written},
		} {
			if present>>i&1 == 1 {
				state[pair[0]] = pair[1]
			}
		}
		a.agree(t, v, keys.Counter, args, state)
	})
}
