package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// empty makes a server one that is new.
func empty(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := s.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestInitMakesSettingsOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		empty(t, s)
		clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "init", "North/", "--redis", s.URL()), "nothing was written", "--yes", "never in a job that repeats", "hilo help recover")
		clitest.CheckEmpty(t, s)
		made := clitest.Decode[initialized](t, clitest.Must(t, "init", "North/", "--tag", "A", "--identities", "--min-value", "100", "--seeded-only", "--yes", "--output", "json", "--redis", s.URL()))
		want := shownSettings{Initialized: true, Prefix: "North/", Tag: "A", Identities: true, MinValue: 100, SeededOnly: true, Example: "orders/North/100-A"}
		if made.shownSettings != want || made.Restart == "" {
			t.Errorf("got %+v, want %+v", made, want)
		}
		before := clitest.Everything(t, s.Client(t))
		for _, args := range []string{"init --yes", "init"} {
			r := clitest.Hilo(t, append(strings.Fields(args), "--redis", s.URL())...)
			clitest.MustFail(t, exit.Refused, r, "the server has settings already: prefix North/, tag A, home of identities, numbers 100 to ", "seeded only", "hilo settings set")
		}
		clitest.WantUnchanged(t, s.Client(t), before)
	})
}

func TestInitLooksAtTheServer(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		for _, test := range []struct {
			name    string
			config  []string
			flags   string
			replica bool
			durable string
			want    []string // in the text
		}{
			{"an AOF", []string{"--appendonly", "yes"}, "", false, "everysec", []string{"skips fewer than 200 numbers", "takes 1.5 seconds"}},
			{"an AOF that is always synced", []string{"--appendonly", "yes", "--appendfsync", "always"}, "", false, "always", []string{"skips fewer than 200 numbers"}},
			{"an AOF, and plain", []string{"--appendonly", "yes"}, "--durable none", false, "", []string{"skips 65,536 to 4.3 million", "hilo settings set --durable everysec"}},
			{"an AOF that is not synced", []string{"--appendonly", "yes", "--appendfsync", "no"}, "", false, "", []string{"appendfsync is no", "hilo settings set --durable everysec"}},
			{"snapshots", []string{"--save", "60 1000"}, "", false, "", []string{"1.0 to 5.2 million", "a crash loses what was written since the newest snapshot", "CONFIG SET appendonly yes"}},
			{"nothing", []string{"--save", ""}, "", false, "", []string{"a restart empties the server", "CONFIG SET appendonly yes"}},
			{"an AOF and a replica", []string{"--appendonly", "yes"}, "", true, "", []string{"a restart or failover skips 65,536 to 4.3 million", "in place of replicas"}},
		} {
			t.Run(b.Name+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, b, test.config...)
				if test.replica {
					redistest.StartReplica(t, s)
				}
				empty(t, s)
				got := clitest.Must(t, append([]string{"init", "--yes", "--redis", s.URL()}, strings.Fields(test.flags)...)...)
				for _, want := range test.want {
					if !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
						t.Errorf("%q is not in\n%s", want, got)
					}
				}
				if stored := s.Client(t).HGet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable").Val(); stored != test.durable {
					t.Errorf("got Durable %q, want %q", stored, test.durable)
				}
			})
		}
	}
}

func TestInitNamesCountersWithoutSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		empty(t, s)
		s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Max", "4000") // as hilo 0.1 or an operator wrote it
		clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "init", "--redis", s.URL()), "counters stand here without settings", "collection orders, which stands at 4000", "--yes")
		if got := clitest.Must(t, "init", "--yes", "--redis", s.URL()); !strings.Contains(got, "collection orders, which stands at 4000") {
			t.Errorf("got %s", got)
		}
		if got := clitest.Must(t, "next", "orders", "--redis", s.URL()); got != "orders/4001\n" {
			t.Errorf("got %q, want orders/4001", got)
		}
	})
}

func TestInitAsksAtATerminal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		typed string
		code  int
	}{{"y\n", exit.Done}, {"n\n", exit.Failed}, {"\n", exit.Failed}} {
		s := redistest.StartMini(t)
		empty(t, s)
		code, seen := atTerminal(t, test.typed, "init", "North/", "--redis", s.URL())
		seen = strings.Join(strings.Fields(ansi.Strip(seen)), " ")
		if code != test.code || !strings.Contains(seen, "prefix North/") || !strings.Contains(seen, "Is this server new") {
			t.Errorf("%q: got exit %d, want %d: %s", test.typed, code, test.code, seen)
		}
		if code == exit.Failed {
			clitest.CheckEmpty(t, s)
		}
	}
}

func TestSettingsAskBeforeTextsChange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--count", "7", "--redis", s.URL())
		before := clitest.Everything(t, s.Client(t))
		r := clitest.Hilo(t, "settings", "set", "North/", "--redis", s.URL())
		clitest.MustFail(t, exit.Refused, r, "issued orders/7 without prefix and tag", "orders/North/8", "--yes")
		if code, seen := atTerminal(t, "n\n", "settings", "set", "North/", "--redis", s.URL()); code != exit.Failed || !strings.Contains(seen, "Go on? [y/N]") {
			t.Errorf("got exit %d, %q", code, seen)
		}
		clitest.WantUnchanged(t, s.Client(t), before)
		if code, seen := atTerminal(t, "y\n", "settings", "set", "North/", "--redis", s.URL()); code != exit.Done {
			t.Errorf("got exit %d, %q", code, seen)
		}
		stated := map[string]string{"NodeTag": "A", "Identities": "here", "Durable": "everysec", "NewCounters": "no"}
		if err := s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", stated).Err(); err != nil {
			t.Fatal(err)
		}
		before = clitest.Everything(t, s.Client(t))
		const removed = "This removes the prefix North/, the tag A, the home of identities, Durable everysec, seeded only."
		clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "settings", "clear", "--redis", s.URL()), removed, "--yes")
		if code, seen := atTerminal(t, "n\n", "settings", "clear", "--redis", s.URL()); code != exit.Failed || !strings.Contains(seen, removed) {
			t.Errorf("got exit %d, %q", code, seen)
		}
		clitest.WantUnchanged(t, s.Client(t), before)
		clitest.Must(t, "settings", "clear", "--yes", "--redis", s.URL())
		clitest.Must(t, "settings", "clear", "--redis", s.URL()) // there is nothing to remove
		if n := s.Client(t).HExists(t.Context(), "{Raven}/ServerPrefixForHilo", "Initialized").Val(); !n {
			t.Error("the server is not initialised any more")
		}
	})
}

func TestSeedAfterALossAddsAMargin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		file := clitest.WriteFile(t, "collection,max,kind\nusers,7,hilo\ncompanies,3,identity\n,9,server-side\n")
		clitest.Must(t, "settings", "set", "North/", "--identities", "--max-value", "100000000", "--redis", s.URL())
		for args, want := range map[string]string{
			"seed orders --max 10 --after-loss":             "orders: Max is 4194314\n",
			"seed people --max 10 --after-loss --margin 90": "people: Max is 100\n",
			"seed last --max 99999999 --after-loss":         "last: Max is 100000000\n",
			"seed --after-loss --file " + file:              "3 counters: 3 new, 0 raised, 0 stay\n",
		} {
			if got := clitest.Must(t, append(strings.Fields(args), "--redis", s.URL())...); got != want {
				t.Errorf("%s: got %q, want %q", args, got, want)
			}
		}
		for _, name := range []string{"{Raven}/HiLo/users Max 4194311", "{Raven}/Identities/companies Value 4194307", "{Raven}/ServerSide Value 4194313"} {
			words := strings.Fields(name)
			if got := s.Client(t).HGet(t.Context(), words[0], words[1]).Val(); got != words[2] {
				t.Errorf("%s: got %s, want %s", words[0], got, words[2])
			}
		}
	})
}
