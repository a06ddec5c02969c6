package cli

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// id resolves texts: each becomes the identifier that it asks for.
type id struct {
	globals
	servers servers
	Texts   []string
}

func newIDCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "id",
		Usage:     "make an identifier of each text, whichever kind it asks for",
		UsageText: "hilo id TEXT…",
		Description: describe(`
Prints one identifier for each TEXT, one a line, as an entity with this text for its
id would get it; as JSON one array of strings. TEXT is

   companies/     a server-side id, companies/0000000000000000027: ends in the separator
   'companies|'   an identity, companies/1: ends in |, which a shell wants quoted
   ''             a GUID: the empty text
   another        printed as it is: a semantic id, such as products/ravendb

Only the first two ask Redis. What was printed before an error stays given. For
identifiers such as orders/1 there is hilo next.`+aboutServers+`
Identities are an exception: they come from the first, and from no other.`,
			[]string{
				"hilo id companies/ 'companies|'",
				"hilo id '' products/ravendb --output json",
			},
			"1 failed or interrupted", "3 Redis unavailable", "4 exhausted, not confirmed, not seeded, or the name of a collection"),
		Flags: serverFlags(),
		Action: func(c *cli.Context) error {
			i := id{Texts: c.Args().Slice()}
			var err error
			if i.globals, i.servers, err = readServers(c, env); err != nil {
				return err
			}
			if len(i.Texts) == 0 {
				return usagef("%s needs a TEXT: %s", c.Command.HelpName, c.Command.UsageText)
			}
			for _, text := range i.Texts {
				if err := i.check(text); err != nil {
					return err
				}
			}
			return i.Run(c.Context)
		},
	})
}

// check finds what is wrong with a text before the first is resolved.
func (i id) check(text string) error {
	kind, example := "an identity", "'companies|'"
	name, asks := strings.CutSuffix(text, "|")
	if !asks {
		kind, example = "a server-side id", "companies"+i.Separator
		name, asks = strings.CutSuffix(text, i.Separator)
	}
	if asks {
		if err := prefix.ValidateCollection(name, i.Separator); err != nil {
			return usagef("%q asks for %s: %s; one such as %s will do", text, kind, plain(err), example)
		}
	}
	if i.JSON && !utf8.ValidString(text) {
		return usagef("%q is not valid UTF-8, which JSON has to be: leave out --output json", text)
	}
	return nil
}

func (i id) Run(ctx context.Context) error {
	return issue{globals: i.globals, servers: i.servers, count: int64(len(i.Texts)), chunk: 1, take: i.take()}.Run(ctx)
}

// take resolves one text after another.
func (i id) take() takeFunc {
	rest := i.Texts
	return func(ctx context.Context, a *allocator.Allocator, _ int64) (iter.Seq[string], error) {
		text := rest[0]
		rest = rest[1:]
		resolved, err := a.Resolve(ctx, text)
		if errors.Is(err, allocator.ErrExhausted) && strings.HasSuffix(text, i.Separator) {
			// Another name, which is the remedy elsewhere, would be none.
			err = &failure{code: exitRefused, text: plain(err) + "; all server-side ids share one counter: go on with hilo next"}
		}
		return slices.Values([]string{resolved}), err
	}
}
