package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// seed raises a counter, or sets it.
type seed struct {
	globals
	target     target
	Collection string
	Max        int64
	Force      bool
	DryRun     bool
}

type seeded struct {
	Collection string `json:"collection"`
	Max        int64  `json:"max"` // what stands now
	Requested  int64  `json:"requested"`
	Applied    bool   `json:"applied"` // false: it stood above, and stays
}

func newSeedCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "seed",
		Usage:     "raise counters: one, those of a file, or to what keys show",
		UsageText: "hilo seed COLLECTION --max N [--force] | --file F | --scan PATTERN [--yes]",
		Description: describe(`
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
			&cli.BoolFlag{Name: "force", Usage: "lower the counter too", DisableDefaultText: true},
			&cli.StringFlag{Name: "file", Usage: "`F` with a counter in each line, - for stdin"},
			&cli.StringFlag{Name: "scan", Usage: "`PATTERN` of keys, with * ? [a-z] as in Redis"},
			&cli.StringFlag{Name: "strip", Usage: "with --scan: `TEXT` to take off the front of each key"},
			&cli.StringFlag{Name: "kind", Usage: "with --scan: `KIND` to raise, hilo or identity", Value: "hilo", DefaultText: "hilo"},
			&cli.BoolFlag{Name: "yes", Usage: "with --scan: write without asking", DisableDefaultText: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "show before and after, and write nothing", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			g, t, err := readServer(c, env)
			if err != nil {
				return err
			}
			switch {
			case c.IsSet("file"):
				if err := together(c, "file"); err != nil {
					return err
				}
				return seedFile{globals: g, target: t, File: c.String("file"), DryRun: c.Bool("dry-run")}.Run(c.Context)
			case c.IsSet("scan"):
				if err := together(c, "scan", "strip", "kind", "yes"); err != nil {
					return err
				}
				s, err := readSeedScan(c, g, t)
				if err != nil {
					return err
				}
				return s.Run(c.Context)
			}
			s, err := readSeed(c, g, t)
			if err != nil {
				return err
			}
			return s.Run(c.Context)
		},
	})
}

// together refuses arguments and flags that mean nothing beside the one that says how to seed.
func together(c *cli.Context, way string, others ...string) error {
	if _, err := takeArguments(c); err != nil {
		return err
	}
	for _, name := range []string{"max", "force", "file", "scan", "strip", "kind", "yes"} {
		if name != way && c.IsSet(name) && !slices.Contains(others, name) {
			return usagef("%s and %s do not go together; see %s --help", dashed(way), dashed(name), c.Command.HelpName)
		}
	}
	return nil
}

func readSeed(c *cli.Context, g globals, t target) (seed, error) {
	s := seed{globals: g, target: t, Force: c.Bool("force"), DryRun: c.Bool("dry-run")}
	var err error
	if s.Collection, err = takeCollection(c, s.Separator); err != nil {
		return s, err
	}
	for _, name := range []string{"strip", "kind", "yes"} {
		if c.IsSet(name) {
			return s, usagef("%s goes with --scan only; see %s --help", dashed(name), c.Command.HelpName)
		}
	}
	if s.Force && s.DryRun {
		return s, usagef("--force and --dry-run do not go together: hilo inspect shows what stands")
	}
	if !c.IsSet("max") {
		return s, usagef("%s needs --max N, the greatest number that is taken: %s", c.Command.HelpName, c.Command.UsageText)
	}
	s.Max, err = parseNumber("max", c.String("max"), 0)
	return s, err
}

func (s seed) Run(ctx context.Context) error {
	if s.DryRun {
		one := row{State: allocator.State{Kind: allocator.KindHiLo, Counter: allocator.Counter{Name: s.Collection, Max: s.Max}}}
		return seedRows(ctx, s.globals, s.target, "--max", []row{one}, true)
	}
	now, err := s.seedAs(ctx, s.target, (*allocator.Admin).Seed, s.Collection, s.Max, s.Force)
	switch {
	case err != nil:
		return err
	case s.JSON:
		return s.writeJSON(seeded{s.Collection, now, s.Max, now == s.Max})
	}
	return s.printSeeded(s.Collection, "Max", now, s.Max)
}

// seedFunc seeds a collection's counter or an identity, and gives what stands then.
type seedFunc func(m *allocator.Admin, ctx context.Context, name string, value int64, force bool) (int64, error)

func (g globals) seedAs(ctx context.Context, t target, do seedFunc, name string, value int64, force bool) (now int64, err error) {
	err = g.administer(ctx, t, func(m *allocator.Admin) error {
		now, err = do(m, ctx, name, value, force)
		return err
	})
	return now, err
}

func (g globals) printSeeded(name, field string, now, wanted int64) error {
	if now == wanted {
		return g.printf("%s: %s is %d\n", name, field, now)
	}
	return g.printf("%s: %s stays %d, above %d; --force lowers it\n", name, field, now, wanted)
}

// seedFile raises the counters of a file.
type seedFile struct {
	globals
	target target
	File   string
	DryRun bool
}

func (s seedFile) Run(ctx context.Context) error {
	content, name, err := s.slurp(ctx, s.File)
	if err != nil {
		return err
	}
	rows, err := readRows(name, s.Separator, content)
	if err != nil {
		return err
	}
	return seedRows(ctx, s.globals, s.target, name, merge(rows), s.DryRun)
}

func seedRows(ctx context.Context, g globals, t target, source string, rows []row, dryRun bool) error {
	var done changes
	p := plan{globals: g, source: source, rows: rows}
	err := g.administer(ctx, t, func(m *allocator.Admin) (err error) {
		if p.server, err = m.ServerPrefix(ctx); err != nil {
			return err
		}
		done, err = p.carryOut(ctx, m, dryRun, nil)
		return err
	})
	if err != nil {
		return p.broken(err, done)
	}
	return g.showChanges(done)
}
