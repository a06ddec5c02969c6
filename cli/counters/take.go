package counters

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
)

// NextCommand returns hilo next.
func NextCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "next",
		Usage:     "take identifiers of a collection",
		UsageText: "hilo next COLLECTION [--count N]",
		Description: base.Describe(`
Prints identifiers that were never issued before, one a line, and returns what it
reserved and did not need. As JSON it prints one array of strings. When it is
interrupted, the printed ids remain issued.`+base.AboutServers,
			[]string{
				"hilo next orders",
				"hilo next orders --count 1000 --redis redis://cache.example:6379/0",
				"hilo next orders --redis north=redis://n:6379 --redis south=redis://s:6379",
			},
			"4 exhausted, not confirmed, not seeded, or the name of an identity"),
		Flags: base.ServerFlags(countFlag()),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			i := newIssue(r, r.Number("count"), idsAtOnce)
			name := r.Collection(i.Separator)
			i.take = func(ctx context.Context, a *allocator.Allocator, n int64) ([]string, error) {
				collection, err := a.Collection(name)
				if err != nil {
					return nil, err
				}
				batch, err := collection.Take(ctx, n)
				return batch.Strings(), err
			}
			return i
		}),
	}
}

func countFlag() cli.Flag {
	return &cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "take `N` identifiers", Value: base.Count("1", 1)}
}

// IdentityNextCommand returns hilo identity next.
func IdentityNextCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "next",
		Usage:     "take the next values of an identity",
		UsageText: "hilo identity next NAME [--count N]",
		Description: base.Describe(`
Prints the next identifiers of an identity, one per line, or one JSON array of strings.
Up to 1000 are consecutive. With more, other clients may take some in between.
Identifiers that were printed before an error or an interruption remain issued.

Of several servers named with --redis NAME=URL only the home of identities issues them,
in any order of the servers. hilo settings set --identities makes a server their home.`,
			[]string{"hilo identity next companies", "hilo identity next companies --count 10"},
			"4 exhausted, not confirmed, not seeded, or the name of a collection"),
		Flags: base.ServerFlags(countFlag()),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			i := newIssue(r, r.Number("count"), idsAtOnce)
			i.alone = true // of several servers only their home serves
			name := r.Identity(i.Separator)
			i.take = func(ctx context.Context, a *allocator.Allocator, n int64) (ids []string, err error) {
				values, err := a.NextIdentities(ctx, name, n)
				if err != nil {
					return nil, err
				}
				for number := values.Low; int64(len(ids)) < n; number++ {
					ids = append(ids, string(prefix.ID{Collection: name, Number: number}.Append(nil, i.Separator)))
				}
				return ids, nil
			}
			return i
		}),
	}
}

// IDCommand returns hilo id.
func IDCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "id",
		Usage:     "generate ids of any kind",
		UsageText: "hilo id TEXT…",
		Description: base.Describe(`
Prints one identifier for each TEXT, one per line, or one JSON array of strings. TEXT
selects the kind of identifier, as the id of an entity does:

   companies/     a server-side id, companies/0000000000000000027: ends in the separator
   'companies|'   an identity, companies/1: ends in |, which a shell requires in quotes
   ''             a GUID: the empty text
   other text     a semantic id, such as products/ravendb: printed unchanged

Only the first two use Redis. Identifiers that were printed before an error remain
issued. For identifiers such as orders/1 use hilo next.`+base.AboutServers+`

Only the home of identities issues identities. hilo settings set --identities makes a
server their home.`,
			[]string{
				"hilo id companies/ 'companies|'",
				"hilo id '' products/ravendb --output json",
			},
			"4 exhausted, not confirmed, not seeded, or the name of a collection"),
		Flags: base.ServerFlags(),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			texts := r.Args().Slice()
			i := newIssue(r, int64(len(texts)), 1)
			if len(texts) == 0 {
				r.Failf("%s needs a TEXT; usage: %s", r.FullName(), r.Command.UsageText)
			}
			for _, text := range texts {
				r.Fail(checkText(i.Session, text))
			}
			i.take = func(ctx context.Context, a *allocator.Allocator, _ int64) ([]string, error) {
				text := texts[i.printed]
				id, err := a.Resolve(ctx, text)
				if errors.Is(err, allocator.ErrExhausted) && strings.HasSuffix(text, i.Separator) {
					// Another name does not help here.
					err = exit.Refusedf("%s; all server-side ids share one counter: continue with hilo next", exit.Plain(err))
				}
				if err != nil {
					return nil, err
				}
				return []string{id}, nil
			}
			return i
		}),
	}
}

// checkText checks a text before the first one is resolved.
func checkText(g *base.Session, text string) error {
	kind, example := "an identity", "'companies|'"
	name, isRequest := strings.CutSuffix(text, "|")
	if !isRequest {
		kind, example = "a server-side id", "companies"+g.Separator
		name, isRequest = strings.CutSuffix(text, g.Separator)
	}
	if err := prefix.ValidateCollection(name, g.Separator); isRequest && err != nil {
		return exit.Usagef("%q requests %s: %s; use one such as %s", text, kind, exit.Plain(err), example)
	}
	if g.JSON && !utf8.ValidString(text) {
		return exit.Usagef("%q is not valid UTF-8, which JSON has to be: leave out --output json", text)
	}
	return nil
}
