package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDemoTellsTheWholeStory(t *testing.T) {
	t.Parallel()
	text := must(t, "demo")
	at := 0
	for _, want := range []string{
		"8 workers on two masters", "worker 1 has orders/NorthServer/", "worker 2 orders/SouthServer/",
		"north is lost", "all are on south: worker 1 has", "orders/SouthServer/",
		"north is back", "on north again", "orders/NorthServer/", "all workers end", "500000 ids of products",
		"\nSERVER ", "\nnorth ", "\nsouth ", "one bit for each: 0 bits set twice,",
	} {
		found := strings.Index(text[at:], want)
		if found < 0 {
			t.Fatalf("%q does not come where it should in\n%s", want, text)
		}
		at += found
	}
	for line := range strings.Lines(text) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 {
			t.Errorf("wider than 80 columns: %q", line)
		}
	}
}

func TestDemoAsJSON(t *testing.T) {
	t.Parallel()
	got := decode[outcome](t, must(t, "demo", "--output", "json", "--namespace", "Other", "--separator", ":"))
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
	if !slices.IsSortedFunc(got.Events, func(a, b event) int { return int(1e6 * (a.Seconds - b.Seconds)) }) || len(got.Events) != 8 ||
		!strings.Contains(got.Events[1].What, "orders:NorthServer/") {
		t.Errorf("%+v", got.Events)
	}
}

// TestTheProofOfTheDemoFindsDuplicates: it is worth something.
func TestTheProofOfTheDemoFindsDuplicates(t *testing.T) {
	t.Parallel()
	masters, err := startMasters(t.Context(), "Raven")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(masters.close)
	masters.north.server.HSet("{Raven}/HiLo/orders", "Max", "4", "Ranges", "2")
	masters.south.server.HSet("{Raven}/HiLo/orders", "Max", "2", "Ranges", "1")
	const n, s = "orders/NorthServer/", "orders/SouthServer/"
	tests := []struct {
		name       string
		texts      [][]string
		duplicates int64
		unused     int64 // of north
		gaps       int64
		code       int
	}{
		{"none", [][]string{{n + "1", n + "2"}, {n + "3", n + "4", s + "1"}}, 0, 0, 0, exitDone},
		{"gaps", [][]string{{n + "2"}}, 0, 3, 2, exitDone},
		{"the same of two workers", [][]string{{n + "1", n + "2"}, {n + "2", s + "2"}}, 1, 2, 1, exitFault},
		{"the same of one worker, but for letter case", [][]string{{n + "1", strings.ToUpper(n) + "1"}}, 1, 3, 1, exitFault},
		{"more than there can be", [][]string{{n + "1", n + "2", n + "3", n + "4", n + "5"}}, 0, -1, 0, exitFault},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			told := story{demo: demo{globals: globals{Namespace: "Raven", Separator: "/"}}, masters: masters, start: time.Now(), texts: test.texts}
			found, err := told.judge(context.WithoutCancel(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			north := found.Collections[0]
			if found.Duplicates != test.duplicates || north.Unused != test.unused || north.Gaps != test.gaps {
				t.Errorf("%+v", found)
			}
			err = verdict(found)
			if failed := (*failure)(nil); exitCode(err) != test.code || err != nil && !errors.As(err, &failed) {
				t.Errorf("exit %d, %v", exitCode(err), err)
			}
		})
	}
}
