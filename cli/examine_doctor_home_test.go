package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDoctorFindsCountersThatNeedINFO(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		do(t, s, "ACL", "SETUSER", "ann", "on", "nopass", "~*", "+@all", "-info")
		as := strings.Replace(s.URL(), "redis://", "redis://ann:x@", 1)
		runDoctor(t, exit.Fault, "--redis", as).must(t, "guard", "", finding.Fault, "1 key with an Origin, and scripts of this user may not use INFO: {Raven}/HiLo/orders")
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "next", "orders", "--redis", as), "has an Origin", "+info")

		do(t, s, "HDEL", "{Raven}/HiLo/orders", "Origin") // the remedy if no user may use INFO
		runDoctor(t, exit.Done, "--redis", as).must(t, "guard", "", finding.Warning, "may not use INFO")
		clitest.Must(t, "next", "orders", "--redis", as)
		mustLeaveNothing(t, s)
	})
}

func TestDoctorFindsKeysThatAreNeverRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		// strings.ToLower, which an earlier version used, does not map the final sigma to the usual one.
		do(t, s, "HSET", "{Raven}/HiLo/πελάτης", "Max", 64)
		do(t, s, "HSET", "{Raven}/Identities/Companies", "Value", 5)
		do(t, s, "HSET", "{Raven}/HiLo/orders", "Max", 1)
		do(t, s, "HSET", "{Raven}/HiLo/north/Orders", "Max", 1)
		r := clitest.Hilo(t, "doctor", "--output", "json", "--redis", s.URL())
		got := clitest.Decode[diagnosis](t, r.Stdout)
		got.must(t, "spelling", "", finding.Fault, "2 keys never read: ")
		got.must(t, "spelling", "", finding.Fault, "{Raven}/HiLo/πελάτης (clients use {Raven}/HiLo/πελάτησ)")
		got.must(t, "spelling", "", finding.Fault, "{Raven}/Identities/Companies (clients use {Raven}/Identities/companies)")
		got.must(t, "name", "", finding.Fault, `1 key with an invalid name: {Raven}/HiLo/north/Orders (collection "north/Orders" holds the separator "/")`)
		if r.Code != exit.Fault || strings.Contains(r.Stdout, "clients use {Raven}/HiLo/orders") {
			t.Errorf("exit %d: %s", r.Code, r.Stdout)
		}
		// The finding is true: hilo would issue the numbers again.
		if got := clitest.Must(t, "next", "πελάτης", "--redis", s.URL()); got != "πελάτης/1\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestDoctorChecksTheHomeOfIdentities(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		diagnose := func() diagnosis {
			return clitest.Decode[diagnosis](t, clitest.Hilo(t, append([]string{"doctor", "--output", "json"}, flags...)...).Stdout)
		}
		diagnose().must(t, "identities", "", finding.OK, "identities come from north")
		clitest.Must(t, "prefix", "set", "--identities", "--redis", south.URL())
		diagnose().must(t, "identities", "", finding.Fault, "north and south both report")
		clitest.Must(t, "prefix", "set", "--identities=false", "--redis", south.URL())
		clitest.Must(t, append([]string{"identity", "next", "companies"}, flags...)...)
		clitest.Must(t, "prefix", "set", "--identities=false", "--redis", north.URL())
		diagnose().must(t, "identities", "", finding.Warning, "there are identities, and no server reports that it is their home")
		clitest.Must(t, "prefix", "set", "NORTHSERVER/", "--redis", south.URL())
		diagnose().must(t, "prefix", "", finding.Fault, "the same prefix and tag but for letter case")
	})
}
