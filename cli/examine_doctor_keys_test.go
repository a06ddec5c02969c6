package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDoctorFindsBadKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		const ttl = 1000 * time.Second
		expires := time.Now()
		do(t, s, "EXPIRE", "{Raven}/HiLo/orders", 1000)
		do(t, s, "HSET", "{Raven}/HiLo/bad", "Max", "007")
		do(t, s, "HSET", "{Raven}/ServerSide", "Value", "1e3")
		do(t, s, "SET", "{Raven}/Identities/none", "1")
		do(t, s, "HSET", "{Raven}/Identities/orders", "Value", "1")
		do(t, s, "HSET", "{Raven}/HiLo/nomax", "Ranges", "3")
		do(t, s, "HSET", "{Raven}/Identities/lease", "Lease", "x")
		do(t, s, "SET", "{Raven}/Else", "1") // of another program
		do(t, s, "EXPIRE", "{Raven}/Else", 1000)
		got := runDoctor(t, exit.Fault, "--redis", s.URL())
		left := ttl // minus the seconds that passed until the doctor read it
		shows := func(f finding.Finding) bool { return strings.HasSuffix(f.What, " in "+left.String()) }
		for !slices.ContainsFunc(got.Findings, shows) && left > ttl-time.Since(expires) {
			left -= time.Second
		}
		got.must(t, "ttl", "", finding.Fault, "1 key about to expire: {Raven}/HiLo/orders in "+left.String())
		got.must(t, "state", "", finding.Fault, "5 values that cannot be used: ")
		got.must(t, "state", "", finding.Fault, `{Raven}/HiLo/bad has Max "007"`)
		got.must(t, "state", "", finding.Fault, `{Raven}/ServerSide has Value "1e3"`)
		got.must(t, "state", "", finding.Fault, "{Raven}/Identities/none is not a hash")
		got.must(t, "state", "", finding.Fault, "{Raven}/HiLo/nomax has no Max, yet numbers were issued")
		got.must(t, "state", "", finding.Fault, "{Raven}/Identities/lease has no Value, yet numbers were issued")
		got.must(t, "mixed", "", finding.Fault, "1 name both a collection and an identity: orders")
		do(t, s, "HSET", "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North1")
		got = runDoctor(t, exit.Fault, "--redis", s.URL())
		got.must(t, "prefix", "", finding.Fault, `"North1" ends in a digit`)
		for _, f := range got.Findings {
			if f.Check == "mixed" {
				t.Errorf("with a prefix that cannot be read: %+v", f)
			}
		}
	})
}

func TestDoctorFindsCountersThatWereRecreated(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		reports := func(level finding.Level) string {
			t.Helper()
			var all []string
			for _, f := range runDoctor(t, exit.Done, "--redis", s.URL()).Findings {
				if f.Check == "reset" && f.Level == level {
					all = append(all, f.What)
				}
			}
			return strings.Join(all, "\n")
		}
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		if got := reports(finding.Note); !strings.Contains(got, "every counter began after the server was started") {
			t.Errorf("got %q, want that the server is new", got)
		}
		client := s.Client(t)
		client.HIncrBy(t.Context(), "{Raven}/HiLo/orders", "Epoch", 1)
		do(t, s, "HSET", "{Raven}/HiLo/orders", "Ranges", 10)
		if got := reports(finding.Note) + reports(finding.Warning); got != "" {
			t.Errorf("a counter that jumped and is in use: got %q, want nothing", got)
		}
		do(t, s, "HSET", "{Raven}/HiLo/orders", "Ranges", 9, "Max", 65_536)
		if got := reports(finding.Note) + reports(finding.Warning); got != "" {
			t.Errorf("a counter that jumped a little: got %q, want nothing", got)
		}
		do(t, s, "HSET", "{Raven}/HiLo/orders", "Max", 100_000)
		if got := reports(finding.Warning); got != "1 counter jumped and issued few ranges: {Raven}/HiLo/orders (1 jump, 9 ranges)" {
			t.Errorf("got %q, want orders", got)
		}
	})
}

func TestDoctorFindsFieldsThatExpire(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "HSET", "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North/", "Identities", "here")
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		clitest.Must(t, "id", "companies|", "invoices/", "--redis", s.URL())
		client := s.Client(t)
		err := client.HExpire(t.Context(), "{Raven}/ServerPrefixForHilo", time.Hour, "ServerPrefix").Err()
		for key, field := range map[string]string{"HiLo/orders": "Max", "Identities/companies": "Value", "ServerSide": "Raised", "Else": "Max"} {
			_ = client.HExpire(t.Context(), "{Raven}/"+key, time.Hour, field).Err()
		}
		r := clitest.Hilo(t, "doctor", "--output", "json", "--redis", s.URL())
		got := clitest.Decode[diagnosis](t, r.Stdout)
		if err != nil { // before Redis 7.4
			if !strings.Contains(err.Error(), "unknown command") {
				t.Fatal(err)
			}
			got.must(t, "keys", "", finding.OK, "1 counter")
			return
		}
		if r.Code != exit.Fault || !strings.Contains(r.Stdout, "HPERSIST KEY FIELDS 1 FIELD for each") {
			t.Errorf("got exit %d and %s, want %d and HPERSIST", r.Code, r.Stdout, exit.Fault)
		}
		got.must(t, "ttl", "", finding.Fault, "4 fields about to expire: ")
		for _, field := range []string{"ServerPrefixForHilo ServerPrefix", "HiLo/orders Max", "Identities/companies Value", "ServerSide Raised"} {
			got.must(t, "ttl", "", finding.Fault, "{Raven}/"+field+" in ")
		}

		do(t, s, "ACL", "SETUSER", "ann", "on", "nopass", "~*", "+@all", "-httl")
		as := strings.Replace(s.URL(), "redis://", "redis://ann:x@", 1)
		clitest.Decode[diagnosis](t, clitest.Hilo(t, "doctor", "--output", "json", "--redis", as).Stdout).
			must(t, "ttl", "", finding.Unknown, "may not call HTTL")
	})
}

func TestDoctorFindsNumbersThatWereNotReserved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--count", "40", "--redis", s.URL())
		reports := func() string {
			r := clitest.Hilo(t, "doctor", "--output", "json", "--redis", s.URL())
			for _, f := range clitest.Decode[diagnosis](t, r.Stdout).Findings {
				if f.Check == "ceiling" && f.Level == finding.Fault {
					return f.What
				}
			}
			return ""
		}
		do(t, s, "HSET", "{Raven}/HiLo/orders", "Max", 1_000_000) // by hand, which is permitted
		if got := reports(); got != "" {
			t.Errorf("Max raised by hand: got %q, want nothing", got)
		}
		do(t, s, "HSET", "{Raven}/HiLo/orders", "Low", 900_001) // as hilo 0.1 does
		const want = "1 counter above what was reserved: {Raven}/HiLo/orders issued 900001, and Raised is "
		if got := reports(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
