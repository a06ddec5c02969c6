package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// furnish puts all kinds of state on a server.
func furnish(t *testing.T, s *redistest.Server) {
	t.Helper()
	for _, args := range []string{
		"prefix set NorthServer/ --tag A", "next Orders --count 50", "seed people --max 9223372036854775807", "seed empty --max 0",
		"identity next companies --count 3", "identity seed orders --value 7", "id invoices/ companies/",
	} {
		must(t, append(strings.Fields(args), "--redis", s.URL())...)
	}
	if err := s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Epoch", 3).Err(); err != nil {
		t.Fatal(err)
	}
}

const furnished = `{"kind":"export","version":1,"namespace":"Raven"}
{"kind":"prefix","serverPrefix":"NorthServer/","nodeTag":"A"}
{"kind":"hilo","collection":"empty","max":0}
{"kind":"hilo","collection":"Orders","max":50,"ranges":1,"epoch":3}
{"kind":"hilo","collection":"people","max":9223372036854775807}
{"kind":"identity","collection":"companies","max":3}
{"kind":"identity","collection":"orders","max":7}
{"kind":"server-side","collection":"invoices","max":2}
{"kind":"end","counters":6}
`

func TestAnExportIsTheSameStateOnAnEmptyServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		furnish(t, s)
		lines := must(t, "export", "--redis", s.URL())
		if lines != furnished {
			t.Errorf("%s", lines)
		}
		other := redistest.StartMini(t)
		dry := hiloIn(t, lines, "import", "--dry-run", "--redis", other.URL())
		if dry.code != exitDone || !strings.Contains(dry.stdout, "6 counters: 6 new, 0 raised, 0 stay; nothing was written\nthe server's prefix would be NorthServer/, its tag A\n") {
			t.Errorf("%+v", dry)
		}
		wantUnchanged(t, other.Client(t), map[string]string{})

		r := hiloIn(t, lines, "import", "--redis", other.URL())
		if r.code != exitDone || r.stderr != "" || r.stdout != "6 counters: 6 new, 0 raised, 0 stay\nthe server's prefix is now NorthServer/, its tag A\n" {
			t.Errorf("%+v", r)
		}
		if again := must(t, "export", "--redis", other.URL()); again != lines {
			t.Errorf("exported again: %s", again)
		}
		for _, args := range []string{"list --output json", "identity list --output json", "prefix get --output json"} {
			here := must(t, append(strings.Fields(args), "--redis", s.URL())...)
			if there := must(t, append(strings.Fields(args), "--redis", other.URL())...); there != here {
				t.Errorf("%s: %s, and before %s", args, there, here)
			}
		}
		// No jump: what is imported is no evidence of lost writes, and no origin came with it.
		for args, want := range map[string]string{
			"next orders": "orders/NorthServer/51-A\n", "identity next companies": "companies/4\n", "id invoices/": "invoices/NorthServer/0000000000000000003-A\n",
		} {
			if got := must(t, append(strings.Fields(args), "--redis", other.URL())...); got != want {
				t.Errorf("%s: %q, want %q", args, got, want)
			}
		}
	})
}

func TestImportRaisesOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "prefix", "set", "NorthServer/", "--tag", "A", "--redis", s.URL())
		must(t, "seed", "orders", "--max", "1000", "--redis", s.URL())
		must(t, "seed", "empty", "--max", "0", "--redis", s.URL())
		must(t, "seed", "other", "--max", "5", "--redis", s.URL())
		file := filepath.Join(t.TempDir(), "counters.jsonl")
		if err := os.WriteFile(file, []byte(furnished), 0o600); err != nil {
			t.Fatal(err)
		}
		got := decode[imported](t, must(t, "import", file, "--margin", "40", "--output", "json", "--redis", s.URL()))
		if got.PrefixSet || got.Prefix != "NorthServer/" || got.New != 4 || got.Raised != 1 || got.Stay != 1 {
			t.Errorf("%+v", got)
		}
		want := map[string]string{
			"{Raven}/HiLo/orders": "1000", "{Raven}/HiLo/empty": "40", "{Raven}/HiLo/people": "9223372036854775807", "{Raven}/HiLo/other": "5",
		}
		for key, max := range want {
			if got := s.Client(t).HGet(t.Context(), key, "Max").Val(); got != max {
				t.Errorf("%s stands at %q, want %s", key, got, max)
			}
		}
	})
}

func TestImportRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	cut := func(line string) string { return strings.Replace(furnished, line+"\n", "", 1) }
	swap := func(old, now string) string { return strings.Replace(furnished, old, now, 1) }
	plain := strings.Replace(furnished, `,"serverPrefix":"NorthServer/","nodeTag":"A"`, "", 1)
	tests := []struct {
		name, content, flags string
		code                 int
		want                 string
	}{
		{"nothing", "", "", exitUsage, "stdin is empty"},
		{"a seed file", `{"collection":"x","max":1}`, "", exitUsage, "line 1: is not the first line of an export"},
		{"a newer format", swap(`"version":1`, `"version":2`), "", exitUsage, "line 1: version 2 of the format"},
		{"a field of a newer format", swap(`"max":50`, `"max":50,"color":"red"`), "", exitUsage, `line 4: is no JSON object of this kind: unknown field "color"`},
		{"another namespace", swap(`"Raven"`, `"Other"`), "", exitRefused, "--from-namespace Other"},
		{"another namespace than named", furnished, "--from-namespace Other", exitRefused, "of the namespace Raven and not of Other"},
		{"another one to write to", furnished, "--namespace Other", exitRefused, "of the namespace Raven, and --namespace is Other"},
		{"no end", cut(`{"kind":"end","counters":6}`), "", exitRefused, "stdin is not whole"},
		{"a line cut out", cut(`{"kind":"identity","collection":"companies","max":3}`), "", exitUsage, "line 8: the end says another number of counters than there are, 5"},
		{"no prefix", cut(`{"kind":"prefix","serverPrefix":"NorthServer/","nodeTag":"A"}`), "", exitUsage, "the line with the server's prefix is missing"},
		{"two exports", furnished + furnished, "", exitUsage, "line 10: stands behind the end"},
		{"a counter twice", swap(`"people"`, `"ORDERS"`), "", exitUsage, "line 5: hilo orders stands on line 4 already"},
		{"a bad name", swap(`"people"`, `"a/b"`), "", exitUsage, `line 5: collection "a/b" holds the separator`},
		{"a bad prefix", swap("NorthServer/", "North1"), "", exitUsage, `line 2: server prefix "North1" ends in a digit`},
		{"a fraction", swap(`"max":50`, `"max":50.5`), "", exitUsage, "line 4: is no JSON object of this kind"},
		{"below zero", swap(`"max":50`, `"max":-50`), "", exitUsage, "line 4: max, ranges and epoch must be 0 or more"},
		{"no max", swap(`"max":50,`, ``), "", exitUsage, "line 4: max is missing"},
		{"a kind that is none", swap(`"kind":"server-side"`, `"kind":"other"`), "", exitUsage, `line 8: kind is "other"`},
		{"another prefix", swap("NorthServer/", "SouthServer/"), "", exitRefused, "prefix SouthServer/ and tag A, and this one has prefix none and tag none: nothing was written; --prefix keep"},
		{"both kinds of a name without a prefix", plain, "", exitRefused, "line 7: orders is a collection and an identity (line 4)"},
		{"both kinds of a name and the prefix left", furnished, "--prefix keep", exitRefused, "line 7: orders is a collection and an identity"},
		{"a margin that is none", furnished, "--margin -1", exitUsage, "--margin is -1"},
		{"a --prefix that is none", furnished, "--prefix both", exitUsage, `--prefix is "both"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				must(t, "seed", "something", "--max", "1", "--redis", s.URL()) // it is not empty
				before := everything(t, s.Client(t))
				for _, dry := range []string{"", "--dry-run"} {
					args := append([]string{"import", "--redis", s.URL()}, strings.Fields(test.flags+" "+dry)...)
					mustFail(t, test.code, hiloIn(t, test.content, args...), test.want)
				}
				wantUnchanged(t, s.Client(t), before)
			})
		})
	}
}

func TestImportTakesWhatIsSaidToBeMeant(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, flags, prefix, key string }{
		{"another namespace", furnished, "--from-namespace Raven --namespace Other --prefix take", "NorthServer/", "{Other}/HiLo/orders"},
		{"the file's prefix", furnished, "--prefix take", "NorthServer/", "{Raven}/HiLo/orders"},
		{"the server's own prefix", furnished, "--prefix keep", "SouthServer/", "{Raven}/HiLo/orders"},
		{"a part", strings.Join(strings.SplitAfter(furnished, "\n")[:4], ""), "--partial --prefix keep", "SouthServer/", "{Raven}/HiLo/orders"},
		{"a part without a prefix", strings.Join(append(strings.SplitAfter(furnished, "\n")[:1], strings.SplitAfter(furnished, "\n")[3]), ""), "--partial", "SouthServer/", "{Raven}/HiLo/orders"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				must(t, "prefix", "set", "SouthServer/", "--redis", s.URL())
				r := hiloIn(t, test.content, append([]string{"import", "--redis", s.URL()}, strings.Fields(test.flags)...)...)
				if r.code != exitDone || r.stderr != "" {
					t.Errorf("%+v", r)
				}
				client := s.Client(t)
				namespace, _, _ := strings.Cut(test.key, "/")
				if got := client.HGet(t.Context(), namespace+"/ServerPrefixForHilo", "ServerPrefix").Val(); got != test.prefix {
					t.Errorf("prefix %q", got)
				}
				if got := client.HGet(t.Context(), test.key, "Max").Val(); got != "50" {
					t.Errorf("Max %q", got)
				}
			})
		})
	}
}

// TestAnExportIsWholeOrNothing: what is missing in it would begin at 1 elsewhere.
func TestAnExportIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for _, broken := range []struct {
			name string
			by   func(client *redis.Client)
		}{
			{"a counter", func(client *redis.Client) { client.HSet(t.Context(), "{Raven}/HiLo/broken", "Max", "01") }},
			{"a counter without Max", func(client *redis.Client) { client.HSet(t.Context(), "{Raven}/HiLo/broken", "Ranges", "1") }},
			{"an identity", func(client *redis.Client) { client.Set(t.Context(), "{Raven}/Identities/broken", "1", 0) }},
			{"the server-side counter", func(client *redis.Client) { client.HSet(t.Context(), "{Raven}/ServerSide", "Value", "x") }},
			{"the prefix", func(client *redis.Client) {
				client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North1")
			}},
		} {
			client := s.Client(t)
			client.FlushAll(t.Context())
			furnish(t, s)
			broken.by(client)
			mustFail(t, exitFailed, hilo(t, "export", "--redis", s.URL()), "{Raven}/")
		}
	})
}

func FuzzReadExport(f *testing.F) {
	f.Add([]byte(furnished))
	f.Add([]byte(`{"kind":"export","version":1,"namespace":"Raven"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := readExport("f", "/", content)
		if err != nil && exitCode(err) != exitUsage {
			t.Errorf("%v", err)
		}
		for _, r := range file.rows {
			if r.Max < 0 || r.validate("/") != nil {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestAnExportNamesTheKeyThatACounterStandsAt: a name that was changed by hand would lead elsewhere, and the counter begin
// at 1.
func TestAnExportNamesTheKeyThatACounterStandsAt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "seed", "Orders", "--max", "9", "--redis", s.URL())
		s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Name", "people")
		if got := must(t, "export", "--redis", s.URL()); !strings.Contains(got, `{"kind":"hilo","collection":"orders","max":9}`) {
			t.Errorf("%s", got)
		}
	})
}
