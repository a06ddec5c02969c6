package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestPrefixSetReplacesWhatIsNamedAndKeepsWhatIsNot(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		steps := []struct {
			args []string
			want shownSettings
		}{
			{[]string{"get"}, shownSettings{Prefix: "", Tag: "", Identities: false, Example: "orders/1"}},
			{[]string{"set", "NorthServer/"}, shownSettings{Prefix: "NorthServer/", Tag: "", Identities: false, Example: "orders/NorthServer/1"}},
			{[]string{"set", "--tag", "A"}, shownSettings{Prefix: "NorthServer/", Tag: "A", Identities: false, Example: "orders/NorthServer/1-A"}},
			{[]string{"set", "South,"}, shownSettings{Prefix: "South,", Tag: "A", Identities: false, Example: "orders/South,1-A"}},
			{[]string{"set", ""}, shownSettings{Prefix: "", Tag: "A", Identities: false, Example: "orders/1-A"}},
			{[]string{"set", "North/", "--tag", ""}, shownSettings{Prefix: "North/", Tag: "", Identities: false, Example: "orders/North/1"}},
			{[]string{"set", "--tag", "B", "X/"}, shownSettings{Prefix: "X/", Tag: "B", Identities: false, Example: "orders/X/1-B"}},
			{[]string{"get"}, shownSettings{Prefix: "X/", Tag: "B", Identities: false, Example: "orders/X/1-B"}},
			{[]string{"set", "--identities"}, shownSettings{Prefix: "X/", Tag: "B", Identities: true, Example: "orders/X/1-B"}},
			{[]string{"set", "Y/", "--tag", "C"}, shownSettings{Prefix: "Y/", Tag: "C", Identities: true, Example: "orders/Y/1-C"}},
			{[]string{"get"}, shownSettings{Prefix: "Y/", Tag: "C", Identities: true, Example: "orders/Y/1-C"}},
			{[]string{"set", "--identities=false"}, shownSettings{Prefix: "Y/", Tag: "C", Identities: false, Example: "orders/Y/1-C"}},
			{[]string{"set", "", "--tag", "", "--identities"}, shownSettings{Prefix: "", Tag: "", Identities: true, Example: "orders/1"}},
			{[]string{"clear", "--yes"}, shownSettings{Prefix: "", Tag: "", Identities: false, Example: "orders/1"}},
			{[]string{"get"}, shownSettings{Prefix: "", Tag: "", Identities: false, Example: "orders/1"}},
		}
		for _, step := range steps {
			args := append([]string{"prefix", "--redis", s.URL(), "--output", "json"}, step.args...)
			step.want.Initialized = true
			if got := clitest.Decode[shownSettings](t, clitest.Must(t, args...)); got != step.want {
				t.Errorf("%q: %+v, want %+v", step.args, got, step.want)
			}
		}
		const want = "prefix:        none\ntag:           none\nidentifiers:   orders/1\nidentities:    here, as long as it is the only server\ndurable:       no\nnumbers:       all\nnew counters:  made when needed\n"
		if got := clitest.Must(t, "settings", "get", "--redis", s.URL()); got != want {
			t.Errorf("%q", got)
		}
		for home, want := range map[string]string{"--identities": "\nidentities:    here\n", "--identities=false": "\nidentities:    elsewhere\n"} {
			if got := clitest.Must(t, "settings", "set", "North/", home, "--redis", s.URL()); !strings.Contains(got, want) {
				t.Errorf("%s: %q", home, got)
			}
		}
	})
}

// TestIdentitiesComeFromTheHomeThatIsSet runs the commands that use a home, each of whose answers changes with the settings.
func TestIdentitiesComeFromTheHomeThatIsSet(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		next := func() clitest.Result { return clitest.Hilo(t, "identity", "next", "companies", "--redis", s.URL()) }
		clitest.Must(t, "settings", "set", "North/", "--redis", s.URL())
		clitest.MustFail(t, exit.Refused, next(), "is not the home of identities", "make one the home with hilo settings set --identities")
		clitest.Must(t, "settings", "set", "--identities", "--redis", s.URL())
		if r := next(); r.Stdout != "companies/1\n" {
			t.Errorf("%+v", r)
		}
		clitest.Must(t, "settings", "set", "--identities=false", "--redis", s.URL())
		clitest.MustFail(t, exit.Refused, next(), "is not the home of identities")
	})
}

func TestPrefixSetEndsIdentitiesOnlyWhereItIsNamed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for i, test := range []struct {
			line string
			code int
			next string // identity afterwards, "" if it is refused
		}{
			{"set --tag A", exit.Refused, "companies/2\n"},
			{"set North/", exit.Refused, "companies/2\n"},
			{"set --durable none", exit.Done, "companies/2\n"},
			{"set --tag A --identities", exit.Done, "companies/2\n"},
			{"set --tag A --identities=false", exit.Done, ""},
			{"clear --yes", exit.Done, "companies/2\n"},
		} {
			s.Initialize(fmt.Sprint("n", i))
			flags := []string{"--redis", s.URL(), "--namespace", fmt.Sprint("n", i)}
			run := func(line string) clitest.Result { return clitest.Hilo(t, append(flags, strings.Fields(line)...)...) }
			if r := run("identity next companies"); r.Code != exit.Done {
				t.Fatalf("identity: got %+v", r)
			}
			r := run("prefix " + test.line)
			if r.Code != test.code {
				t.Errorf("%s: got %+v, want exit %d", test.line, r, test.code)
			}
			if test.code == exit.Refused {
				clitest.MustFail(t, exit.Refused, r, "issues identities, such as companies", "--identities to go on", "--identities=false")
			}
			if r := run("identity next companies"); r.Stdout != test.next {
				t.Errorf("after %s: got %+v, want %q", test.line, r, test.next)
			}
		}
	})
}

// These are the steps in cli/README.md, with what is issued to workers after each of them.
func TestHomeMovesAwayFromADeadServer(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			north, south := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "always"), redistest.Start(t, b)
			proxy := redistest.NewProxy(t, north)
			reached := "redis://" + proxy.Addr() // by workers
			next := func(servers ...string) clitest.Result {
				args := []string{"identity", "next", "companies", "--redis", "south=" + south.URL()}
				for _, url := range servers {
					args = append(args, "--redis", "north="+url)
				}
				return clitest.Hilo(t, args...)
			}
			clitest.Must(t, "settings", "set", "North/", "--identities", "--redis", north.URL())
			clitest.Must(t, "settings", "set", "South/", "--redis", south.URL())
			if r := next(reached); r.Stdout != "companies/1\n" {
				t.Fatalf("before: got %+v, want companies/1", r)
			}

			north.Kill()
			proxy.Refuse(true)
			clitest.MustFail(t, exit.Unavailable, next(reached), "north")
			clitest.Must(t, "identity", "seed", "companies", "--value", "100", "--redis", south.URL())
			clitest.Must(t, "settings", "set", "--identities", "--redis", south.URL())
			if r := next(reached); r.Stdout != "companies/101\n" {
				t.Errorf("at the new home: got %+v, want companies/101", r)
			}

			north.Restart() // behind the proxy, so that only the operator reaches it
			if r := next(reached); r.Stdout != "companies/102\n" {
				t.Errorf("with the old home out of reach: got %+v, want companies/102", r)
			}
			clitest.MustFail(t, exit.Refused, next(north.URL()), "server prefix conflict") // had it been let back now
			clitest.Must(t, "settings", "set", "--identities=false", "--redis", north.URL())
			proxy.Refuse(false)
			if r := next(reached); r.Stdout != "companies/103\n" {
				t.Errorf("afterwards: got %+v, want companies/103", r)
			}
			clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "identity", "next", "companies", "--redis", reached), "is not the home of identities")
		})
	}
}

func TestPrefixSetDurableStatesThatTheServerKeepsEveryWrite(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "everysec")
			set := func(args ...string) []string { return append([]string{"settings", "set", "--redis", s.URL()}, args...) }
			clitest.MustFail(t, exit.Refused, clitest.Hilo(t, set("--durable", "always")...),
				"the server does not keep writes as Durable states: appendfsync is everysec: CONFIG SET appendfsync always, also in its configuration file")
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, set("--durable", "sometimes")...), `--durable is "sometimes": must be everysec, always or none`)
			sync := func() {
				t.Helper()
				if err := s.Client(t).ConfigSet(t.Context(), "appendfsync", "always").Err(); err != nil {
					t.Fatal(err)
				}
			}
			sync()
			clitest.Must(t, set("--durable", "always")...)
			last := 0
			for range 3 {
				before := last
				got := clitest.Must(t, "next", "orders", "--redis", s.URL())
				if _, err := fmt.Sscanf(got, "orders/%d\n", &last); err != nil || last <= before || last > before+200 {
					t.Errorf("got %q after orders/%d, want at most 200 more", got, before)
				}
				s.Restart()
				sync()
			}
			for _, step := range []struct{ args, want string }{
				{"get", "always"}, {"set N/ --tag A --identities --yes", "always"}, {"set --durable none", ""}, {"set --durable always", "always"}, {"clear --yes", ""},
			} {
				args := append([]string{"prefix", "--redis", s.URL(), "--output", "json"}, strings.Fields(step.args)...)
				if got := clitest.Decode[shownSettings](t, clitest.Must(t, args...)); got.Durable != step.want {
					t.Errorf("%s: got durable %q, want %q", step.args, got.Durable, step.want)
				}
			}
			if err := s.Client(t).Do(t.Context(), "ACL", "SETUSER", "operator", "on", ">secret", "~*", "+@all", "-config").Err(); err != nil {
				t.Fatal(err)
			}
			url := "redis://operator:secret@" + s.HostPort()
			clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "settings", "set", "--durable", "always", "--redis", url),
				"settings could not be seen: appendfsync, appendonly, no-appendfsync-on-rewrite; permit +config|get and +info, or check them yourself and add --yes")
			clitest.Must(t, "settings", "set", "--durable", "always", "--yes", "--redis", url)
			if got := clitest.Must(t, "export", "--redis", s.URL()); !strings.Contains(got, `{"kind":"prefix","durable":"always"}`) {
				t.Errorf("export: got %s", got)
			} else if r := clitest.HiloIn(t, got, "import", "--redis", redistest.StartMini(t).URL()); r.Code != exit.Done {
				t.Errorf("import of a durable server: %+v", r)
			}
		})
	}
}

func TestWritesOfTheCommandsFailWhereTheyAreNotConfirmed(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		file := clitest.WriteFile(t, "collection,max\nusers,7\n")
		replica := redistest.StartReplica(t, s)
		commands := []string{"seed orders --max 7", "seed --file " + file, "identity seed people --value 7", "settings set N/ --identities --yes", "settings clear --yes"}
		for _, command := range commands {
			clitest.Must(t, append(strings.Fields(command), "--redis", s.URL())...)
		}
		replica.Pause()
		for _, command := range commands {
			r := clitest.Hilo(t, append(strings.Fields(command), "--timeout", "4s", "--redis", s.URL())...)
			clitest.MustFail(t, exit.Failed, r, "written, but not confirmed: 0 of 1 replicas have it", "run the command again, which does no harm")
		}
		replica.Resume()
	})
}

func TestImportRaisesWhatTheOldServerMayHaveLost(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		old, other := start(), start()
		clitest.Must(t, "next", "orders", "--count", "32", "--redis", old.URL())
		old.ChangeReplicationID() // as a restart or failover that may have lost later ranges
		lines := clitest.Must(t, "export", "--redis", old.URL())
		var margin int
		_, after, _ := strings.Cut(lines, `"margin":`)
		if _, err := fmt.Sscanf(after, "%d", &margin); err != nil || margin < 65536 {
			t.Fatalf("got %s, want a counter with a margin", lines)
		}
		r := clitest.HiloIn(t, lines, "import", "--redis", other.URL())
		if r.Code != exit.Done || r.Stdout != "1 counter: 1 new, 0 raised, 0 stay; 1 with a margin, since their server was restarted or promoted\n" {
			t.Errorf("got %+v", r)
		}
		if got, want := clitest.Must(t, "next", "orders", "--redis", other.URL()), fmt.Sprintf("orders/%d\n", 32+margin+1); got != want {
			t.Errorf("got %q, want %q: 32 and the margin", got, want)
		}
	})
}

func TestPrefixRefusesAnIntervalThatCannotBeRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for i, test := range []struct {
			interval []any
			want     string
		}{
			{[]any{"MaxValue", "2O00"}, `field MaxValue holds "2O00": must be a decimal of 1 or more, or absent`},
			{[]any{"MinValue", "x", "NodeTag", "1"}, `field MinValue holds "x": must be a decimal of 1 or more, or absent`},
			{[]any{"MinValue", "100", "MaxValue", "50"}, `field MaxValue holds "50": must be 100 or more, which is MinValue`},
		} {
			namespace := fmt.Sprint("n", i)
			key := prefix.NewKeys(namespace).Server()
			client := s.Client(t)
			client.HSet(t.Context(), key, append(test.interval, "ServerPrefix", "North/")...)
			before := clitest.Everything(t, client)
			for _, line := range []string{
				"clear", "clear --yes", "get", "set South/ --tag A --identities", "set --min-value 1 --max-value 90000000", "set S/ --tag= --identities --min-value 100 --max-value 90000000",
			} {
				r := clitest.Hilo(t, append([]string{"prefix", "--redis", s.URL(), "--namespace", namespace}, strings.Fields(line)...)...)
				clitest.MustFail(t, exit.Failed, r, "hilo: key "+key+" "+test.want+"; ", "; correct it with redis-cli")
			}
			clitest.WantUnchanged(t, client, before)
		}
	})
}

func TestPrefixSetRemovesNoMinValue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		set := func(flags ...string) clitest.Result {
			return clitest.Hilo(t, append([]string{"settings", "set", "--redis", s.URL()}, flags...)...)
		}
		if r := set("--min-value", "1000000000001"); r.Code != exit.Done {
			t.Fatalf("%+v", r)
		}
		clitest.MustFail(t, exit.Refused, set("--min-value", "0", "--yes"), "an interval belongs to its server for ever: MinValue is 1000000000001, "+
			"and may only rise, not be removed", "by hand")
	})
}
