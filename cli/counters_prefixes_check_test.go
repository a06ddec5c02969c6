package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestPrefixCheckOfServers(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		check := append([]string{"settings", "check"}, flags...)
		if got := clitest.Must(t, check...); !strings.Contains(got, "north   NorthServer/  none  here        -        all      orders/NorthServer/1\n") || !strings.Contains(got, "identities come from north") || !strings.Contains(got, "\n0 faults") {
			t.Errorf("%q", got)
		}
		clitest.Must(t, "settings", "set", "northserver/", "--redis", south.URL())
		r := clitest.Hilo(t, append(check, "--output", "json")...)
		got := clitest.Decode[comparedServers](t, r.Stdout)
		if r.Code != exit.Fault || got.Faults != 1 || len(got.Servers) != 2 || got.Servers[1].Prefix != "northserver/" {
			t.Errorf("exit %d, %+v", r.Code, got)
		}
		clitest.Must(t, "settings", "set", "SouthServer/", "--identities", "--redis", south.URL())
		if r := clitest.Hilo(t, check...); r.Code != exit.Fault || !strings.Contains(r.Stdout, "north and south both report that they are the home of identities") {
			t.Errorf("%+v", r)
		}
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, append([]string{"identity", "next", "companies"}, flags...)...), "both report that they are the home of identities", "hilo settings check")
		clitest.Must(t, "settings", "set", "northserver/", "--identities=false", "--redis", south.URL())
		if err := north.Client(t).Set(t.Context(), "{Raven}/ServerPrefixForHilo", "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if r := clitest.Hilo(t, check...); r.Code != exit.Fault || !strings.Contains(r.Stdout, "is not a hash") || !strings.Contains(r.Stderr, "1 fault found") {
			t.Errorf("%+v", r)
		}
		south.Kill()
		if r := clitest.Hilo(t, check...); r.Code != exit.Fault || !strings.Contains(r.Stdout, "is not a hash") ||
			!strings.Contains(r.Stdout, "south: no Redis answers at "+south.HostPort()) {
			t.Errorf("south is down beside a fault: %+v", r)
		}
		r = clitest.Hilo(t, append(check, "--output", "json")...)
		got = clitest.Decode[comparedServers](t, r.Stdout)
		clitest.WantFinding(t, got.Findings, "reach", "south", finding.Unknown, "no Redis answers at "+south.HostPort())
		if got.Faults != 1 || got.Unknown != 1 {
			t.Errorf("south is down beside a fault: %+v", got)
		}
		if err := north.Client(t).Del(t.Context(), "{Raven}/ServerPrefixForHilo").Err(); err != nil {
			t.Fatal(err)
		}
		clitest.Must(t, "init", "NorthServer/", "--identities", "--yes", "--redis", north.URL())
		r = clitest.Hilo(t, check...)
		if r.Code != exit.Unavailable || !strings.Contains(r.Stdout, "prefix NorthServer/") || !strings.Contains(r.Stderr, "south: no Redis answers at "+south.HostPort()) {
			t.Errorf("south is down: %+v", r)
		}
		north.Kill()
		clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, check...), "north: no Redis answers at "+north.HostPort(), "south: no Redis")
	})
}

func TestSettingsCheckReportsAServerWithoutSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		empty(t, s)
		r := clitest.Hilo(t, "settings", "check", "--redis", s.URL(), "--output", "json")
		got := clitest.Decode[comparedServers](t, r.Stdout)
		clitest.WantFinding(t, got.Findings, "settings", "", finding.Fault, "it has no settings: it is new, or it lost its data")
		if r.Code != exit.Fault || got.Servers[0].Initialized {
			t.Errorf("got %+v, want exit %d", r, exit.Fault)
		}
	})
}

func TestPrefixCheckOfOneServerListedTwice(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		database := strings.TrimSuffix(s.URL(), "/0") + "/1"
		replica := redistest.StartReplica(t, s)
		for name, test := range map[string]struct{ other, want string }{
			"the same":         {s.URL(), "a and b are one server (same run_id)"},
			"another database": {database, "a and b are one server (same run_id)"},
			"its replica":      {replica.URL(), "a and b have the same data (same replication id)"},
		} {
			clitest.Must(t, "settings", "set", "North/", "--identities", "--redis", s.URL())
			r := clitest.Hilo(t, "settings", "check", "--redis", "a="+s.URL(), "--redis", "b="+test.other, "--output", "json")
			got := clitest.Decode[comparedServers](t, r.Stdout)
			clitest.WantFinding(t, got.Findings, "shared", "", finding.Fault, test.want)
			if way := "give each a server of its own, or a namespace"; strings.Contains(r.Stdout, way) == (name == "its replica") {
				t.Errorf("%s: got %s, want %q but for a replica", name, r.Stdout, way)
			}
			if r.Code != exit.Fault || got.Faults != 1 || len(got.Servers) != 2 || strings.Contains(r.Stdout, "same prefix") {
				t.Errorf("%s: got %+v, want one fault", name, r)
			}
		}
	})
}
