package scripts

import (
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The Go client never sends these arguments. Clients in other languages might, so the scripts check them.
func TestScriptsRefuseInvalidArguments(t *testing.T) {
	t.Parallel()
	decimals := []string{"", "-1", "x", "01", "1.5", "9223372036854775808", "10000000000000000000"}
	other := func(texts ...string) []string { return texts }
	verbs := []struct {
		verb string
		args []string
		bad  map[int][]string // by place
	}{
		{"next", []string{"t", "32", "1000", "0", "0", "0", "orders", "0", "0", "0", "0", "0", "0"}, map[int][]string{
			0: other(""), 1: append(decimals, "0"), 2: decimals, 3: decimals, 4: decimals, 5: decimals, 9: decimals, 11: decimals, 12: decimals,
		}},
		{"identity", []string{"t", "1", "1000", "0", "0", "0", "orders", "0", "0", "0", "0", "0", "0", "0", "0", "0"}, map[int][]string{
			0: other(""), 1: append(decimals, "0"), 9: decimals, 11: decimals, 13: decimals, 14: decimals,
		}},
		{"return", []string{"t", "32", "0", "0", "1"}, map[int][]string{0: other(""), 1: decimals, 2: decimals, 4: decimals}},
		{"seed", []string{"Max", "5", "orders", "0", "", ""}, map[int][]string{0: other("", "max", "Low"), 1: decimals}},
		{"import", []string{"Max", "5", "orders", "0", "0", "0", "0", "0", "0", "0", "0", ""}, map[int][]string{
			0: other("", "max", "Low"), 1: decimals, 3: decimals, 4: decimals, 5: decimals, 6: decimals, 8: decimals, 9: decimals, 10: decimals,
		}},
		{"configure", []string{"", "A", "here", "", "", "1", "2"}, map[int][]string{
			2: other("there"), 3: other("never", "replicas:0", "replicas:01", "replicas:1000", "replicas:"), 5: append(decimals[1:], "0", "3"), 6: append(decimals[1:], "0"),
		}},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, v := range verbs {
			script := Verbs[slices.IndexFunc(Verbs, func(verb Verb) bool { return verb.Name == v.verb })].Script
			run := func(args []string) error {
				values := make([]any, len(args))
				for i, arg := range args {
					values[i] = arg
				}
				keys := []string{"{Raven}/HiLo/" + v.verb, "{Raven}/ServerPrefixForHilo", "{Raven}/Identities/" + v.verb}
				return script.Run(t.Context(), client, keys, values...).Err()
			}
			for at, texts := range v.bad {
				for _, text := range texts {
					args := slices.Clone(v.args)
					args[at] = text
					if err := run(args); err == nil || !strings.HasPrefix(err.Error(), "HILO_ARGUMENT") {
						t.Errorf("%s with %q: got %v, want HILO_ARGUMENT", v.verb, args, err)
					}
				}
			}
			for _, args := range [][]string{v.args[1:], append(slices.Clone(v.args), "0")} {
				if err := run(args); err == nil || !strings.HasPrefix(err.Error(), "HILO_ARGUMENT") {
					t.Errorf("%s with %d arguments: got %v, want HILO_ARGUMENT", v.verb, len(args), err)
				}
			}
			if keys := client.Keys(t.Context(), "*").Val(); len(keys) > 0 {
				t.Fatalf("%s: got keys %q, want none", v.verb, keys)
			}
			if err := run(v.args); err != nil {
				t.Errorf("%s with %q: got %v, want <nil>", v.verb, v.args, err)
			}
			client.FlushAll(t.Context())
		}
	})
}
