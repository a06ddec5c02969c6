package examine

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDoctorFindsCountersThatAUserWithoutINFOIsNotServedFrom(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		do(t, s, "ACL", "SETUSER", "ann", "on", "nopass", "~*", "+@all", "-info")
		as := strings.Replace(s.URL(), "redis://", "redis://ann:x@", 1)
		examine(t, exit.Fault, "--redis", as).must(t, "guard", "", finding.Fault, "1 key with an Origin, and scripts of this user may not use INFO: {Raven}/HiLo/orders")
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "next", "orders", "--redis", as), "has an Origin", "+info")

		do(t, s, "HDEL", "{Raven}/HiLo/orders", "Origin") // as where nobody is permitted to
		examine(t, exit.Done, "--redis", as).must(t, "guard", "", finding.Warning, "may not use INFO")
		clitest.Must(t, "next", "orders", "--redis", as)
		mustLeaveNothing(t, s)
	})
}

func TestDoctorFindsKeysThatAreNeverRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		// strings.ToLower, as an earlier version had it, makes this of ΠΕΛΆΤΗΣ written with its last letter.
		do(t, s, "HSET", "{Raven}/HiLo/πελάτης", "Max", 64)
		do(t, s, "HSET", "{Raven}/Identities/Companies", "Value", 5)
		do(t, s, "HSET", "{Raven}/HiLo/orders", "Max", 1)
		do(t, s, "HSET", "{Raven}/HiLo/north/Orders", "Max", 1)
		r := clitest.Hilo(t, "doctor", "--output", "json", "--redis", s.URL())
		got := clitest.Decode[diagnosis](t, r.Stdout)
		got.must(t, "spelling", "", finding.Fault, "2 keys never read: ")
		got.must(t, "spelling", "", finding.Fault, "{Raven}/HiLo/πελάτης, read is {Raven}/HiLo/πελάτησ")
		got.must(t, "spelling", "", finding.Fault, "{Raven}/Identities/Companies, read is {Raven}/Identities/companies")
		got.must(t, "name", "", finding.Fault, `1 key with an invalid name: {Raven}/HiLo/north/Orders (collection "north/Orders" holds the separator "/")`)
		if r.Code != exit.Fault || strings.Contains(r.Stdout, "read is {Raven}/HiLo/orders") {
			t.Errorf("exit %d: %s", r.Code, r.Stdout)
		}
		// It is so: the numbers that were given would be given again.
		if got := clitest.Must(t, "next", "πελάτης", "--redis", s.URL()); got != "πελάτης/1\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestDoctorJudgesTheHomeOfIdentities(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		look := func() diagnosis {
			return clitest.Decode[diagnosis](t, clitest.Hilo(t, append([]string{"doctor", "--output", "json"}, flags...)...).Stdout)
		}
		look().must(t, "identities", "", finding.OK, "identities come from north")
		clitest.Must(t, "prefix", "set", "--identities", "--redis", south.URL())
		look().must(t, "identities", "", finding.Fault, "north and south both report")
		clitest.Must(t, "prefix", "set", "--identities=false", "--redis", south.URL())
		clitest.Must(t, append([]string{"identity", "next", "companies"}, flags...)...)
		clitest.Must(t, "prefix", "set", "--identities=false", "--redis", north.URL())
		look().must(t, "identities", "", finding.Warning, "there are identities, and no server reports that it is their home")
		clitest.Must(t, "prefix", "set", "NORTHSERVER/", "--redis", south.URL())
		look().must(t, "prefix", "", finding.Fault, "the same prefix and tag but for letter case")
	})
}

func TestDoctorAdvisesRequirePrefixWhereNothingIsKept(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		const advice = "its prefix is not kept either"
		do(t, s, "CONFIG", "SET", "save", "")
		said := func(args ...string) bool {
			return strings.Contains(clitest.Hilo(t, append(args, "doctor", "--output", "json", "--redis", s.URL())...).Stdout, advice)
		}
		if said() {
			t.Error("advised to a server without a prefix")
		}
		clitest.Must(t, "prefix", "set", "North/", "--redis", s.URL())
		if !said() {
			t.Error("not advised")
		}
		if r := clitest.Hilo(t, "doctor", "--require-prefix", "--redis", s.URL()); strings.Contains(r.Stdout, advice) {
			t.Errorf("advised to who has it: %s", r.Stdout)
		}
	})
}
