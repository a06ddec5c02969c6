package take

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
)

// IDCommand is hilo id.
func IDCommand(env base.Env) *cli.Command {
	return base.Complete(&cli.Command{
		Name:      "id",
		Usage:     "make an identifier of each text, whichever kind it asks for",
		UsageText: "hilo id TEXT…",
		Description: base.Describe(`
Prints one identifier for each TEXT, one a line, as an entity with this text for its
id would get it; as JSON one array of strings. TEXT is

   companies/     a server-side id, companies/0000000000000000027: ends in the separator
   'companies|'   an identity, companies/1: ends in |, which a shell wants quoted
   ''             a GUID: the empty text
   another        printed as it is: a semantic id, such as products/ravendb

Only the first two ask Redis. What was printed before an error stays given. For
identifiers such as orders/1 there is hilo next.`+base.AboutServers+`
Identities are an exception: they come from their home alone, the server that was made it
with hilo prefix set --identities.`,
			[]string{
				"hilo id companies/ 'companies|'",
				"hilo id '' products/ravendb --output json",
			},
			"1 failed or interrupted", "3 Redis unavailable", "4 exhausted, not confirmed, not seeded, or the name of a collection"),
		Flags: base.ServerFlags(),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			texts := r.Args().Slice()
			i := issue{Session: r.Session(), servers: r.Servers(), count: int64(len(texts)), chunk: 1}
			if len(texts) == 0 {
				r.Failf("%s needs a TEXT: %s", r.Command.HelpName, r.Command.UsageText)
			}
			for _, text := range texts {
				r.Fail(checkText(i.Session, text))
			}
			i.take = func(ctx context.Context, a *allocator.Allocator, _ int64) (iter.Seq[string], error) {
				text := texts[0]
				texts = texts[1:]
				return resolve(ctx, a, text, i.Separator)
			}
			return i
		}),
	})
}

// checkText finds what is wrong with a text before the first is resolved.
func checkText(g base.Session, text string) error {
	kind, example := "an identity", "'companies|'"
	name, asks := strings.CutSuffix(text, "|")
	if !asks {
		kind, example = "a server-side id", "companies"+g.Separator
		name, asks = strings.CutSuffix(text, g.Separator)
	}
	if asks {
		if err := prefix.ValidateCollection(name, g.Separator); err != nil {
			return exit.Usagef("%q asks for %s: %s; one such as %s will do", text, kind, exit.Plain(err), example)
		}
	}
	if g.JSON && !utf8.ValidString(text) {
		return exit.Usagef("%q is not valid UTF-8, which JSON has to be: leave out --output json", text)
	}
	return nil
}

// resolve makes an identifier of one text.
func resolve(ctx context.Context, a *allocator.Allocator, text, separator string) (iter.Seq[string], error) {
	resolved, err := a.Resolve(ctx, text)
	if errors.Is(err, allocator.ErrExhausted) && strings.HasSuffix(text, separator) {
		// Another name, which is the remedy elsewhere, would be none.
		err = exit.Refusedf("%s; all server-side ids share one counter: go on with hilo next", exit.Plain(err))
	}
	return slices.Values([]string{resolved}), err
}
