package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// plan raises counters on a server. All are checked before the first one is written.
type plan struct {
	*base.Session
	Target target.Target
	DryRun bool   // nothing is written
	Source string // of the counters, for errors
	Rows   []planRow
	After  int64         // is added to each row of a seed after a loss
	Found  prefix.Server // settings of the server
	Server prefix.Server // new settings
	Init   bool          // the server may have no settings, and gets Server then
	// Again returns an error if what Server was decided on by looking at counters is true no more.
	Again func(context.Context, *admin.Admin) error

	initialized bool // the server has settings
	closed      bool // it makes no counters until the rest is written
}

// change is the result for one counter.
type change struct {
	Collection string     `json:"collection"`
	Kind       admin.Kind `json:"kind"`
	Requested  int64      `json:"requested"`
	Before     *int64     `json:"before"` // null if there was none
	After      int64      `json:"after"`
}

// changes are the results of a plan.
type changes struct { //nolint:recvcheck // filled in once, and a value from then on
	DryRun   bool     `json:"dryRun"` // nothing was written
	New      int      `json:"new"`
	Raised   int      `json:"raised"`
	Stay     int      `json:"stay"` // were as high or higher
	Lost     int      `json:"lost"` // raised by a margin, because writes of the file's server may be lost
	Counters []change `json:"counters"`
}

// planAtOnce is the number of counters between two checks of ctx, and between two steps of the bar.
const planAtOnce = 1000

// raise carries the plan out: it raises the counters and sets the settings if they change. It calls prepare, unless that
// is nil, before it checks the plan, which prepare may change, and agree, unless that is nil, before it writes the first
// counter. Counters that were raised before an error stay raised, and the error has their number.
func (p *plan) raise(ctx context.Context, prepare func(*target.Client, *admin.Admin) error,
	agree func(changes) error,
) (done changes, err error) {
	err = base.AdministerWith(ctx, p.Session, p.Target, func(client *target.Client, m *admin.Admin) (err error) {
		if p.initialized, err = m.Initialized(ctx); err != nil {
			return err
		}
		if !p.initialized && !p.Init {
			return noSettings("nothing was written")
		}
		if p.Found, err = m.ServerPrefix(ctx); err != nil {
			return err
		}
		p.Server = p.Found
		if prepare != nil {
			if err := prepare(client, m); err != nil {
				return err
			}
		}
		for i := range p.Rows {
			row := &p.Rows[i]
			row.Max = afterLoss(row.Max, p.After, row.Kind, p.Server)
		}
		would, err := p.check(ctx, m)
		if done = would; err != nil || p.DryRun {
			return err
		}
		if agree != nil {
			if err := agree(done); err != nil {
				return err
			}
		}
		if p.initialized && p.Server == p.Found {
			done, err = p.write(ctx, m, "writing", p.Rows)
		} else {
			done, err = p.writeWithSettings(ctx, m, would)
		}
		return err
	})
	if err != nil && !done.DryRun && (len(done.Counters) > 0 || p.closed) {
		text := fmt.Sprintf("after %d of %s: %s", len(done.Counters), term.Plural(len(p.Rows), "counter"), exit.Plain(err))
		switch {
		case p.closed:
			text += "; run it again with --prefix take, which does no harm; the server makes no counters until hilo settings set --seeded-only=false"
		case !errors.Is(err, admin.ErrNotConfirmed): // its remedy includes this already
			text += "; run it again, which does no harm"
		}
		err = &exit.Error{Code: exit.Code(err), Text: text, Cause: err}
	}
	return done, err
}

// afterLoss returns max with a margin, within the interval of the server unless max is above that.
func afterLoss(most, margin int64, kind admin.Kind, server prefix.Server) int64 {
	_, high := server.Interval()
	if kind == admin.KindServerSide {
		high = min(high, prefix.MaxServerSide)
	}
	return most + max(0, min(margin, high-most))
}

// noSettings returns the error for a server without settings.
func noSettings(what string) error {
	return &exit.Error{
		Code: exit.Refused, Cause: allocator.ErrNotSeeded,
		Text: "the server has no settings: " + what + "; if it is new: hilo init; if it lost its data: hilo help recover",
	}
}

func (p *plan) write(ctx context.Context, m *admin.Admin, what string, rows []planRow) (changes, error) {
	return p.each(ctx, what, rows, nil, func(states []admin.State) []admin.Imported { return m.Import(ctx, states) })
}

// writeWithSettings raises the counters and changes the settings. With a new prefix or interval no number may be issued of a counter
// before it is raised. So the server makes no counters meanwhile, and those that exist, which would has, are raised before the
// settings change. They change only from those that were found, and only while what they were decided on is still true.
func (p *plan) writeWithSettings(ctx context.Context, m *admin.Admin, would changes) (done changes, err error) {
	var exist, missing []planRow
	for i := range p.Rows {
		row := &p.Rows[i]
		if would.Counters[i].Before != nil {
			exist = append(exist, *row)
		} else {
			missing = append(missing, *row)
		}
	}
	existed, final := p.initialized, p.Server
	final.SeededOnly = true
	if err := p.setSeededOnly(ctx, m, true); err != nil {
		return done, err
	}
	first, err := p.write(ctx, m, "writing", exist)
	done.take(first)
	if err == nil {
		err = p.replaceFound(ctx, m, final, func() error { return p.Again(ctx, m) })
	}
	if err != nil {
		if existed && !errors.Is(err, admin.ErrNotConfirmed) { // as it was, but for counters that are higher
			p.closed = p.replaceFound(ctx, m, p.Found, func() error { return nil }) != nil
		}
		return done, err
	}
	second, err := p.write(ctx, m, "writing the new ones", missing)
	done.take(second)
	if err == nil {
		err = p.setSeededOnly(ctx, m, p.Server.SeededOnly)
	}
	places := make(map[string]int, len(p.Rows))
	for i := range p.Rows {
		places[p.Rows[i].Key()] = i
	}
	key := func(c change) string {
		return planRow{State: admin.State{Kind: c.Kind, Counter: admin.Counter{Name: c.Collection}}}.Key()
	}
	slices.SortFunc(done.Counters, func(a, b change) int { return cmp.Compare(places[key(a)], places[key(b)]) })
	return done, err
}

// setSeededOnly sets whether the server makes no counters, and leaves its other settings. It makes those of a server that has none.
func (p *plan) setSeededOnly(ctx context.Context, m *admin.Admin, seededOnly bool) (err error) {
	switch {
	case p.initialized && p.Found.SeededOnly && p.Server.SeededOnly: // all the time
		return nil
	case p.initialized:
		err = m.ChangeServerPrefix(ctx, func(now prefix.Server, corrupt error) (prefix.Server, error) {
			now.SeededOnly = seededOnly
			return now, corrupt
		})
	default:
		made := p.Found
		made.SeededOnly = seededOnly
		err = m.Init(ctx, made)
	}
	if err == nil || errors.Is(err, admin.ErrNotConfirmed) {
		p.initialized, p.closed = true, seededOnly && !p.Server.SeededOnly
	}
	return err
}

// replaceFound replaces the settings that were found, of a server that makes no counters, while still returns nil.
func (p *plan) replaceFound(ctx context.Context, m *admin.Admin, by prefix.Server, still func() error) error {
	found := p.Found
	found.SeededOnly = true
	return m.ChangeServerPrefix(ctx, func(now prefix.Server, corrupt error) (prefix.Server, error) {
		err := cmp.Or(corrupt, still())
		if err == nil && now != found {
			err = errChanged
		}
		return by, err
	})
}

// errChanged is why a plan does not change settings that were decided on by something else.
var errChanged = fmt.Errorf("%w: the settings or counters of the server are others than those that the change was decided on", admin.ErrChanged)

// Run raises all rows as they are and prints the results.
func (p *plan) Run(ctx context.Context) error {
	done, err := p.raise(ctx, nil, nil)
	if err != nil {
		return err
	}
	return p.Show(done, func() error { return done.Print(p.Session) })
}

// check returns the changes that the plan would make. It fails if a row cannot be imported.
func (p *plan) check(ctx context.Context, m *admin.Admin) (changes, error) {
	bad := &badLines{File: p.Source}
	p.checkMixed(bad)
	found, err := p.each(ctx, "checking", p.Rows, bad, func(states []admin.State) []admin.Imported {
		return m.CheckImport(ctx, p.Server, states)
	})
	found.DryRun = true
	return found, cmp.Or(err, bad.Failure())
}

// checkMixed finds names of both kinds that would issue the same identifiers.
func (p *plan) checkMixed(bad *badLines) {
	if !p.Server.IsZero() {
		return
	}
	first := make(map[string]*planRow)
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Kind == admin.KindServerSide {
			continue
		}
		name := prefix.Fold(r.Name)
		if other, there := first[name]; there && other.Kind != r.Kind {
			bad.Add(r.Line, exit.Refusedf("%s is a collection and an identity (line %d): without a server prefix or node tag both issue "+
				"the same identifiers; name one otherwise, or set a prefix with hilo settings set", r.Name, other.Line))
		}
		first[name] = r
	}
}

// each calls do with rows, planAtOnce at a time. It ends at the first error if bad is nil. Otherwise it adds the errors
// to bad, and ends only when the server is unavailable.
func (p *plan) each(ctx context.Context, what string, all []planRow, bad *badLines, do func([]admin.State) []admin.Imported) (changes, error) {
	b := p.NewBar(what, "counters", int64(len(all)))
	defer b.End()
	done := changes{Counters: make([]change, 0, len(all))}
	for rows := range slices.Chunk(all, planAtOnce) {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		states := make([]admin.State, len(rows))
		for i := range rows {
			states[i] = rows[i].State
		}
		for i, result := range do(states) {
			switch err := result.Err; {
			case err == nil:
				done.add(states[i], result)
			case bad == nil || exit.Code(err) == exit.Unavailable || ctx.Err() != nil:
				return done, err
			default:
				bad.Add(rows[i].Line, err)
			}
		}
		b.Add(int64(len(rows)))
	}
	return done, nil
}

func (c *changes) add(state admin.State, result admin.Imported) {
	changed := change{Collection: state.Name, Kind: state.Kind, Requested: state.Max, After: result.Now}
	switch {
	case !result.Existed:
		c.New++
	case result.Now > result.Before:
		c.Raised++
	default:
		c.Stay++
	}
	if state.Margin > 0 {
		c.Lost++
	}
	if result.Existed {
		changed.Before = &result.Before
	}
	c.Counters = append(c.Counters, changed)
}

// take adds the changes of another.
func (c *changes) take(other changes) {
	c.New, c.Raised, c.Stay, c.Lost = c.New+other.New, c.Raised+other.Raised, c.Stay+other.Stay, c.Lost+other.Lost
	c.Counters = append(c.Counters, other.Counters...)
}

// Print prints the sum and, after a dry run, each counter.
func (c changes) Print(g *base.Session) error {
	style := g.Style(g.Stdout)
	sum := style.Sprintf("%s: %d new, %d raised, %d stay", style.Plural(int64(len(c.Counters)), "counter"), c.New, c.Raised, c.Stay)
	if c.Stay > 0 {
		sum += " (as high already)"
	}
	if c.Lost > 0 {
		sum += fmt.Sprintf("; %d with a margin, since their server was restarted or promoted", c.Lost)
	}
	if c.DryRun {
		sum += "; nothing was written"
		if err := c.WriteTable(g); err != nil {
			return err
		}
	}
	return g.Printf("%s\n", sum)
}

// WriteTable prints each counter before and after.
func (c *changes) WriteTable(g *base.Session) error {
	t := g.Table("COLLECTION", "KIND", "BEFORE", "AFTER")
	for _, changed := range c.Counters {
		var before any = term.Right("-")
		if changed.Before != nil {
			before = *changed.Before
		}
		t.Add(cmp.Or(changed.Collection, "none"), string(changed.Kind), before, changed.After)
	}
	return g.WriteTable(t)
}
