package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// list shows all counters of a namespace.
type list struct {
	globals
	target target
}

type listed struct {
	Collection string `json:"collection"`
	Max        int64  `json:"max"`
	Ranges     int64  `json:"ranges"`
	Epoch      int64  `json:"epoch"`
}

func newListCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "list",
		Usage:     "show all counters of the namespace",
		UsageText: "hilo list",
		Description: describe(`
Shows each collection's Max, the greatest number given so far; how many ranges
were handed out; and the epoch, which counts the jumps after lost writes.`,
			[]string{"hilo list", "hilo list --namespace Raven --output json"},
			"1 failed or interrupted", "3 Redis unavailable"),
		Action: func(c *cli.Context) error {
			l := list{}
			var err error
			if _, err = takeArguments(c); err != nil {
				return err
			}
			if l.globals, l.target, err = readServer(c, env); err != nil {
				return err
			}
			return l.Run(c.Context)
		},
	})
}

func (l list) Run(ctx context.Context) error {
	return l.showAll(ctx, l.target, (*allocator.Admin).Counters, l.print)
}

func (l list) print(counters []allocator.Counter) error {
	if l.JSON {
		rows := make([]listed, 0, len(counters))
		for _, c := range counters {
			rows = append(rows, listed{c.Name, c.Max, c.Ranges, c.Epoch})
		}
		return l.writeJSON(rows)
	}
	w := tabwriter.NewWriter(l.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "COLLECTION\tMAX\tRANGES\tEPOCH")
	for _, c := range counters {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", c.Name, c.Max, c.Ranges, c.Epoch)
	}
	return written(w.Flush())
}

// allFunc gives all counters of collections, or of identities.
type allFunc func(m *allocator.Admin, ctx context.Context) iter.Seq2[allocator.Counter, error]

// showAll shows them by name, also beside corrupt ones.
func (g globals) showAll(ctx context.Context, t target, all allFunc, show func([]allocator.Counter) error) error {
	var counters []allocator.Counter
	err := g.administer(ctx, t, func(m *allocator.Admin) error {
		var corrupt error
		for counter, err := range all(m, ctx) {
			switch {
			case errors.Is(err, allocator.ErrCorrupt): // the others are fine, and are shown
				corrupt = cmp.Or(corrupt, err)
			case err != nil:
				return err
			default:
				counters = append(counters, counter)
			}
		}
		return corrupt
	})
	if err != nil && !errors.Is(err, allocator.ErrCorrupt) {
		return err
	}
	slices.SortFunc(counters, func(a, b allocator.Counter) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return cmp.Or(show(counters), err)
}
