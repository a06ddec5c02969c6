package cli

import (
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestListShowsTheHeadroomToMaxValue(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		clitest.Must(t, "settings", "set", "--min-value", "3000000001", "--max-value", "3100000000", "--redis", south.URL())
		clitest.Must(t, "seed", "orders", "--max", "3050000000", "--redis", south.URL())
		clitest.Must(t, "seed", "users", "--max", "3050000000", "--redis", north.URL())
		got := clitest.Decode[[]listed](t, clitest.Must(t, append([]string{"list", "--sort", "headroom", "--output", "json"}, flags...)...))
		if len(got) != 2 || got[0].Collection != "orders" || len(got[0].Headroom) != 3 {
			t.Fatalf("got %+v, want orders of the interval first, with three bounds", got)
		}
		if h := got[0].Headroom[2]; h.Bound != "3100000000" || h.Left != 50_000_000 || h.Used != 50 {
			t.Errorf("got %+v, want half of the interval", h)
		}
		clitest.Must(t, append([]string{"list"}, flags...)...)
	})
}
