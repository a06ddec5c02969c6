package show

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

func TestDemoPrintsAllEvents(t *testing.T) {
	t.Parallel()
	text := clitest.Must(t, "demo")
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
	got := clitest.Decode[outcome](t, clitest.Must(t, "demo", "--output", "json", "--namespace", "Other", "--separator", ":"))
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

func TestDemoFindsDuplicates(t *testing.T) {
	t.Parallel()
	d := demo{Session: &base.Session{Namespace: "Raven", Separator: "/", Timeout: time.Minute}}
	t.Cleanup(d.closeMasters)
	if err := d.startMasters(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.masters[0].server.HSet("{Raven}/HiLo/orders", "Max", "4", "Ranges", "2")
	d.masters[1].server.HSet("{Raven}/HiLo/orders", "Max", "2", "Ranges", "1")
	const n, s = "orders/NorthServer/", "orders/SouthServer/"
	tests := []struct {
		name       string
		texts      [][]string
		duplicates int64
		unused     int64 // of north
		gaps       int64
		code       int
	}{
		{"none", [][]string{{n + "1", n + "2"}, {n + "3", n + "4", s + "1"}}, 0, 0, 0, exit.Done},
		{"gaps", [][]string{{n + "2"}}, 0, 3, 2, exit.Done},
		{"a duplicate of two workers", [][]string{{n + "1", n + "2"}, {n + "2", s + "2"}}, 1, 2, 1, exit.Fault},
		{"a duplicate of one worker in another letter case", [][]string{{n + "1", strings.ToUpper(n) + "1"}}, 1, 3, 1, exit.Fault},
		{"more numbers than Max", [][]string{{n + "1", n + "2", n + "3", n + "4", n + "5"}}, 0, -1, 0, exit.Fault},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			counted := demo{Session: d.Session, masters: d.masters, start: time.Now()}
			for worker, texts := range test.texts {
				for _, text := range texts {
					if err := counted.ledger.AddText(text, "/", worker+1); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := counted.count(context.WithoutCancel(t.Context())); err != nil {
				t.Fatal(err)
			}
			found := counted.outcome
			north := found.Collections[0]
			if found.Duplicates != test.duplicates || north.Unused != test.unused || north.Gaps != test.gaps {
				t.Errorf("%+v", found)
			}
			err := verdict(found)
			if failed := (*exit.Error)(nil); exit.Code(err) != test.code || err != nil && !errors.As(err, &failed) {
				t.Errorf("exit %d, %v", exit.Code(err), err)
			}
		})
	}
}
