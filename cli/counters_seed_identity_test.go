package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestIdentitySeedRaisesAndLowersOnlyWithForce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		steps := []struct{ args, want, after string }{
			{"companies --value 1994", "companies: Value is 1994\n", "companies/1995\n"},
			{"companies| --value 17", "companies: Value stays 1995, above 17; --force lowers it\n", "companies/1996\n"},
			{"--force --value 17 companies|", "companies: Value lowered from 1996 to 17\n", "companies/18\n"},
			{"companies --value=0 --force", "companies: Value lowered from 18 to 0\n", "companies/1\n"},
			{"companies --value 0", "companies: Value stays 1, above 0; --force lowers it\n", "companies/2\n"},
		}
		for _, step := range steps {
			args := append([]string{"identity", "seed", "--redis", s.URL()}, strings.Fields(step.args)...)
			if got := clitest.Must(t, args...); got != step.want {
				t.Errorf("seed %s: %q, want %q", step.args, got, step.want)
			}
			if got := clitest.Must(t, "identity", "next", "companies", "--redis", s.URL()); got != step.after {
				t.Errorf("after seed %s: %q, want %q", step.args, got, step.after)
			}
		}
	})
}

func TestIdentitySeedAsJSON(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const most = 9223372036854775807
		seed := func(value string) seededIdentity {
			return clitest.Decode[seededIdentity](t, clitest.Must(t, "identity", "seed", "companies|", "--value", value, "--output", "json", "--redis", s.URL()))
		}
		for _, got := range []struct{ is, want seededIdentity }{
			{seed("9223372036854775807"), seededIdentity{"companies", most, 0, most, true}},
			{seed("5"), seededIdentity{"companies", most, 0, 5, false}},
		} {
			if got.is != got.want {
				t.Errorf("%+v, want %+v", got.is, got.want)
			}
		}
	})
}
