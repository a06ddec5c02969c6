package cli

import (
	"context"

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
		Usage:     "raise a collection's counter",
		UsageText: "hilo seed COLLECTION --max N [--force]",
		Description: describe(`
Raises Max, the greatest number given so far, to N: the next identifier is N+1.
A counter that stands above N stays as it is, which is said and is no error;
with --force it is lowered, and numbers that are in use may be given again.`,
			[]string{"hilo seed orders --max 4000"},
			"1 failed or interrupted", "3 Redis unavailable", "4 the name is taken by an identity"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "max", Usage: "`N`, 0 to 9223372036854775807, the greatest number that is taken"},
			&cli.BoolFlag{Name: "force", Usage: "lower the counter too", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			s := seed{Force: c.Bool("force")}
			var err error
			if s.globals, s.target, err = readServer(c, env); err != nil {
				return err
			}
			if s.Collection, err = takeCollection(c, s.Separator); err != nil {
				return err
			}
			if !c.IsSet("max") {
				return usagef("%s needs --max N, the greatest number that is taken: %s", c.Command.HelpName, c.Command.UsageText)
			}
			if s.Max, err = parseNumber("max", c.String("max"), 0); err != nil {
				return err
			}
			return s.Run(c.Context)
		},
	})
}

func (s seed) Run(ctx context.Context) error {
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
