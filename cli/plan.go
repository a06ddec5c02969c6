package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// plan is a set of counters to raise: all are checked before the first is written.
type plan struct {
	globals
	source string // what the counters are from, for errors
	rows   []row
	server prefix.Server // what the server will add by then
}

// change is what comes of one of them, as JSON has it.
type change struct {
	Collection string         `json:"collection"`
	Kind       allocator.Kind `json:"kind"`
	Requested  int64          `json:"requested"`
	Before     *int64         `json:"before"` // null: there was none
	After      int64          `json:"after"`
}

// changes are what comes of all.
type changes struct {
	DryRun   bool     `json:"dryRun"` // true: nothing was written, this is what would be
	New      int      `json:"new"`
	Raised   int      `json:"raised"`
	Stay     int      `json:"stay"` // they stood as high or higher
	Counters []change `json:"counters"`
}

// planAtOnce is how many counters go between two looks at ctx, and two steps of the bar.
const planAtOnce = 1000

// merge leaves one row per counter, the greatest: to raise a counter twice is to raise it to that.
func merge(rows []row) []row {
	type counter struct {
		kind allocator.Kind
		name string
	}
	places := make(map[counter]int)
	var merged []row
	for _, r := range rows {
		key := counter{r.Kind, prefix.Fold(r.Name)}
		place, found := places[key]
		if !found {
			places[key] = len(merged)
			merged = append(merged, r)
		} else if r.Max > merged[place].Max {
			merged[place].line, merged[place].Max = r.line, r.Max
		}
	}
	return merged
}

// check says what would come of the plan, or why it cannot be carried out.
func (p plan) check(ctx context.Context, m *allocator.Admin) (changes, error) {
	bad := &badRows{file: p.source}
	code := exitDone
	p.checkMixed(bad, &code)
	found, err := p.each(ctx, "checking", func(states []allocator.State) []allocator.Imported {
		return m.CheckImport(ctx, p.server, states)
	}, func(r row, err error) error {
		own := exitCode(err)
		if own == exitUnavailable || ctx.Err() != nil {
			return err
		}
		code = max(code, own)
		bad.addf(r.line, "%s%s", plain(err), remedy(err))
		return nil
	})
	if err != nil {
		return found, err
	}
	found.DryRun = true
	return found, bad.failure(code)
}

// checkMixed finds the names of two kinds that would give the same identifiers.
func (p plan) checkMixed(bad *badRows, code *int) {
	if !p.server.IsZero() {
		return
	}
	first := make(map[string]row)
	for _, r := range p.rows {
		name := prefix.Fold(r.Name)
		if r.Kind == allocator.KindServerSide {
			continue
		}
		if other, there := first[name]; there && other.Kind != r.Kind {
			bad.addf(r.line, "%s is a collection and an identity (line %d): without a server prefix or node tag both give the same "+
				"identifiers; name one otherwise, or set a prefix with hilo prefix set", r.Name, other.line)
			*code = exitRefused
		}
		first[name] = r
	}
}

// write carries the plan out. What was raised before an error stays raised.
func (p plan) write(ctx context.Context, m *allocator.Admin) (changes, error) {
	return p.each(ctx, "writing", func(states []allocator.State) []allocator.Imported { return m.Import(ctx, states) },
		func(_ row, err error) error { return err })
}

// carryOut checks the plan and, unless dryRun, writes it where agree, if there is one, says so.
func (p plan) carryOut(ctx context.Context, m *allocator.Admin, dryRun bool, agree func(changes) error) (changes, error) {
	would, err := p.check(ctx, m)
	if err != nil || dryRun {
		return would, err
	}
	if agree != nil {
		if err := agree(would); err != nil {
			return changes{}, err
		}
	}
	return p.write(ctx, m)
}

// broken is err with what had been written before it.
func (p plan) broken(err error, done changes) error {
	written := len(done.Counters)
	if err == nil || written == 0 || done.DryRun {
		return err
	}
	text := plain(err)
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	return &failure{
		code:  exitCode(err),
		text:  fmt.Sprintf("after %d of %s: %s; to do it again does no harm", written, counters(len(p.rows)), text),
		cause: err,
	}
}

// each has do work on some rows at a time, and failed judge what could not be done.
func (p plan) each(ctx context.Context, what string, do func([]allocator.State) []allocator.Imported, failed func(row, error) error) (changes, error) {
	b := p.newBar(what, len(p.rows))
	defer b.clear()
	all := changes{Counters: make([]change, 0, len(p.rows))}
	for low := 0; low < len(p.rows); low += planAtOnce {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		rows := p.rows[low:min(low+planAtOnce, len(p.rows))]
		states := make([]allocator.State, len(rows))
		for i, r := range rows {
			states[i] = r.State
		}
		for i, result := range do(states) {
			if result.Err == nil {
				all.add(states[i], result)
			} else if err := failed(rows[i], result.Err); err != nil {
				return all, err
			}
		}
		b.add(len(rows))
	}
	return all, nil
}

func (c *changes) add(state allocator.State, result allocator.Imported) {
	changed := change{Collection: state.Name, Kind: state.Kind, Requested: state.Max, After: result.Now}
	switch {
	case !result.Existed:
		c.New++
	case result.Now > result.Before:
		c.Raised++
	default:
		c.Stay++
	}
	if result.Existed {
		changed.Before = &result.Before
	}
	c.Counters = append(c.Counters, changed)
}

// showChanges prints what came of it: of a dry run each counter, else the sum.
func (g globals) showChanges(c changes) error {
	if g.JSON {
		return g.writeJSON(c)
	}
	if c.DryRun {
		if err := g.writeTable(c.table()); err != nil {
			return err
		}
	}
	return g.printf("%s\n", c.summary())
}

// table shows each counter before and after.
func (c *changes) table() table {
	t := table{head: []string{"COLLECTION", "KIND", "BEFORE", "AFTER"}, right: []bool{false, false, true, true}}
	for _, changed := range c.Counters {
		before := "-"
		if changed.Before != nil {
			before = fmt.Sprint(*changed.Before)
		}
		t.add(orNone(changed.Collection), string(changed.Kind), before, fmt.Sprint(changed.After))
	}
	return t
}

// summary is one line on all of them.
func (c *changes) summary() string {
	text := fmt.Sprintf("%s: %d new, %d raised, %d stay", counters(len(c.Counters)), c.New, c.Raised, c.Stay)
	if c.Stay > 0 {
		text += " (as high already)"
	}
	if c.DryRun {
		text += "; nothing was written"
	}
	return text
}

func counters(n int) string {
	if n == 1 {
		return "1 counter"
	}
	return fmt.Sprintf("%d counters", n)
}
