package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// servers reads all servers, concurrently.
type servers struct {
	*base.Session
	targets []target.Target // several have names
	Limit   int64           // greatest number that the allocators issue, for look
}

// readServers reads the servers and, of a command that has it, --limit.
func readServers(r *base.Reader) servers {
	return servers{r.Session(), r.Targets(), r.Number("limit")}
}

// each calls read for each server, with its index. The errors are in the order of the servers.
func (s servers) each(ctx context.Context, read func(int, *target.Client, *admin.Admin) error) []error {
	errs := make([]error, len(s.targets))
	var reading sync.WaitGroup
	for i, t := range s.targets {
		reading.Go(func() {
			errs[i] = base.AdministerWith(ctx, s.Session, t, func(c *target.Client, m *admin.Admin) error { return read(i, c, m) })
		})
	}
	reading.Wait()
	return errs
}

// failure returns one error for those of several servers, with the exit code of the first.
func (s servers) failure(errs []error) error {
	var first error
	var texts []string
	for i, err := range errs {
		if errors.Is(err, context.Canceled) {
			return err
		} else if err != nil {
			first = cmp.Or(first, err)
			texts = append(texts, s.targets[i].Name+": "+exit.Sentence(err))
		}
	}
	if len(errs) == 1 || first == nil {
		return first
	}
	return &exit.Error{Code: exit.Code(first), Text: strings.Join(texts, "; ")} // without a Cause, whose remedy is in the text
}

// together returns one error for those of several corrupt counters, or nil if there are none.
func together(corrupt []error) error {
	if len(corrupt) == 0 {
		return nil
	}
	texts := make([]string, len(corrupt))
	for i, err := range corrupt {
		texts[i] = exit.Plain(err)
	}
	slices.Sort(texts)
	return &exit.Error{Code: exit.Code(corrupt[0]), Text: strings.Join(texts, "; "), Cause: corrupt[0]}
}

func fatal(err error) bool { return err != nil && !errors.Is(err, allocator.ErrCorrupt) }

// observed is a counter with its headroom.
type observed struct {
	admin.Counter
	at       int // index of the server in targets
	settings prefix.Server
	limit    int64 // greatest number that allocators issue of the server
	room     []headroom.Headroom
}

func limitFlag() cli.Flag {
	return &cli.GenericFlag{Name: "limit", Usage: "the greatest number to issue is `N`", Value: base.Count("9223372036854775807", 1), DefaultText: "2^63-1"}
}

// look calls see for each server, as each does. An ErrCorrupt of see is about single counters, and the others are returned
// with it.
func (s servers) look(ctx context.Context, see func(int, *admin.Admin) ([]admin.Counter, error)) (all []observed, errs []error) {
	found := make([][]observed, len(s.targets))
	errs = s.each(ctx, func(i int, _ *target.Client, m *admin.Admin) error {
		seen, err := see(i, m)
		if len(seen) == 0 {
			return err
		}
		settings, _ := m.ServerPrefix(ctx) // hilo settings get reports its errors
		low, high := settings.Interval()
		limit := min(s.Limit, high)
		for _, counter := range seen {
			found[i] = append(found[i], observed{counter, i, settings, limit, headroom.Within(low, limit, counter.Max, 0)})
		}
		return err
	})
	return slices.Concat(found...), errs
}

// server returns the name of the server with an index if there are several, and "" if there is one.
func (s servers) server(i int) string {
	if len(s.targets) == 1 {
		return ""
	}
	return s.targets[i].Name
}

// listing is a command that lists all counters of a kind.
type listing struct {
	servers
	things string // plural of the kind
	all    func(*admin.Admin, context.Context) iter.Seq2[admin.Counter, error]
	head   []string
	keys   []string // values of --sort
	// row returns the JSON of a counter, and the columns of head. server is "" if there is one server.
	row     func(server string, c *observed) (json any, cells []any)
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
		l.servers, l.Reverse = readServers(r), r.Bool("reverse")
		l.Filter, l.Sort = r.String("filter"), r.String("sort")
		if isOpen(l.Filter) {
			r.Failf("--filter is %q: must close each [ with a ], as in [a-z]; \\[ is the character itself", l.Filter)
		}
		return l
	})
	return c
}

// isOpen reports whether a glob ends within a [, which Redis takes for a set of characters all the same.
func isOpen(glob string) bool {
	open := false
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '[':
			open = true
		case ']':
			open = false
		}
	}
	return open
}

// Run lists the counters. Corrupt ones, and servers that are down, do not hide the others.
func (l listing) Run(ctx context.Context) error {
	all, errs := l.look(ctx, func(_ int, m *admin.Admin) (seen []admin.Counter, _ error) {
		var corrupt []error
		for counter, err := range l.all(m.With(admin.Mode{Filter: l.Filter}), ctx) {
			switch {
			case fatal(err):
				return nil, err
			case err != nil:
				corrupt = append(corrupt, err)
			default:
				seen = append(seen, counter)
			}
		}
		return seen, together(corrupt)
	})
	failure := l.failure(errs)
	if !slices.ContainsFunc(errs, func(err error) bool { return !fatal(err) }) || errors.Is(failure, context.Canceled) {
		return failure
	}
	slices.SortFunc(all, l.compare)
	if l.Reverse {
		slices.Reverse(all)
	}
	rows, table := l.rows(all)
	return cmp.Or(l.Show(rows, func() error {
		err := l.WriteTable(table)
		if err == nil && failure == nil && len(all) == 0 { // a failure explains an empty table enough
			matching := ""
			if l.Filter != "" {
				matching = fmt.Sprintf(" match %q", l.Filter)
			}
			fmt.Fprintf(l.Stderr, "no %s in namespace %s%s\n", l.things, l.Namespace, matching)
		}
		return err
	}), failure)
}

// compare orders names from a to z, headroom from the least, and all other numbers from the greatest.
func (l listing) compare(a, b observed) int {
	order := 0
	switch l.Sort {
	case "headroom":
		order = cmp.Or(cmp.Compare(a.limit-a.Max, b.limit-b.Max), cmp.Compare(b.Max, a.Max))
	case "max", "value":
		order = cmp.Compare(b.Max, a.Max)
	case "ranges":
		order = cmp.Compare(b.Ranges, a.Ranges)
	case "jumps":
		order = cmp.Compare(b.Jumps, a.Jumps)
	}
	return cmp.Or(order, strings.Compare(prefix.Fold(a.Name), prefix.Fold(b.Name)), cmp.Compare(a.at, b.at))
}

// rows returns the rows of JSON and of the table. The last columns are the used share of each bound.
func (l listing) rows(all []observed) (rows []any, t term.Table) {
	rows, t = make([]any, len(all)), l.Table(l.head...)
	if len(l.targets) > 1 {
		t.Head = slices.Insert(t.Head, 1, "SERVER")
	}
	limits := make([]int64, len(all), len(all)+1)
	for i := range all {
		limits[i] = all[i].limit
	}
	if len(all) == 0 {
		limits = append(limits, l.Limit)
	}
	bounds := headroom.Bounds(limits...)
	for _, bound := range bounds {
		t.Head = append(t.Head, t.Style.Digits(bound))
	}
	for i := range all {
		c := &all[i]
		server := l.server(c.at)
		row, cells := l.row(server, c)
		rows[i] = row
		if server != "" {
			cells = slices.Insert(cells, 1, any(server))
		}
		for _, bound := range bounds {
			cells = append(cells, term.Right(percentUsed(headroom.Find(c.room, bound))))
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
	return fmt.Sprintf("%.1f%%", min(h.Used, 99.9))
}
