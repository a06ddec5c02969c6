package scripts

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// verb is a script for tests that call it with any arguments.
type verb struct {
	name   string
	file   string // that has its header, without .lua
	script *redis.Script
	keys   int
	args   int
}

var verbs = []verb{
	{"next", "take", next, 3, 11},
	{"identity", "take", identity, 3, 14},
	{"raise", "take", raiseRange, 3, 11},
	{"raise of an identity", "take", raiseIdentity, 3, 14},
	{"check", "take", check, 3, 11},
	{"permit", "permit", permit, 3, 2},
	{"return", "return", returning, 1, 5},
	{"seed", "seed", seed, 3, 7},
	{"import", "import", importing, 3, 11},
	{"describe", "describe", describe, 3, 0},
	{"configure", "configure", configure, 1, 16},
}

// runVerb runs a script with any arguments on the counter of its kind.
func runVerb(t *testing.T, client redistest.Client, v verb, args []string) error {
	t.Helper()
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = arg
	}
	names := []string{"{Raven}/HiLo/" + v.file, serverKey, "{Raven}/Identities/" + v.file}
	if v.keys == 1 {
		names = names[:1]
	}
	return v.script.Run(t.Context(), client, names, values...).Err()
}

// The Go client never sends these arguments. A client of another version might, so the scripts check them.
func TestScriptsRefuseInvalidArguments(t *testing.T) {
	t.Parallel()
	decimals := []string{"", "-1", "x", "01", "1.5", "9223372036854775808", "10000000000000000000"}
	only := func(texts ...string) []string { return texts }
	next := []string{"t", "32", "1000", "orders", "0", "0", "0", "0", "0", "0", "0"}
	nextBad := map[int][]string{0: only(""), 1: append(decimals, "0"), 2: decimals, 4: decimals, 5: decimals, 6: decimals, 7: decimals, 8: decimals}
	identity := append(slices.Clone(next), "0", "0", "0")
	identityBad := map[int][]string{0: only(""), 1: append(decimals, "0"), 2: decimals, 8: decimals, 11: decimals, 12: decimals}
	none := []string{"", "", "", "", "", "", ""}
	tests := map[string]struct {
		args []string
		bad  map[int][]string // by place
	}{
		"next":                 {next, nextBad},
		"identity":             {identity, identityBad},
		"raise":                {next, nextBad},
		"raise of an identity": {identity, identityBad},
		"check":                {next, nextBad},
		"permit":               {[]string{"", "5"}, map[int][]string{1: decimals}},
		"return":               {[]string{"t", "32", "0", "0", "1"}, map[int][]string{0: only(""), 1: decimals, 2: decimals, 4: decimals}},
		"seed":                 {[]string{"Max", "5", "orders", "0", "", "", ""}, map[int][]string{0: only("", "max", "Low"), 1: decimals}},
		"import": {[]string{"Max", "5", "orders", "0", "0", "0", "0", "0", "0", "0", "0"}, map[int][]string{
			0: only("", "max", "Low"), 1: decimals, 3: decimals, 4: decimals, 5: decimals, 6: decimals, 7: decimals, 8: decimals, 9: decimals, 10: decimals,
		}},
		"configure": {slices.Concat([]string{"init"}, none, []string{"", "A", "here", "", "1", "2", "no", "now"}), map[int][]string{
			0: only("", "Init"), 10: only("there"), 11: only("never", "replicas:1"), 12: append(decimals[1:], "0", "3"), 13: append(decimals[1:], "0"),
			14: only("yes"), 15: only(""),
		}},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		before := dump(t, client)
		for _, v := range verbs {
			test, ok := tests[v.name]
			if !ok { // describe has none
				continue
			}
			if len(test.args) != v.args {
				t.Fatalf("%s: got %d arguments, want %d", v.name, len(test.args), v.args)
			}
			wrong := [][]string{test.args[1:], append(slices.Clone(test.args), "0")}
			for at, texts := range test.bad {
				for _, text := range texts {
					args := slices.Clone(test.args)
					args[at] = text
					wrong = append(wrong, args)
				}
			}
			for _, args := range wrong {
				if err := runVerb(t, client, v, args); err == nil || !strings.HasPrefix(err.Error(), "HILO_ARGUMENT") {
					t.Errorf("%s with %q: got %v, want HILO_ARGUMENT", v.name, args, err)
				}
			}
			if err := runVerb(t, client, v, test.args); err != nil && strings.HasPrefix(err.Error(), "HILO_ARGUMENT") {
				t.Errorf("%s with %q: got %v, want another answer", v.name, test.args, err)
			}
			client.Del(t.Context(), "{Raven}/HiLo/"+v.file)
			wantSame(t, before, dump(t, client))
		}
	})
}

// The header of a script is all that documents its protocol.
func TestEachHeaderDocumentsItsScript(t *testing.T) {
	t.Parallel()
	shared := map[string]string{}
	for _, file := range []string{"server", "ceiling", "raising", "state"} {
		text, err := os.ReadFile(file + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		shared[file] = string(text)
	}
	refused := regexp.MustCompile(`refusal\('([A-Z]+)'|HILO_([A-Z]+) `)
	for _, v := range verbs {
		source, err := os.ReadFile(v.file + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		header := ""
		for line := range strings.Lines(string(source)) {
			if !strings.HasPrefix(line, "--") {
				break
			}
			header += line
		}
		wanted := []string{"Output", "Errors:", "Sent twice"}
		if v.file == "take" { // for a reader of HGETALL
			wanted = append(wanted, FieldNames()...)
		}
		for i := range v.keys {
			wanted = append(wanted, fmt.Sprintf("KEYS[%d]", i+1))
		}
		for i := range v.args {
			wanted = append(wanted, fmt.Sprintf("ARGV[%d]", i+1))
		}
		code := string(source)[len(header):]
		if v.file != "return" && v.file != "configure" {
			code += shared["server"]
		}
		if v.file == "seed" || v.file == "import" {
			code += shared["raising"]
		}
		for _, tag := range refused.FindAllStringSubmatch(code, -1) {
			if v.file == "describe" && tag[1] == "MIXED" || v.file == "permit" && tag[1] == "MIXED" { // their other key is that of the settings
				continue
			}
			wanted = append(wanted, "HILO_"+tag[1]+tag[2])
		}
		for _, part := range wanted {
			if !strings.Contains(header, part) {
				t.Errorf("header of %s.lua, of %s: got no %s, want it", v.file, v.name, part)
			}
		}
	}
}
