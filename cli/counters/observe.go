package counters

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// observer is how counters are looked at.
type observer struct {
	*base.Session
	target   target.Target
	RateOver time.Duration // between two looks; 0: one look, no rate
	Limit    int64         // the greatest number that the allocators give
}

// observed is a counter as it was seen.
type observed struct {
	allocator.Counter
	rate *float64 // numbers a second, nil: not known
	room []headroom.Headroom
}

func lookFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "rate-over", Usage: "look twice, `DURATION` apart, and show the rate and the time left"},
		&cli.StringFlag{Name: "limit", Usage: "the greatest number `N` to be given, Options.Limit", Value: "9223372036854775807", DefaultText: "2^63-1"},
	}
}

func readLook(r *base.Reader) observer {
	return observer{Session: r.Session(), target: r.Target(), RateOver: r.Period("rate-over", 0), Limit: r.Count("limit", 1)}
}

// look looks once, or twice with a while in between.
func (l observer) look(ctx context.Context, see func(*allocator.Admin) ([]allocator.Counter, error)) (all []observed, err error) {
	err = base.Administer(ctx, l.Session, l.target, func(m *allocator.Admin) error {
		now, err := see(m)
		began := time.Now()
		before := make(map[string]int64)
		if l.RateOver > 0 && err == nil {
			for _, counter := range now {
				before[counter.Name] = counter.Max
			}
			if base.Sleep(ctx, l.RateOver); ctx.Err() != nil {
				return ctx.Err()
			}
			now, err = see(m)
		}
		took := time.Since(began).Seconds()
		for _, counter := range now {
			seen := observed{Counter: counter}
			rate := 0.0
			if first, found := before[counter.Name]; found {
				rate = max(0, float64(counter.Max-first)) / took
				seen.rate = &rate
			}
			seen.room = headroom.To(l.Limit, counter.Max, rate)
			all = append(all, seen)
		}
		return err
	})
	return all, err
}

// listing is a look at all counters of a kind.
type listing struct {
	observer
	all     func(*allocator.Admin, context.Context) iter.Seq2[allocator.Counter, error]
	head    []string
	keys    []string                               // to sort by, two or more
	row     func(observed) (json any, cells []any) // the latter under the head
	Filter  string
	Sort    string
	Reverse bool
}

// command is c with the flags that all lists have, and with what they do.
func (l listing) command(env base.Env, c *cli.Command) *cli.Command {
	last := len(l.keys) - 1
	c.Flags = append([]cli.Flag{
		&cli.StringFlag{Name: "filter", Usage: "show the names that match `GLOB`, with * ? [a-z], in any letter case", Value: "*", HideDefault: true},
		&cli.StringFlag{Name: "sort", Usage: "by `KEY`: " + strings.Join(l.keys[:last], ", ") + " or " + l.keys[last], Value: "name"},
		&cli.BoolFlag{Name: "reverse", Usage: "the other way round"},
	}, lookFlags()...)
	c.Action = base.Action(env, func(r *base.Reader) base.Runner {
		r.Arguments()
		l.observer, l.Filter, l.Reverse = readLook(r), r.String("filter"), r.Bool("reverse")
		if l.Filter == "" {
			r.Failf("--filter is empty: it takes a glob such as 'ord*'")
		}
		l.Sort = r.Choice("sort", strings.Join(l.keys, ", "), l.keys...)
		if l.Sort == "rate" && l.RateOver == 0 {
			r.Failf("--sort rate needs --rate-over, the time between two looks")
		}
		return l
	})
	return c
}

// Run shows them, also beside corrupt ones.
func (l listing) Run(ctx context.Context) error {
	var corrupt error // the others are fine, and are shown
	all, err := l.look(ctx, func(m *allocator.Admin) (seen []allocator.Counter, _ error) {
		corrupt = nil
		for counter, err := range l.all(m.WithFilter(l.Filter), ctx) {
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
	return cmp.Or(l.Show(rows, func() error { return l.WriteTable(table) }), corrupt)
}

// compare has names from a on, the least headroom first, and of all other numbers the greatest.
func (l listing) compare(a, b observed) int {
	order := 0
	switch l.Sort {
	case "max", "value", "headroom": // what is left is the less, the greater Max is
		order = cmp.Compare(b.Max, a.Max)
	case "ranges":
		order = cmp.Compare(b.Ranges, a.Ranges)
	case "epoch":
		order = cmp.Compare(b.Epoch, a.Epoch)
	case "rate": // below all others where it is not known
		order = cmp.Compare(perSecond(b), perSecond(a))
	}
	return cmp.Or(order, strings.Compare(prefix.Fold(a.Name), prefix.Fold(b.Name)))
}

func perSecond(s observed) float64 {
	if s.rate == nil {
		return -1
	}
	return *s.rate
}

// rows are what JSON and the table show. The last columns are the rate and headroom: the time left to each bound, or how much
// of it is used.
func (l listing) rows(all []observed) (rows []any, t term.Table) {
	rows, t.Head = make([]any, len(all)), l.head
	if l.RateOver > 0 {
		t.Head = append(t.Head, "RATE/S")
	}
	for _, h := range headroom.To(l.Limit, 0, 0) {
		t.Head = append(t.Head, h.Bound)
	}
	for i, c := range all {
		row, cells := l.row(c)
		rows[i] = row
		if l.RateOver > 0 {
			rate := "–"
			if c.rate != nil {
				rate = term.Brief(*c.rate)
			}
			cells = append(cells, term.Right(rate))
		}
		for _, h := range c.room {
			text := share(h)
			if l.RateOver > 0 {
				text = term.TimeLeft(h.Left, h.SecondsLeft)
			}
			cells = append(cells, term.Right(text))
		}
		t.Add(cells...)
	}
	return rows, t
}

// share is how much of the headroom is used, in few letters.
func share(h headroom.Headroom) string {
	switch {
	case h.Left == 0:
		return "past"
	case h.Used > 0 && h.Used < 0.1:
		return "<0.1%"
	}
	return strconv.FormatFloat(min(h.Used, 99.9), 'f', 1, 64) + "%"
}
