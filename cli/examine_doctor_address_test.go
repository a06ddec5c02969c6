package cli

import (
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A Kubernetes Service before two pods leads each connection to the next one.
func TestDoctorAndSettingsCheckFindSeveralServersBehindOneAddress(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		s, other := start(), start()
		if !s.Real() { // miniredis reports neither role nor run_id
			return
		}
		proxy := redistest.NewProxy(t, s)
		url := "redis://" + proxy.Addr()
		check := func(code int, level finding.Level, what string) {
			t.Helper()
			r := clitest.Hilo(t, "settings", "check", "--redis", url, "--output", "json")
			checked := clitest.Decode[comparedServers](t, r.Stdout)
			if r.Code != code {
				t.Errorf("settings check: got exit %d, want %d: %+v", r.Code, code, r)
			}
			for _, findings := range [][]finding.Finding{runDoctor(t, code, "--redis", url).Findings, checked.Findings} {
				if level != "" {
					clitest.WantFinding(t, findings, "address", "", level, what)
					continue
				}
				for _, f := range findings {
					if f.Check == "address" {
						t.Errorf("got %+v, want nothing about one server", f)
					}
				}
			}
		}
		check(exit.Done, "", "")
		proxy.Spread(s, s, other)
		check(exit.Fault, finding.Fault, "connections to its address reach 2 servers that do not replicate from each other")
		proxy.Spread(s, startReplica(t, s))
		check(exit.Fault, finding.Fault, "connections to its address reach a primary and 1 replica of it")
		mustLeaveNothing(t, s, other)
	})
}
