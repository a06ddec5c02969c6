package cli

import (
	"context"
	"iter"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

func newIdentityCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "identity",
		Usage:     "take, seed or show identities",
		UsageText: "hilo identity next NAME [--count N] | seed NAME --value N [--force] | list",
		Description: describe(`
An identity (companies/1, companies/2) leaves no gaps in normal work and never has a
prefix or tag, at the price of a round trip for each call. A trailing | of NAME, as
programs and hilo id know it, may be left out. Where the server has neither prefix
nor tag, a name is an identity or a collection, not both.`,
			[]string{"hilo identity next companies", "hilo identity list"},
			"1 failed or interrupted", "3 Redis unavailable", "4 exhausted, or the name is taken by a collection"),
		Action: showGroup,
		Subcommands: []*cli.Command{
			newIdentityNextCommand(env),
			newIdentitySeedCommand(env),
			newIdentityListCommand(env),
			newHelpCommand("identity"),
		},
	})
}

// identityNext takes and prints the next values of an identity.
type identityNext struct {
	globals
	servers servers
	Name    string
	Count   int64
}

func newIdentityNextCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "next",
		Usage:     "take the next values of an identity",
		UsageText: "hilo identity next NAME [--count N]",
		Description: describe(`
Prints the next identifiers of an identity, one a line; as JSON one array of strings.
Up to 1000 are consecutive; of more, others may take some in between. What was
printed before an error or an interruption stays given. Of several servers named with
--redis NAME=URL, identities come from the first, and from no other.`,
			[]string{"hilo identity next companies", "hilo identity next companies --count 10"},
			"1 failed or interrupted", "3 Redis unavailable", "4 exhausted, not confirmed, not seeded, or the name of a collection"),
		Flags: serverFlags(
			&cli.StringFlag{Name: "count", Usage: "take `N` identifiers", Value: "1", DefaultText: "1"},
		),
		Action: func(c *cli.Context) error {
			i := identityNext{}
			var err error
			if i.globals, i.servers, err = readServers(c, env); err != nil {
				return err
			}
			if i.Name, err = takeIdentity(c, i.Separator); err != nil {
				return err
			}
			if i.Count, err = parseNumber("count", c.String("count"), 1); err != nil {
				return err
			}
			return i.Run(c.Context)
		},
	})
}

func (i identityNext) Run(ctx context.Context) error {
	i.Log = withoutReturned(i.Log) // also of several servers: only the first one is asked
	return issue{globals: i.globals, servers: i.servers, count: i.Count, chunk: idsAtOnce, take: i.take}.Run(ctx)
}

func (i identityNext) take(ctx context.Context, a *allocator.Allocator, count int64) (iter.Seq[string], error) {
	values, err := a.NextIdentities(ctx, i.Name, count)
	if err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		for n := range count {
			id := prefix.ID{Collection: i.Name, Number: values.Low + n}
			if !yield(string(id.Append(nil, i.Separator))) {
				return
			}
		}
	}, nil
}

// identitySeed raises an identity, or sets it.
type identitySeed struct {
	globals
	target target
	Name   string
	Value  int64
	Force  bool
}

type seededIdentity struct {
	Name      string `json:"name"`
	Value     int64  `json:"value"` // what stands now
	Requested int64  `json:"requested"`
	Applied   bool   `json:"applied"` // false: it stood above, and stays
}

func newIdentitySeedCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "seed",
		Usage:     "raise an identity",
		UsageText: "hilo identity seed NAME --value N [--force]",
		Description: describe(`
Raises the greatest value given so far to N: the next is N+1. An identity that
stands above N stays as it is, which is said and is no error; with --force it is
lowered, and values that are in use may be given again.`,
			[]string{"hilo identity seed companies --value 1994"},
			"1 failed or interrupted", "3 Redis unavailable", "4 the name is taken by a collection"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "value", Usage: "`N`, 0 to 9223372036854775807, the greatest value that is taken"},
			&cli.BoolFlag{Name: "force", Usage: "lower the identity too", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			i := identitySeed{Force: c.Bool("force")}
			var err error
			if i.globals, i.target, err = readServer(c, env); err != nil {
				return err
			}
			if i.Name, err = takeIdentity(c, i.Separator); err != nil {
				return err
			}
			if !c.IsSet("value") {
				return usagef("%s needs --value N, the greatest value that is taken: %s", c.Command.HelpName, c.Command.UsageText)
			}
			if i.Value, err = parseNumber("value", c.String("value"), 0); err != nil {
				return err
			}
			return i.Run(c.Context)
		},
	})
}

func (i identitySeed) Run(ctx context.Context) error {
	now, err := i.seedAs(ctx, i.target, (*allocator.Admin).SeedIdentity, i.Name, i.Value, i.Force)
	switch {
	case err != nil:
		return err
	case i.JSON:
		return i.writeJSON(seededIdentity{i.Name, now, i.Value, now == i.Value})
	}
	return i.printSeeded(i.Name, "Value", now, i.Value)
}

// takeIdentity returns the one argument of a command that works on an identity, without the "|" that it may end in.
func takeIdentity(c *cli.Context, separator string) (string, error) {
	given, err := takeArguments(c, "NAME")
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(given[0], "|")
	if err := prefix.ValidateCollection(name, separator); err != nil {
		return "", usagef("identity: %s; name one such as companies", plain(err))
	}
	return name, nil
}
