package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// observer reads counters.
type observer struct {
	*base.Session
	target target.Target
	Limit  int64 // greatest number that the allocators issue
}

// observed is a counter with its headroom.
type observed struct {
	admin.Counter
	room []headroom.Headroom
}

func limitFlag() cli.Flag {
	return &cli.GenericFlag{Name: "limit", Usage: "the greatest number `N` to issue, Options.Limit", Value: base.Count("9223372036854775807", 1), DefaultText: "2^63-1"}
}

func readObserver(r *base.Reader) observer {
	return observer{Session: r.Session(), target: r.Target(), Limit: r.Number("limit")}
}

// look returns the counters that see reads, with their headroom.
func (l observer) look(ctx context.Context, see func(*admin.Admin) ([]admin.Counter, error)) (all []observed, err error) {
	err = base.Administer(ctx, l.Session, l.target, func(m *admin.Admin) error {
		seen, err := see(m)
		for _, counter := range seen {
			all = append(all, observed{counter, headroom.To(l.Limit, counter.Max, 0)})
		}
		return err
	})
	return all, err
}

// listing is a command that lists all counters of a kind.
type listing struct {
	observer
	things  string // plural of the kind
	all     func(*admin.Admin, context.Context) iter.Seq2[admin.Counter, error]
	head    []string
	keys    []string                               // values of --sort
	row     func(observed) (json any, cells []any) // cells are the columns of head
	Filter  string
	Sort    string
	Reverse bool
}

// command adds the flags and the action of all lists to c.
func (l listing) command(env base.Env, c *cli.Command) *cli.Command {
	c.Flags = []cli.Flag{
		&cli.GenericFlag{Name: "filter", Usage: "show the names that match `GLOB`, with * ? [a-z], in any letter case", Value: base.Text("")},
		&cli.GenericFlag{Name: "sort", Usage: "by `KEY`", Value: base.Choice("name", l.keys...)},
		&cli.BoolFlag{Name: "reverse", Usage: "the other way round"},
		limitFlag(),
	}
	c.Action = base.Action(env, func(r *base.Reader) base.Runner {
		r.Arguments()
		l.observer, l.Reverse = readObserver(r), r.Bool("reverse")
		l.Filter, l.Sort = r.String("filter"), r.String("sort")
		return l
	})
	return c
}

// Run lists the counters. Corrupt ones do not hide the others.
func (l listing) Run(ctx context.Context) error {
	var corrupt error // the first one
	all, err := l.look(ctx, func(m *admin.Admin) (seen []admin.Counter, _ error) {
		for counter, err := range l.all(m.WithFilter(cmp.Or(l.Filter, "*")), ctx) {
			switch {
			case errors.Is(err, allocator.ErrCorrupt):
				corrupt = cmp.Or(corrupt, err)
			case err != nil:
				return nil, err
			default:
				seen = append(seen, counter)
			}
		}
		return seen, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, l.compare)
	if l.Reverse {
		slices.Reverse(all)
	}
	rows, table := l.rows(all)
	return cmp.Or(l.Show(rows, func() error {
		err := l.WriteTable(table)
		if err == nil && corrupt == nil { // its error explains enough
			l.explain(len(all))
		}
		return err
	}), corrupt)
}

// explain prints on stderr what an empty table means.
func (l listing) explain(rows int) {
	switch {
	case rows == 0 && l.Filter == "":
		fmt.Fprintf(l.Stderr, "no %s in namespace %s\n", l.things, l.Namespace)
	case rows == 0:
		fmt.Fprintf(l.Stderr, "no %s in namespace %s match %q\n", l.things, l.Namespace, l.Filter)
	}
}

// compare orders names from a to z, headroom from the least, and all other numbers from the greatest.
func (l listing) compare(a, b observed) int {
	order := 0
	switch l.Sort {
	case "max", "value", "headroom": // the greater Max is, the less is left
		order = cmp.Compare(b.Max, a.Max)
	case "ranges":
		order = cmp.Compare(b.Ranges, a.Ranges)
	case "epoch":
		order = cmp.Compare(b.Epoch, a.Epoch)
	}
	return cmp.Or(order, strings.Compare(prefix.Fold(a.Name), prefix.Fold(b.Name)))
}

// rows returns the rows of JSON and of the table. The last columns are the used share of each bound.
func (l listing) rows(all []observed) (rows []any, t term.Table) {
	rows, t = make([]any, len(all)), l.Table(l.head...)
	for _, h := range headroom.To(l.Limit, 0, 0) {
		t.Head = append(t.Head, t.Style.Digits(h.Bound))
	}
	for i, c := range all {
		row, cells := l.row(c)
		rows[i] = row
		for _, h := range c.room {
			cells = append(cells, term.Right(percentUsed(h)))
		}
		t.Add(cells...)
	}
	return rows, t
}

// percentUsed returns the used share of the headroom in a short form.
func percentUsed(h headroom.Headroom) string {
	switch {
	case h.Left == 0:
		return "past"
	case h.Used > 0 && h.Used < 0.1:
		return "<0.1%"
	}
	return strconv.FormatFloat(min(h.Used, 99.9), 'f', 1, 64) + "%"
}
