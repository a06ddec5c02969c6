package counters

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// Plan is a set of counters to raise on a server: all are checked before the first is written.
type Plan struct {
	*base.Session
	Target target.Target
	DryRun bool   // nothing is written
	Source string // what the counters are from, for errors
	Rows   []Row
	Found  prefix.Server // what the server adds before
	Server prefix.Server // what the server is to add then; the last thing to be written
}

// Change is what comes of one of them, as JSON has it.
type Change struct {
	Collection string     `json:"collection"`
	Kind       admin.Kind `json:"kind"`
	Requested  int64      `json:"requested"`
	Before     *int64     `json:"before"` // null: there was none
	After      int64      `json:"after"`
}

// Changes are what comes of all.
type Changes struct { //nolint:recvcheck // filled in once, and a value from then on
	DryRun   bool     `json:"dryRun"` // true: nothing was written, this is what would be
	New      int      `json:"new"`
	Raised   int      `json:"raised"`
	Stay     int      `json:"stay"` // they stood as high or higher
	Lost     int      `json:"lost"` // of all, raised by a gap: writes of the file's server may be lost
	Counters []Change `json:"counters"`
}

// planAtOnce is how many counters go between two looks at ctx, and two steps of the bar.
const planAtOnce = 1000

// Raise carries the plan out: counters, and then the prefix, where that is another one. prepare, if there is one, may change
// the plan before it is checked; agree, if there is one, is asked before the first counter is written. What was raised before
// an error stays raised, and the error has the number of counters.
func (p *Plan) Raise(ctx context.Context, prepare func(*target.Client, *admin.Admin) error,
	agree func(Changes) error,
) (done Changes, err error) {
	err = base.AdministerWith(ctx, p.Session, p.Target, func(client *target.Client, m *admin.Admin) (err error) {
		if p.Found, err = m.ServerPrefix(ctx); err != nil {
			return err
		}
		p.Server = p.Found
		if prepare != nil {
			if err := prepare(client, m); err != nil {
				return err
			}
		}
		if done, err = p.check(ctx, m); err != nil || p.DryRun {
			return err
		}
		if agree != nil {
			if err := agree(done); err != nil {
				return err
			}
		}
		if p.Server != p.Found {
			if m, err = m.ForPrefix(ctx, p.Server); err != nil {
				return err
			}
		}
		done, err = p.each(ctx, "writing", nil, func(states []admin.State) []admin.Imported { return m.Import(ctx, states) })
		if err == nil && p.Server != p.Found {
			err = m.SetServerPrefix(ctx, p.Server)
		}
		return err
	})
	if written := len(done.Counters); err != nil && written > 0 && !done.DryRun {
		text := fmt.Sprintf("after %d of %s: %s", written, term.Plural(len(p.Rows), "counter"), exit.Plain(err))
		switch {
		case p.Server != p.Found:
			text += "; to do it again does no harm, with --prefix take, since the prefix is not set yet"
		case !errors.Is(err, admin.ErrNotConfirmed): // its remedy has this already
			text += "; to do it again does no harm"
		}
		err = &exit.Error{Code: exit.Code(err), Text: text, Cause: err}
	}
	return done, err
}

// Run raises all rows as they are, and shows what came of it.
func (p *Plan) Run(ctx context.Context) error {
	done, err := p.Raise(ctx, nil, nil)
	if err != nil {
		return err
	}
	return p.Show(done, func() error { return done.Print(p.Session) })
}

// check returns what the plan would change, or why it cannot be carried out.
func (p *Plan) check(ctx context.Context, m *admin.Admin) (Changes, error) {
	bad := &Bad{File: p.Source}
	p.checkMixed(bad)
	found, err := p.each(ctx, "checking", bad, func(states []admin.State) []admin.Imported {
		return m.CheckImport(ctx, p.Server, states)
	})
	found.DryRun = true
	return found, cmp.Or(err, bad.Failure())
}

// checkMixed finds the names of two kinds that would issue the same identifiers.
func (p *Plan) checkMixed(bad *Bad) {
	if !p.Server.IsZero() {
		return
	}
	first := make(map[string]Row)
	for i := range p.Rows {
		r := &p.Rows[i]
		name := prefix.Fold(r.Name)
		if r.Kind == admin.KindServerSide {
			continue
		}
		if other, there := first[name]; there && other.Kind != r.Kind {
			bad.Add(r.Line, exit.Refusedf("%s is a collection and an identity (line %d): without a server prefix or node tag both issue "+
				"the same identifiers; name one otherwise, or set a prefix with hilo prefix set", r.Name, other.Line))
		}
		first[name] = *r
	}
}

// each has do work on some rows at a time. What cannot be done ends it; where bad is given, that notes it and each goes on, as
// long as the server is there.
func (p *Plan) each(ctx context.Context, what string, bad *Bad, do func([]admin.State) []admin.Imported) (Changes, error) {
	b := p.NewBar(what, "counters", int64(len(p.Rows)))
	defer b.End()
	all := Changes{Counters: make([]Change, 0, len(p.Rows))}
	for rows := range slices.Chunk(p.Rows, planAtOnce) {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		states := make([]admin.State, len(rows))
		for i := range rows {
			states[i] = rows[i].State
		}
		for i, result := range do(states) {
			switch err := result.Err; {
			case err == nil:
				all.add(states[i], result)
			case bad == nil || exit.Code(err) == exit.Unavailable || ctx.Err() != nil:
				return all, err
			default:
				bad.Add(rows[i].Line, err)
			}
		}
		b.Add(int64(len(rows)))
	}
	return all, nil
}

func (c *Changes) add(state admin.State, result admin.Imported) {
	changed := Change{Collection: state.Name, Kind: state.Kind, Requested: state.Max, After: result.Now}
	switch {
	case !result.Existed:
		c.New++
	case result.Now > result.Before:
		c.Raised++
	default:
		c.Stay++
	}
	if state.Lost {
		c.Lost++
	}
	if result.Existed {
		changed.Before = &result.Before
	}
	c.Counters = append(c.Counters, changed)
}

// Print prints what came of it: of a dry run each counter, and the sum.
func (c Changes) Print(g *base.Session) error {
	style := g.Style(g.Stdout)
	sum := style.Sprintf("%s: %d new, %d raised, %d stay", style.Plural(int64(len(c.Counters)), "counter"), c.New, c.Raised, c.Stay)
	if c.Stay > 0 {
		sum += " (as high already)"
	}
	if c.Lost > 0 {
		sum += fmt.Sprintf("; %d with a gap, since their server was restarted or promoted", c.Lost)
	}
	if c.DryRun {
		sum += "; nothing was written"
		if err := c.WriteTable(g); err != nil {
			return err
		}
	}
	return g.Printf("%s\n", sum)
}

// WriteTable shows each counter before and after.
func (c *Changes) WriteTable(g *base.Session) error {
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

// Row is a counter as a line of a file has it.
type Row struct {
	Line int
	admin.State
}

// JsonLines returns the lines that are not blank, with their numbers.
func JsonLines(content []byte) func(yield func(int, []byte) bool) {
	return func(yield func(int, []byte) bool) {
		line := 0
		for text := range bytes.Lines(content) {
			line++
			if text = bytes.TrimSpace(text); len(text) > 0 && !yield(line, text) {
				return
			}
		}
	}
}

// Unmarshal reads one JSON object with the fields of into, each at most once, and no others.
func Unmarshal(text []byte, into any) error {
	if !utf8.Valid(text) {
		return errors.New("is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("is no JSON object of this kind: %s is of a wrong type, %s", wrong.Field, wrong.Value)
	} else if ok {
		return fmt.Errorf("is no JSON object on a line of its own, but of type %s", wrong.Value)
	} else if err != nil {
		return fmt.Errorf("is no JSON object of this kind: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("holds more than one JSON object")
	}
	seen := make(map[string]bool) // Decode takes the last of two, and any letter case
	decoder = json.NewDecoder(bytes.NewReader(text))
	_, _ = decoder.Token() // the brace; of what was read once no more errors come
	for decoder.More() {
		token, _ := decoder.Token()
		name := prefix.Fold(token.(string))
		if seen[name] {
			return fmt.Errorf("holds %q twice", name)
		}
		seen[name] = true
		_ = decoder.Decode(new(json.RawMessage))
	}
	return nil
}

// Validate checks the name. The server checks the rest later.
func (r Row) Validate(separator string) error {
	if r.Kind == admin.KindServerSide && r.Name == "" {
		return nil
	}
	return prefix.ValidateCollection(r.Name, separator)
}

// Key returns the kind of a counter and its name. The server-side counter has no name, whatever name its row has.
func (r Row) Key() string {
	if r.Kind == admin.KindServerSide {
		return string(r.Kind)
	}
	return string(r.Kind) + " " + prefix.Fold(r.Name)
}

// ReadKind reads the kind of a counter; none is hilo.
func ReadKind(text string) (admin.Kind, error) {
	kind := cmp.Or(admin.Kind(text), admin.KindHiLo)
	if !slices.Contains([]admin.Kind{admin.KindHiLo, admin.KindIdentity, admin.KindServerSide}, kind) {
		return "", fmt.Errorf("kind is %.64q: must be hilo, identity or server-side", text)
	}
	return kind, nil
}

// Bad are what is wrong with the lines of a file.
type Bad struct {
	File string
	Code int // that the command ends with, at least
	rows []badRow
}

type badRow struct {
	line int // 0: of no file
	text string
}

// Add notes what is wrong with a line. Of several codes the greatest counts.
func (b *Bad) Add(line int, err error) {
	text := exit.Sentence(err)
	if line > 0 {
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	b.rows = append(b.rows, badRow{line, text})
	b.Code = max(b.Code, exit.Code(err))
}

// Failure returns an error with the first of them, or nil if there is none.
func (b *Bad) Failure() error {
	const most = 10
	if len(b.rows) == 0 {
		return nil
	}
	slices.SortStableFunc(b.rows, func(x, y badRow) int { return cmp.Compare(x.line, y.line) })
	var texts []string
	for _, r := range b.rows[:min(most, len(b.rows))] {
		texts = append(texts, r.text)
	}
	if more := len(b.rows) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return &exit.Error{Code: b.Code, Text: fmt.Sprintf("%s: nothing was written: %s", b.File, strings.Join(texts, "; "))}
}
