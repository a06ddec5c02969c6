package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestExportIsTheSameStateOnAnEmptyServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Furnish(t, s)
		lines := clitest.Must(t, "export", "--redis", s.URL())
		if clitest.Lasting(lines) != clitest.Furnished {
			t.Errorf("%s", lines)
		}
		other := redistest.StartMini(t)
		empty := clitest.Everything(t, other.Client(t))
		dry := clitest.HiloIn(t, lines, "import", "--dry-run", "--redis", other.URL())
		if dry.Code != exit.Done || !strings.Contains(dry.Stdout, "6 counters: 6 new, 0 raised, 0 stay; nothing was written\nthe server's prefix would be NorthServer/, its tag A, and it would be the home of identities\n") {
			t.Errorf("%+v", dry)
		}
		clitest.WantUnchanged(t, other.Client(t), empty)

		old := strings.Replace(lines, `{"kind":"server-side",`, `{"kind":"server-side","collection":"invoices",`, 1) // as 0.1 wrote it
		r := clitest.HiloIn(t, old, "import", "--redis", other.URL())
		if r.Code != exit.Done || r.Stderr != "" || r.Stdout != "6 counters: 6 new, 0 raised, 0 stay\nthe server's prefix is now NorthServer/, its tag A, and it is now the home of identities\n" {
			t.Errorf("%+v", r)
		}
		if again := clitest.Must(t, "export", "--redis", other.URL()); clitest.Lasting(again) != clitest.Furnished {
			t.Errorf("exported again: %s", again)
		}
		for _, args := range []string{"list --output json", "identity list --output json", "settings get --output json"} {
			here := clitest.Must(t, append(strings.Fields(args), "--redis", s.URL())...)
			if there := clitest.Must(t, append(strings.Fields(args), "--redis", other.URL())...); there != here {
				t.Errorf("%s: %s, and before %s", args, there, here)
			}
		}
		// There is no jump, since an import carries no origin and is no evidence of lost writes.
		for args, want := range map[string]string{
			"next orders": "orders/NorthServer/51-A\n", "identity next companies": "companies/4\n", "id invoices/": "invoices/NorthServer/0000000000000000003-A\n",
		} {
			if got := clitest.Must(t, append(strings.Fields(args), "--redis", other.URL())...); got != want {
				t.Errorf("%s: %q, want %q", args, got, want)
			}
		}
	})
}

// Counters are made when they are needed only after all of them were imported, or they would begin at 1.
func TestImportAllowsNewCountersLast(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	var last atomic.Value
	s.Hook(func(cmd string, args []string) string {
		if cmd == "HSET" || cmd == "HDEL" {
			last.Store(cmd + " " + args[0])
		}
		return ""
	})
	lines := `{"kind":"export","version":1,"namespace":"Raven"}
{"kind":"prefix","serverPrefix":"NorthServer/","identities":true}
{"kind":"hilo","collection":"orders","max":50,"bare":7}
{"kind":"identity","collection":"orders","max":3}
{"kind":"end","counters":2}
`
	if r := clitest.HiloIn(t, lines, "import", "--redis", s.URL()); r.Code != exit.Done {
		t.Fatalf("%+v", r)
	}
	if last.Load() != "HDEL {Raven}/ServerPrefixForHilo" {
		t.Errorf("the last write was %s", last.Load())
	}
	s.Hook(nil)
	if got := clitest.Lasting(clitest.Must(t, "export", "--redis", s.URL())); got != strings.NewReplacer(`"version":1`, `"version":3`, `"bare":7`, `"bare":true`).Replace(lines) {
		t.Errorf("%s", got)
	}
}

func TestImportRaisesOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "NorthServer/", "--tag", "A", "--redis", s.URL())
		clitest.Must(t, "seed", "orders", "--max", "1000", "--redis", s.URL())
		clitest.Must(t, "seed", "empty", "--max", "0", "--redis", s.URL())
		clitest.Must(t, "seed", "other", "--max", "5", "--redis", s.URL())
		file := filepath.Join(t.TempDir(), "counters.jsonl")
		if err := os.WriteFile(file, []byte(clitest.Furnished), 0o600); err != nil {
			t.Fatal(err)
		}
		got := clitest.Decode[imported](t, clitest.Must(t, "import", file, "--margin", "40", "--output", "json", "--redis", s.URL()))
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
	cut := func(line string) string { return strings.Replace(clitest.Furnished, line+"\n", "", 1) }
	swap := func(old, now string) string { return strings.Replace(clitest.Furnished, old, now, 1) }
	plain := strings.Replace(clitest.Furnished, `,"serverPrefix":"NorthServer/","nodeTag":"A","identities":true`, "", 1)
	tests := []struct {
		name, content, flags string
		code                 int
		want                 string
	}{
		{"nothing", "", "", exit.Usage, "stdin is empty"},
		{"a seed file", `{"collection":"x","max":1}`, "", exit.Usage, "line 1: is not the first line of an export"},
		{"a newer format", swap(`"version":3`, `"version":4`), "", exit.Usage, "line 1: version 4 of the format"},
		{"a format of no version", swap(`"version":3`, `"version":0`), "", exit.Usage, "line 1: version 0 of the format"},
		{"a field of a newer format", swap(`"max":50`, `"max":50,"color":"red"`), "", exit.Usage, `line 4: is no JSON object of this kind: unknown field "color"`},
		{"another namespace", swap(`"Raven"`, `"Other"`), "", exit.Refused, "--from-namespace Other"},
		{"another namespace than named", clitest.Furnished, "--from-namespace Other", exit.Refused, "of the namespace Raven and not of Other"},
		{"another one to write to", clitest.Furnished, "--namespace Other", exit.Refused, "of the namespace Raven, and --namespace is Other"},
		{"no end", cut(`{"kind":"end","counters":6}`), "", exit.Refused, "stdin is not whole"},
		{"a line cut out", cut(`{"kind":"identity","collection":"companies","max":3}`), "", exit.Usage, "line 8: the end states another number of counters than there are, 5"},
		{"no prefix", cut(`{"kind":"prefix","serverPrefix":"NorthServer/","nodeTag":"A","identities":true}`), "", exit.Usage, "the line with the server's prefix is missing"},
		{
			"a part without the prefix to take", `{"kind":"export","version":1,"namespace":"Raven"}` + "\n" + `{"kind":"hilo","collection":"orders","max":50}`,
			"--partial --prefix take", exit.Refused, "stdin has no line with a prefix",
		},
		{"two exports", clitest.Furnished + clitest.Furnished, "", exit.Usage, "line 10: follows the end"},
		{"a counter twice", swap(`"people"`, `"ORDERS"`), "", exit.Usage, "line 5: hilo orders stands on line 4 already"},
		{"a bad name", swap(`"people"`, `"a/b"`), "", exit.Usage, `line 5: collection "a/b" holds the separator`},
		{"a bad prefix", swap("NorthServer/", "North1"), "", exit.Usage, `line 2: server prefix "North1" ends in a digit`},
		{"a field twice", swap(`"max":50`, `"max":50,"Max":1`), "", exit.Usage, "nothing was written: line 4: holds \"max\" twice\n"},
		{"a brace too many", swap(`"max":50`, `"max":50}`), "", exit.Usage, "line 4: holds more than one JSON object"},
		{"a fraction", swap(`"max":50`, `"max":50.5`), "", exit.Usage, "line 4: is no JSON object of this kind"},
		{"below zero", swap(`"max":50`, `"max":-50`), "", exit.Usage, "line 4: every number must be 0 or more"},
		{"bare below zero", swap(`"max":50`, `"max":50,"bare":-1`), "", exit.Usage, "bare is -1: must be true or false"},
		{"no max", swap(`"max":50,`, ``), "", exit.Usage, "line 4: max is missing"},
		{"a kind that is none", swap(`"kind":"server-side"`, `"kind":"other"`), "", exit.Usage, `line 8: kind is "other"`},
		{"another prefix", swap("NorthServer/", "SouthServer/"), "", exit.Refused, "prefix SouthServer/ and tag A, and this one has prefix none and tag none: nothing was written; --prefix keep"},
		{"both kinds of a name without a prefix", plain, "", exit.Refused, "line 7: orders is a collection and an identity (line 4)"},
		{"both kinds of a name and the prefix left", clitest.Furnished, "--prefix keep", exit.Refused, "line 7: orders is a collection and an identity"},
		{"a margin that is none", clitest.Furnished, "--margin -1", exit.Usage, "--margin is -1"},
		{"a --prefix that is none", clitest.Furnished, "--prefix both", exit.Usage, `--prefix is "both"`},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "something", "--max", "1", "--redis", s.URL()) // it is not empty
		before := clitest.Everything(t, s.Client(t))
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				for _, dry := range []string{"", "--dry-run"} {
					args := append([]string{"import", "--redis", s.URL()}, strings.Fields(test.flags+" "+dry)...)
					clitest.MustFail(t, test.code, clitest.HiloIn(t, test.content, args...), test.want)
				}
				clitest.WantUnchanged(t, s.Client(t), before)
			})
		}
	})
}

func TestImportFollowsItsFlags(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, flags, prefix, key string }{
		{"another namespace", clitest.Furnished, "--from-namespace Raven --namespace Other --prefix take", "NorthServer/", "{Other}/HiLo/orders"},
		{"the file's prefix", clitest.Furnished, "--prefix take", "NorthServer/", "{Raven}/HiLo/orders"},
		{"the server's own prefix", clitest.Furnished, "--prefix keep", "SouthServer/", "{Raven}/HiLo/orders"},
		{"a part", strings.Join(strings.SplitAfter(clitest.Furnished, "\n")[:4], ""), "--partial --prefix keep", "SouthServer/", "{Raven}/HiLo/orders"},
		{"a part without a prefix", strings.Join(append(strings.SplitAfter(clitest.Furnished, "\n")[:1], strings.SplitAfter(clitest.Furnished, "\n")[3]), ""), "--partial", "SouthServer/", "{Raven}/HiLo/orders"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				clitest.Must(t, "settings", "set", "SouthServer/", "--redis", s.URL())
				r := clitest.HiloIn(t, test.content, append([]string{"import", "--redis", s.URL()}, strings.Fields(test.flags)...)...)
				if r.Code != exit.Done || r.Stderr != "" {
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

// TestExportIsWholeOrNothing covers counters that cannot be exported, since one that is missing in an export would begin at 1
// elsewhere.
func TestExportIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for _, broken := range []struct {
			name string
			want string
			by   func(client redistest.Client)
		}{
			{"a counter", "{Raven}/", func(client redistest.Client) { client.HSet(t.Context(), "{Raven}/HiLo/broken", "Max", "01") }},
			{"a counter without Max", "{Raven}/", func(client redistest.Client) { client.HSet(t.Context(), "{Raven}/HiLo/broken", "Ranges", "1") }},
			{"an identity", "{Raven}/", func(client redistest.Client) { client.Set(t.Context(), "{Raven}/Identities/broken", "1", 0) }},
			{"the server-side counter", "{Raven}/", func(client redistest.Client) { client.HSet(t.Context(), "{Raven}/ServerSide", "Value", "x") }},
			{"the prefix", "{Raven}/", func(client redistest.Client) {
				client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North1")
			}},
			// Both of these can be read but not imported.
			{"a name", `"north/broken" holds the separator`, func(client redistest.Client) { client.HSet(t.Context(), "{Raven}/HiLo/north/broken", "Max", "1") }},
			{"two of a name", "hilo orders stands on line", func(client redistest.Client) { client.HSet(t.Context(), "{Raven}/HiLo/ORDERS", "Max", "1") }},
		} {
			client := s.Client(t)
			client.FlushAll(t.Context())
			s.Initialize("Raven")
			clitest.Furnish(t, s)
			broken.by(client)
			clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "export", "--redis", s.URL()), broken.want)
		}
	})
}

// An export with a name that was edited by hand would import the counter under another key, and its own key would begin at 1.
func TestExportUsesTheNameOfTheKey(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "Orders", "--max", "9", "--redis", s.URL())
		s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Name", "people")
		if got := clitest.Lasting(clitest.Must(t, "export", "--redis", s.URL())); !strings.Contains(got, `{"kind":"hilo","collection":"orders","max":9,"bare":true}`) {
			t.Errorf("%s", got)
		}
	})
}

func TestExportIsRefusedWhileAClusterMovesTheSlot(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 2, 0)
			url := "redis+cluster://" + strings.Join(cluster.Addrs(), ",")
			clitest.Must(t, "seed", "orders", "--max", "9", "--redis", url)
			slot := cluster.Slot("{Raven}")
			from, to := cluster.Nodes[slot*2/16384], cluster.Nodes[1-slot*2/16384]
			for _, step := range []struct {
				at, peer *redistest.Server
				state    string
			}{{to, from, "IMPORTING"}, {from, to, "MIGRATING"}} {
				id := step.peer.Client(t).Do(t.Context(), "CLUSTER", "MYID").Val()
				if err := step.at.Client(t).Do(t.Context(), "CLUSTER", "SETSLOT", slot, step.state, id).Err(); err != nil {
					t.Fatal(err)
				}
			}
			for _, command := range []string{"export", "list"} {
				clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, command, "--redis", url), "is migrating or importing at", "; try again when the move is complete")
			}
		})
	}
}

// Tools such as jq read numbers as doubles, and write them rounded.
func TestExportWritesGreatNumbersAsStrings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "orders", "--max", "9007199254740993", "--redis", s.URL())
		clitest.Must(t, "seed", "people", "--max", "9007199254740992", "--redis", s.URL())
		lines := clitest.Must(t, "export", "--redis", s.URL())
		for _, want := range []string{`"collection":"orders","max":"9007199254740993"`, `"collection":"people","max":9007199254740992`} {
			if !strings.Contains(lines, want) {
				t.Errorf("%s is not in %s", want, lines)
			}
		}
		other := redistest.StartMini(t)
		for _, text := range []string{lines, strings.ReplaceAll(lines, `"9007199254740993"`, "9007199254740993")} {
			if r := clitest.HiloIn(t, text, "import", "--redis", other.URL()); r.Code != exit.Done {
				t.Errorf("%+v", r)
			}
			if got := other.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val(); got != "9007199254740993" {
				t.Errorf("got Max %s, want 9007199254740993", got)
			}
		}
	})
}

func TestImportReadsFilesOfHilo01(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		s.Client(t).FlushAll(t.Context()) // a server without settings gets those of the file
		const lines = `{"kind":"export","version":2,"namespace":"Raven","replication":"0123456789012345678901234567890123456789"}
{"kind":"prefix","serverPrefix":"North/","durable":"replicas:1"}
{"kind":"hilo","collection":"orders","max":50,"ranges":2,"epoch":1,"bare":7,"top":60,"written":1700000000000000,"issued":9,"lost":true}
{"kind":"identity","collection":"companies","max":3,"lowered":1,"forced":"token 4","written":1700000000000000}
{"kind":"end","counters":2}
`
		r := clitest.HiloIn(t, lines, "import", "--redis", s.URL())
		if r.Code != exit.Done || !strings.HasPrefix(r.Stdout, "2 counters: 2 new, 0 raised, 0 stay; 1 with a margin, ") || !strings.Contains(r.Stdout, "prefix is now North/") {
			t.Errorf("got %+v", r)
		}
		got := s.Client(t).HGetAll(t.Context(), "{Raven}/HiLo/orders").Val()
		if got["Max"] != "65596" || got["Bare"] != "1" || got["Ranges"] != "2" {
			t.Errorf("got %v, want the greatest number that a gateway issued and the least jump of hilo 0.1", got)
		}
		settings := s.Client(t).HGetAll(t.Context(), "{Raven}/ServerPrefixForHilo").Val()
		if settings["ServerPrefix"] != "North/" || settings["Durable"] != "" || settings["NewCounters"] != "" {
			t.Errorf("got the settings %v", settings)
		}
	})
}
