package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// RavenDB's servers and clients spell the names of its documents in two ways, and compare them without letter case.
func TestSeedReadsDocumentsOfRavenDBInEitherSpelling(t *testing.T) {
	t.Parallel()
	const rows = "collection,max\nRaven/HiLo/people,96\nRaven/Hilo/orders,4000\nRaven/HiLo/Orders,17\nRaven/Hilo/Order Items,5\n"
	clitest.MustFail(t, exit.Usage, clitest.HiloIn(t, rows, "seed", "--file", "-", "--redis", "embedded:"), `line 5: collection "Order Items"`)
	for _, skip := range []string{"Order Items", "Raven/Hilo/Order Items", "Raven/HiLo/Order Items"} {
		r := clitest.HiloIn(t, rows, "seed", "--file", "-", "--redis", "embedded:", "--skip", skip, "--output", "json")
		if r.Code != exit.Done || strings.Count(r.Stdout, `"collection"`) != 2 || !strings.Contains(r.Stdout, `"after": 96`) || !strings.Contains(r.Stdout, `"after": 4000`) {
			t.Errorf("%s: got %+v, want people at 96 and orders at 4000", skip, r)
		}
	}
}
