package counters

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
)

// seed is the command that seeds one counter or identity.
type seed struct {
	plan
	identity bool // not a collection
	Name     string
	Max      int64 // value of an identity
	Force    bool
}

type seeded struct {
	Collection string `json:"collection"`
	Max        int64  `json:"max"`              // now
	Before     *int64 `json:"before,omitempty"` // with --force, if there was a counter
	Requested  int64  `json:"requested"`
	Applied    bool   `json:"applied"` // false if it was above, and stays
}

// SeedCommand returns hilo seed.
func SeedCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "seed",
		Usage:     "raise counters: one, those of a file, or by a scan",
		UsageText: "hilo seed COLLECTION --max N | --file F | --scan PATTERN | --sql DATABASE",
		Description: base.Describe(`
Raises Max, the greatest number issued, to N: the next is N+1. A counter above N keeps its
value; --force lowers it, and numbers in use may then be issued again.

--file raises many: JSON lines, or CSV of collection, max and kind (hilo, identity or
server-side; optional). All are checked before one is written.

--scan raises each collection to the greatest identifier in the matching keys, in any
letter case. --sql prints a query whose result as CSV is for --file. --after-loss is for a
server that lost its data: hilo help recover.`,
			[]string{
				"hilo seed orders --max 4000", "hilo seed --file counters.csv --dry-run", "hilo seed --scan 'app:*' --strip app:",
				`psql -X --csv -c "$(hilo seed --sql postgresql)" shop | hilo seed --file -`,
				`hilo seed --sql mysql | mysql --batch --raw | hilo seed --file -`,
				"sqlite3 shop.db \"$(hilo seed --sql sqlite)\" |\n     sqlite3 -csv -header shop.db | hilo seed --file -",
			},
			"5 --scan found no identifier"),
		Flags: base.OneServerFlags(
			&cli.GenericFlag{Name: "max", Aliases: []string{"value"}, Usage: "`N`, the greatest number that is taken", Value: base.Count("", 0)},
			&cli.BoolFlag{Name: "force", Usage: "lower it too"},
			&cli.GenericFlag{Name: "file", Usage: "`F` with a counter in each line, - for stdin", Value: base.Text(""), TakesFile: true},
			&cli.StringSliceFlag{Name: "skip", Usage: "with --file, leave out lines of `NAME`; repeatable"},
			&cli.StringFlag{Name: "scan", Usage: "`PATTERN` of keys, with * ? [a-z] as in Redis"},
			&cli.GenericFlag{Name: "sql", Usage: "print a query for `DATABASE`", Value: base.Choice("", "mysql", "postgresql", "sqlite")},
			&cli.StringFlag{Name: "strip", Usage: "with --scan, `TEXT` to take off the front of keys"},
			&cli.GenericFlag{Name: "kind", Usage: "with --scan, raise `KIND`", Value: base.Choice("hilo", string(admin.KindHiLo), string(admin.KindIdentity))},
			yesFlag(),
			&cli.BoolFlag{Name: flagAfterLoss, Usage: "after a loss, raise by --margin more"},
			&cli.GenericFlag{Name: flagMargin, Usage: "with --after-loss, `N` that workers hold", Value: base.Number(afterLossMargin, 0, mostMargin)},
			&cli.BoolFlag{Name: "dry-run", Usage: "show before and after, and write nothing"},
			base.ReplicasNoneFlag(),
		),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			if r.IsSet("sql") {
				refuseOthers(r, "sql")
				refuse(r, "sql", "dry-run", "replicas-none", "prefer", flagAfterLoss, flagMargin)
				if r.IsSet(base.FlagRedis) {
					r.Failf("--sql uses no server; remove --redis")
				}
				return seedQuery{r.Session(), r.String("sql")}
			}
			p := plan{Session: r.Session(), Target: r.Target(), DryRun: r.Bool("dry-run"), After: readMargin(r)}
			switch {
			case r.IsSet("file"):
				refuseOthers(r, "file", "skip")
				return fromFile{p, r.String("file"), r.StringSlice("skip")}
			case r.IsSet("scan"):
				refuseOthers(r, "scan", "strip", "kind", "yes")
				return readScan(r, p)
			}
			return readSeed(r, p)
		}),
	}
}

const (
	flagAfterLoss   = "after-loss"
	flagMargin      = "margin"
	afterLossMargin = "4194304"
)

// readMargin returns what --after-loss adds.
func readMargin(r *base.Reader) int64 {
	switch {
	case r.Bool(flagAfterLoss) && r.Bool("force"):
		r.Failf("--after-loss and --force exclude each other; %s", r.Help())
	case r.Bool(flagAfterLoss):
		return r.Number(flagMargin)
	case r.IsSet(flagMargin):
		r.Failf("--margin requires --after-loss; %s", r.Help())
	}
	return 0
}

// refuseOthers refuses arguments, and flags that have no effect beside the flag way. others are those that have one.
func refuseOthers(r *base.Reader, way string, others ...string) {
	if r.Args().Present() {
		r.Failf("COLLECTION, which is %q, and %s exclude each other; %s", r.Args().First(), base.Dashed(way), r.Help())
	}
	for _, name := range []string{"max", "force", "file", "skip", "scan", "sql", "strip", "kind", "yes"} {
		if name != way && !slices.Contains(others, name) {
			refuse(r, way, name)
		}
	}
}

// refuse refuses flags beside the flag way.
func refuse(r *base.Reader, way string, names ...string) {
	for _, name := range names {
		if r.IsSet(name) {
			r.Failf("%s and %s exclude each other; %s", base.Dashed(way), base.Dashed(name), r.Help())
		}
	}
}

func readSeed(r *base.Reader, p plan) seed {
	s := seed{plan: p, Name: r.Collection(p.Separator), Force: r.Bool("force")}
	for _, name := range []string{"strip", "kind", "yes"} {
		if r.IsSet(name) {
			r.Failf("%s requires --scan; %s", base.Dashed(name), r.Help())
		}
	}
	if r.IsSet("skip") {
		r.Failf("--skip requires --file; %s", r.Help())
	}
	if s.Force && s.DryRun {
		r.Failf("--force and --dry-run exclude each other; hilo inspect shows the counter")
	}
	if !r.IsSet("max") {
		r.Failf("%s needs --max N, the greatest number that is taken; usage: %s", r.FullName(), r.Command.UsageText)
	}
	s.Max = r.Number("max")
	return s
}

// Run seeds the counter and reports its value, which is the requested one or greater.
func (s seed) Run(ctx context.Context) error {
	if s.DryRun {
		one := planRow{State: admin.State{Kind: admin.KindHiLo, Counter: admin.Counter{Name: s.Name, Max: s.Max}}}
		s.Source, s.Rows = "--max", []planRow{one}
		return s.plan.Run(ctx)
	}
	set, see, field := (*admin.Admin).Seed, (*admin.Admin).Counter, "Max"
	if s.identity {
		set, see, field = (*admin.Admin).SeedIdentity, (*admin.Admin).Identity, "Value"
	}
	var now, low int64
	var before *int64
	wanted := s.Max
	err := base.Administer(ctx, s.Session, s.Target, func(m *admin.Admin) (err error) {
		if s.Force {
			if found, err := see(m, ctx, s.Name); err == nil { // a seed also repairs a counter that cannot be read
				before = &found.Max
			}
		}
		settings, _ := m.ServerPrefix(ctx) // hilo settings get reports its errors
		low, _ = settings.Interval()
		wanted = afterLoss(s.Max, s.After, admin.KindHiLo, settings)
		now, err = set(m, ctx, s.Name, wanted, s.Force)
		return err
	})
	switch {
	case err != nil:
		return err
	case s.JSON && s.identity:
		return s.WriteJSON(seededIdentity{s.Name, now, before, wanted, now == wanted})
	case s.JSON:
		return s.WriteJSON(seeded{s.Name, now, before, wanted, now == wanted})
	case now > wanted && now == low-1:
		return s.Printf("%s: %d is below MinValue of the server, so %s stands at %d\n", s.Name, wanted, field, now)
	case before != nil && *before > now:
		return s.Printf("%s: %s lowered from %d to %d\n", s.Name, field, *before, now)
	case now == wanted:
		return s.Printf("%s: %s is %d\n", s.Name, field, now)
	}
	return s.Printf("%s: %s stays %d, above %d; --force lowers it\n", s.Name, field, now, wanted)
}

// fromFile is the command that raises the counters of a file.
type fromFile struct {
	plan
	File string
	Skip []string // names of lines that are left out
}

func (s fromFile) Run(ctx context.Context) error {
	content, name, err := base.ReadFileOrStdin(ctx, s.Session, s.File)
	if err != nil {
		return err
	}
	s.Source = name
	var skipped []string
	s.Rows, err = readRows(name, s.Separator, content, s.Skip, func(line int, name string) {
		skipped = append(skipped, fmt.Sprintf("line %d, %q", line, name))
	})
	if err != nil {
		return err
	}
	for _, line := range skipped {
		fmt.Fprintf(s.Stderr, "hilo: %s: skipped %s\n", name, line)
	}
	return s.plan.Run(ctx)
}

type seededIdentity struct {
	Name      string `json:"name"`
	Value     int64  `json:"value"`            // now
	Before    *int64 `json:"before,omitempty"` // with --force, if there was an identity
	Requested int64  `json:"requested"`
	Applied   bool   `json:"applied"` // false if it was above, and stays
}

// IdentitySeedCommand returns hilo identity seed.
func IdentitySeedCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "seed",
		Usage:     "raise an identity",
		UsageText: "hilo identity seed NAME --value N [--force]",
		Description: base.Describe(`
Raises the greatest value issued to N: the next is N+1. Of several servers, seed the
home of identities, which hilo settings check names. An identity above N keeps its
value, which is reported and no error; --force lowers it, and values that are in use
may then be issued again.`,
			[]string{"hilo identity seed companies --value 1994"},
			"4 the name is taken by a collection"),
		Flags: base.OneServerFlags(
			&cli.GenericFlag{Name: "value", Aliases: []string{"max"}, Usage: "`N`, the greatest value that is taken", Value: base.Count("", 0)},
			&cli.BoolFlag{Name: "force", Usage: "lower it too"},
			base.ReplicasNoneFlag(),
		),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			s := seed{plan: plan{Session: r.Session(), Target: r.Target()}, identity: true, Force: r.Bool("force")}
			s.Name = r.Identity(s.Separator)
			if !r.IsSet("value") {
				r.Failf("%s needs --value N, the greatest value that is taken; usage: %s", r.FullName(), r.Command.UsageText)
			}
			s.Max = r.Number("value")
			return s
		}),
	}
}
