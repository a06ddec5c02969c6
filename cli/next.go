package cli

import (
	"context"
	"iter"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// next allocates and prints identifiers.
type next struct {
	globals
	servers    servers
	Collection string
	Count      int64
}

func newNextCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "next",
		Usage:     "take identifiers of a collection",
		UsageText: "hilo next COLLECTION [--count N]",
		Description: describe(`
Prints identifiers that were never given before, one a line, and returns what it
reserved and did not need. As JSON it prints one array of strings. When it is
interrupted, what it printed stays given.`+aboutServers,
			[]string{
				"hilo next orders",
				"hilo next orders --count 1000 --redis redis://cache.example:6379/0",
				"hilo next orders --redis north=redis://n:6379 --redis south=redis://s:6379",
			},
			"1 failed or interrupted", "3 Redis unavailable", "4 exhausted, not confirmed, not seeded, or the name of an identity"),
		Flags: serverFlags(
			&cli.StringFlag{Name: "count", Usage: "take `N` identifiers", Value: "1", DefaultText: "1"},
		),
		Action: func(c *cli.Context) error {
			n := next{}
			var err error
			if n.globals, n.servers, err = readServers(c, env); err != nil {
				return err
			}
			if n.Collection, err = takeCollection(c, n.Separator); err != nil {
				return err
			}
			if n.Count, err = parseNumber("count", c.String("count"), 1); err != nil {
				return err
			}
			return n.Run(c.Context)
		},
	})
}

func (n next) Run(ctx context.Context) error {
	return issue{globals: n.globals, servers: n.servers, count: n.Count, chunk: idsAtOnce, take: n.take}.Run(ctx)
}

func (n next) take(ctx context.Context, a *allocator.Allocator, count int64) (iter.Seq[string], error) {
	collection, err := a.Collection(n.Collection)
	if err != nil {
		return nil, err
	}
	batch, err := collection.Take(ctx, count)
	return batch.All(), err
}
