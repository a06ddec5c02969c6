package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

func TestDemoPrintsAllEvents(t *testing.T) {
	t.Parallel()
	unused := map[string]string{"HILO_REDIS_URL": "redis://ann:" + clitest.Password + "@h"}
	r := clitest.HiloWith(t, unused, "demo", "--log-level", "debug")
	clitest.CheckNoPassword(t, "demo", r)
	if r.Code != exit.Done {
		t.Fatalf("%+v", r)
	}
	text := r.Stdout
	at := 0
	for _, want := range []string{
		"8 workers on two masters", "worker 1 has orders/NorthServer/", "worker 2 orders/SouthServer/",
		"north is lost", "all workers are on south: worker 1 has", "orders/SouthServer/",
		"north is back", "on north again", "orders/NorthServer/", "all workers end", "500000 ids of products",
		"\nSERVER ", "\nnorth ", "\nsouth ", "\nVerified: ", " ids, 0 duplicates; ",
	} {
		found := strings.Index(text[at:], want)
		if found < 0 {
			t.Fatalf("%q is missing, or out of order, in\n%s", want, text)
		}
		at += found
	}
	for line := range strings.Lines(text) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 {
			t.Errorf("wider than 80 columns: %q", line)
		}
	}
}

func TestDemoPrintsJSON(t *testing.T) {
	t.Parallel()
	r := clitest.Hilo(t, "demo", "--output", "json", "--namespace", "Other", "--separator", ":")
	checkJSON(t, everyCommand["demo"], r)
	got := clitest.Decode[demoOutcome](t, r.Stdout)
	if got.Duplicates != 0 || got.Alone.IDs != 500_000 {
		t.Errorf("%+v", got)
	}
	var ids, unused int64
	servers := make(map[string]int64)
	for _, c := range got.Collections {
		ids += c.IDs
		unused += c.Unused
		servers[c.Server+" "+c.Collection] = c.IDs
		if c.Ranges == 0 || c.Max != c.IDs+c.Unused || c.Unused > 0 && c.Gaps == 0 {
			t.Errorf("%+v", c)
		}
	}
	if ids != got.IDs || unused != got.Unused {
		t.Errorf("%d ids and %d unused: %+v", ids, unused, got)
	}
	for _, name := range []string{"north orders", "north companies", "north products", "south orders", "south companies"} {
		if servers[name] == 0 {
			t.Errorf("no ids of %s: %+v", name, servers)
		}
	}
	if !slices.IsSortedFunc(got.Events, func(a, b demoEvent) int { return int(1e6 * (a.Seconds - b.Seconds)) }) || len(got.Events) != 8 ||
		!strings.Contains(got.Events[1].What, "orders:NorthServer/") {
		t.Errorf("%+v", got.Events)
	}
}
