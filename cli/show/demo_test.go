package show

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

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
