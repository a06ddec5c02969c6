// Package seed has the commands that raise counters: hilo seed, of one counter, of those of a file or of those that keys
// show, and hilo identity seed. It exports its commands and nothing else, and may import the rooms under cli/internal and
// the library.
package seed

import (
	"context"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/plan"
)

// seed raises a counter, or sets it.
type seed struct {
	plan.Plan
	identity bool // and no collection
	Name     string
	Max      int64 // of an identity the value
	Force    bool
}

type seeded struct {
	Collection string `json:"collection"`
	Max        int64  `json:"max"` // what stands now
	Requested  int64  `json:"requested"`
	Applied    bool   `json:"applied"` // false: it stood above, and stays
}

// Command is hilo seed.
func Command(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "seed",
		Usage:     "raise counters: one, those of a file, or to what keys show",
		UsageText: "hilo seed COLLECTION --max N [--force] | --file F | --scan PATTERN [--yes]",
		Description: base.Describe(`
Raises Max, the greatest number given so far, to N: the next identifier is N+1.
A counter that stands above N stays as it is, which is said and is no error;
with --force it is lowered, and numbers that are in use may be given again.

--file raises many, and lowers none. F is CSV, whose first line names the columns,
or JSON lines; "-" is stdin. collection, max, and kind, which is hilo (as without
one), identity or server-side:
   collection,max,kind
   orders,4000,hilo
   {"collection":"companies","max":17,"kind":"identity"}
All lines are checked before the first counter is written: one that cannot be, and
nothing is. Of several lines for one counter the greatest counts.

--scan looks through all keys of the Redis that match PATTERN for identifiers, and
raises each collection to the greatest number found, whatever server's prefix or
node tag stands beside it. Of a key such as {orders}/1 the braces are no part, and
--strip takes an application's own prefix off. It shows what it found and asks
before it writes; --yes answers that. Other keys, and server-side identifiers, are
counted and left out.`,
			[]string{
				"hilo seed orders --max 4000", "hilo seed --file counters.csv --dry-run",
				"hilo seed --scan 'orders/*'", "hilo seed --scan 'app:*' --strip app: --yes",
			},
			"1 failed, interrupted, or not agreed to", "3 Redis unavailable", "4 the name is taken by the other kind"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "max", Usage: "`N`, 0 to 9223372036854775807, the greatest number that is taken"},
			&cli.BoolFlag{Name: "force", Usage: "lower the counter too"},
			&cli.StringFlag{Name: "file", Usage: "`F` with a counter in each line, - for stdin"},
			&cli.StringFlag{Name: "scan", Usage: "`PATTERN` of keys, with * ? [a-z] as in Redis"},
			&cli.StringFlag{Name: "strip", Usage: "with --scan: `TEXT` to take off the front of each key"},
			&cli.StringFlag{Name: "kind", Usage: "with --scan, the `KIND` to raise: hilo or identity", Value: "hilo"},
			&cli.BoolFlag{Name: "yes", Usage: "with --scan: write without asking"},
			&cli.BoolFlag{Name: "dry-run", Usage: "show before and after, and write nothing"},
		},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			p := plan.Plan{Session: r.Session(), Target: r.Target(), DryRun: r.Bool("dry-run")}
			switch {
			case r.IsSet("file"):
				together(r, "file")
				return fromFile{p, r.String("file")}
			case r.IsSet("scan"):
				together(r, "scan", "strip", "kind", "yes")
				return readScan(r, p)
			}
			return readSeed(r, p)
		}),
	}
}

// together refuses arguments and flags that mean nothing beside the one that says how to seed.
func together(r *base.Reader, way string, others ...string) {
	r.Arguments()
	for _, name := range []string{"max", "force", "file", "scan", "strip", "kind", "yes"} {
		if name != way && r.IsSet(name) && !slices.Contains(others, name) {
			r.Failf("%s and %s do not go together; %s", base.Dashed(way), base.Dashed(name), r.Help())
		}
	}
}

func readSeed(r *base.Reader, p plan.Plan) seed {
	s := seed{Plan: p, Name: r.Collection(p.Separator), Force: r.Bool("force")}
	for _, name := range []string{"strip", "kind", "yes"} {
		if r.IsSet(name) {
			r.Failf("%s goes with --scan only; %s", base.Dashed(name), r.Help())
		}
	}
	if s.Force && s.DryRun {
		r.Failf("--force and --dry-run do not go together: hilo inspect shows what stands")
	}
	if !r.IsSet("max") {
		r.Failf("%s needs --max N, the greatest number that is taken: %s", r.FullName(), r.UsageText)
	}
	s.Max = r.Count("max", 0)
	return s
}

// Run says what stands then: what was asked for, or more.
func (s seed) Run(ctx context.Context) error {
	if s.DryRun {
		one := plan.Row{State: allocator.State{Kind: allocator.KindHiLo, Counter: allocator.Counter{Name: s.Name, Max: s.Max}}}
		s.Source, s.Rows = "--max", []plan.Row{one}
		return s.Plan.Run(ctx)
	}
	set, field := (*allocator.Admin).Seed, "Max"
	if s.identity {
		set, field = (*allocator.Admin).SeedIdentity, "Value"
	}
	var now int64
	err := base.Administer(ctx, s.Session, s.Target, func(m *allocator.Admin) (err error) {
		now, err = set(m, ctx, s.Name, s.Max, s.Force)
		return err
	})
	switch {
	case err != nil:
		return err
	case s.JSON && s.identity:
		return s.WriteJSON(seededIdentity{s.Name, now, s.Max, now == s.Max})
	case s.JSON:
		return s.WriteJSON(seeded{s.Name, now, s.Max, now == s.Max})
	case now == s.Max:
		return s.Printf("%s: %s is %d\n", s.Name, field, now)
	}
	return s.Printf("%s: %s stays %d, above %d; --force lowers it\n", s.Name, field, now, s.Max)
}

// fromFile raises the counters of a file.
type fromFile struct {
	plan.Plan
	File string
}

func (s fromFile) Run(ctx context.Context) error {
	content, name, err := base.Slurp(ctx, s.Session, s.File)
	if err != nil {
		return err
	}
	s.Source = name
	if s.Rows, err = readRows(name, s.Separator, content); err != nil {
		return err
	}
	return s.Plan.Run(ctx)
}

type seededIdentity struct {
	Name      string `json:"name"`
	Value     int64  `json:"value"` // what stands now
	Requested int64  `json:"requested"`
	Applied   bool   `json:"applied"` // false: it stood above, and stays
}

// IdentityCommand is hilo identity seed.
func IdentityCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "seed",
		Usage:     "raise an identity",
		UsageText: "hilo identity seed NAME --value N [--force]",
		Description: base.Describe(`
Raises the greatest value given so far to N: the next is N+1. Of several servers seed
the home of identities (hilo prefix check tells). An identity that
stands above N stays as it is, which is said and is no error; with --force it is
lowered, and values that are in use may be given again.`,
			[]string{"hilo identity seed companies --value 1994"},
			"1 failed or interrupted", "3 Redis unavailable", "4 the name is taken by a collection"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "value", Usage: "`N`, 0 to 9223372036854775807, the greatest value that is taken"},
			&cli.BoolFlag{Name: "force", Usage: "lower the identity too"},
		},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			s := seed{Plan: plan.Plan{Session: r.Session(), Target: r.Target()}, identity: true, Force: r.Bool("force")}
			s.Name = r.Identity(s.Separator)
			if !r.IsSet("value") {
				r.Failf("%s needs --value N, the greatest value that is taken: %s", r.FullName(), r.UsageText)
			}
			s.Max = r.Count("value", 0)
			return s
		}),
	}
}
