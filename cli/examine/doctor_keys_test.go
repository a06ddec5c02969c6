package examine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDoctorLimitsTheNumberOfKeys(t *testing.T) {
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
		err := target.Servers{Targets: []target.Target{mustParse(t, s.URL())}}.Use(t.Context(), time.Minute, func(o target.Opened) error {
			d := doctor{Session: &base.Session{Namespace: "Raven", Timeout: time.Minute}, maxKeys: 10_000}
			operator, err := admin.New(o.Clients[0].Redis, admin.Options{})
			if err != nil {
				return err
			}
			p := &probedServer{doctor: d, Target: o.Targets[0], client: o.Clients[0], admin: operator}
			p.checkKeys(t.Context())
			clitest.WantFinding(t, p.Findings, "state", "", finding.Fault, "; and ")
			for _, f := range p.Findings {
				clitest.CheckComplete(t, f)
			}
			p.maxKeys = 1000
			p.checkKeys(t.Context())
			if s.Real() { // miniredis returns all keys in one step
				clitest.WantFinding(t, p.Findings, "keys", "", finding.Unknown, "has more keys")
			}
			late, cancel := context.WithTimeout(t.Context(), 0)
			defer cancel()
			p.checkKeys(late)
			clitest.WantFinding(t, p.Findings, "keys", "", finding.Unknown, "could not be read: nothing came back within 1m0s (--timeout)")
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
