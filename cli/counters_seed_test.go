package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestSeedBelowTheIntervalOfTheServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "--min-value", "1001", "--redis", s.URL())
		for _, args := range [][]string{{"seed", "orders"}, {"seed", "orders", "--force"}, {"identity", "seed", "people"}} {
			got := clitest.Must(t, append(args, "--max", "40", "--redis", s.URL())...)
			if !strings.Contains(got, ": 40 is below MinValue of the server, so ") || !strings.Contains(got, " stands at 1000\n") {
				t.Errorf("%q: got %q, want that 40 is below MinValue", args, got)
			}
		}
	})
}

func TestSeedRaisesAndLowersOnlyWithForce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		steps := []struct{ args, want, after string }{
			{"--max 4000", "orders: Max is 4000\n", "orders/4001\n"},
			{"--max 4001", "orders: Max is 4001\n", "orders/4002\n"},
			{"--max 17", "orders: Max stays 4002, above 17; --force lowers it\n", "orders/4003\n"},
			{"--force --max 17", "orders: Max lowered from 4003 to 17\n", "orders/18\n"},
			{"--max=0 --force", "orders: Max lowered from 18 to 0\n", "orders/1\n"},
			{"--max=1 --force", "orders: Max is 1\n", "orders/2\n"},
			{"--max 0", "orders: Max stays 2, above 0; --force lowers it\n", "orders/3\n"},
		}
		for _, step := range steps {
			args := append([]string{"seed", "orders", "--redis", s.URL()}, strings.Fields(step.args)...)
			if got := clitest.Must(t, args...); got != step.want {
				t.Errorf("seed %s: %q, want %q", step.args, got, step.want)
			}
			if got := clitest.Must(t, "next", "orders", "--redis", s.URL()); got != step.after {
				t.Errorf("after seed %s: %q, want %q", step.args, got, step.after)
			}
		}
	})
}

func TestSeedAsJSON(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const most = 9223372036854775807
		seed := func(max string, flags ...string) seeded {
			return clitest.Decode[seeded](t, clitest.Must(t, append([]string{"seed", "orders", "--max", max, "--output", "json", "--redis", s.URL()}, flags...)...))
		}
		for _, got := range []struct{ is, want seeded }{
			{seed("9223372036854775807"), seeded{"orders", most, 0, most, true}},
			{seed("5"), seeded{"orders", most, 0, 5, false}},
			{seed("5", "--force=false"), seeded{"orders", most, 0, 5, false}},
			{seed("5", "--force"), seeded{"orders", 5, most, 5, true}},
		} {
			if got.is != got.want {
				t.Errorf("%+v, want %+v", got.is, got.want)
			}
		}
	})
}
