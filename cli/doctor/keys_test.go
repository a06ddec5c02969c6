package doctor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDoctorOfBadKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		do(t, s, "EXPIRE", "{Raven}/HiLo/orders", 1000)
		do(t, s, "HSET", "{Raven}/HiLo/bad", "Max", "007")
		do(t, s, "HSET", "{Raven}/ServerSide", "Value", "1e3")
		do(t, s, "SET", "{Raven}/Identities/none", "1")
		do(t, s, "HSET", "{Raven}/Identities/orders", "Value", "1")
		do(t, s, "HSET", "{Raven}/HiLo/nomax", "Ranges", "3")
		do(t, s, "HSET", "{Raven}/Identities/lease", "Lease", "x")
		do(t, s, "SET", "{Raven}/Else", "1") // nobody's business
		do(t, s, "EXPIRE", "{Raven}/Else", 1000)
		got := examine(t, exit.Fault, "--redis", s.URL())
		got.must(t, "ttl", "", finding.Fault, "1 key going to expire: {Raven}/HiLo/orders in 16m40s")
		got.must(t, "state", "", finding.Fault, "5 values of no use: ")
		got.must(t, "state", "", finding.Fault, `{Raven}/HiLo/bad has Max "007"`)
		got.must(t, "state", "", finding.Fault, `{Raven}/ServerSide has Value "1e3"`)
		got.must(t, "state", "", finding.Fault, "{Raven}/Identities/none is not a hash")
		got.must(t, "state", "", finding.Fault, "{Raven}/HiLo/nomax has no Max, yet numbers were given out")
		got.must(t, "state", "", finding.Fault, "{Raven}/Identities/lease has no Value, yet numbers were given out")
		got.must(t, "mixed", "", finding.Fault, "1 name both a collection and an identity: orders")
		do(t, s, "HSET", "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North1")
		got = examine(t, exit.Fault, "--redis", s.URL())
		got.must(t, "prefix", "", finding.Fault, `"North1" ends in a digit`)
		for _, f := range got.Findings {
			if f.Check == "mixed" {
				t.Errorf("with a prefix that cannot be read: %+v", f)
			}
		}
	})
}

func TestDoctorLooksAtManyKeysAndNotAtAll(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		pipe := client.Pipeline()
		for i := range 5000 {
			pipe.HSet(t.Context(), "{Raven}/HiLo/c"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/182), "Max", "x")
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := examine(t, exit.Fault, "--redis", s.URL())
		got.must(t, "state", "", finding.Fault, "; and ")
		err := target.Servers{Targets: []target.Target{mustParse(t, s.URL())}}.Use(t.Context(), time.Minute, func(o target.Opened) error {
			d := doctor{Session: &base.Session{Namespace: "Raven", Timeout: time.Minute}, most: 1000}
			p := &patient{doctor: d, Target: o.Targets[0], client: o.Clients[0]}
			p.visit(t.Context())
			f := diagnosis{All: finding.Of(p.Findings)}
			if s.Real() { // miniredis gives all keys with one step
				f.must(t, "keys", "", finding.Unknown, "has more keys")
			}
			late, cancel := context.WithTimeout(t.Context(), 0)
			defer cancel()
			p.visit(late)
			f = diagnosis{All: finding.Of(p.Findings)}
			f.must(t, "keys", "", finding.Unknown, "could not be looked at: nothing came back within 1m0s (--timeout)")
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
