package cli

import (
	"context"
	"math"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// importing raises counters to what an export says.
type importing struct {
	globals
	target        target
	File          string
	FromNamespace string // that the file may be of, beside the one to write to
	Prefix        string // prefixKeep, prefixTake, or "": refuse another one
	Margin        int64
	Partial       bool
	DryRun        bool
}

// The values of --prefix.
const (
	prefixKeep = "keep"
	prefixTake = "take"
)

// imported is what comes of it, as JSON has it.
type imported struct {
	Prefix    string `json:"prefix"`    // the server's, afterwards
	Tag       string `json:"tag"`       // the server's, afterwards
	PrefixSet bool   `json:"prefixSet"` // prefix or tag are not what they were
	changes
}

func newImportCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "import",
		Usage:     "raise counters to what an export says",
		UsageText: "hilo import [FILE]",
		Description: describe(`
Reads what hilo export wrote, from FILE or stdin, and raises Max, ranges and epoch of
each counter to it; none is lowered, so that to do it again, or of two servers, does
no harm. All lines are checked before the first counter is written: one that cannot
be, and nothing is. What cannot be carried over is Origin, which is of one server.

The file has to be whole, with its last line, and of the same namespace; the server
has to have the same prefix and tag, or to be empty, which sets them. Two servers with
one prefix give the same identifiers: the old one must not be used any more.

--margin is for a file that may be older than the last range taken there: more than
what was given since.`,
			[]string{
				"hilo import counters.jsonl --dry-run", "hilo import counters.jsonl",
				"hilo export --redis $OLD | hilo import --redis $NEW --margin 100000",
			},
			"1 failed or interrupted", "3 Redis unavailable", "4 another namespace or prefix, or refused by a rule"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "margin", Usage: "raise each counter by `N` more", Value: "0", DefaultText: "0"},
			&cli.StringFlag{Name: "from-namespace", Usage: "the file is of `NAMESPACE`, not of --namespace, and that is meant"},
			&cli.StringFlag{Name: "prefix", Usage: "where the server has another prefix or tag: `WHICH`, keep or take"},
			&cli.BoolFlag{Name: "partial", Usage: "the file is a part of an export, and that is meant", DisableDefaultText: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "show before and after, and write nothing", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			i := importing{
				File: "-", FromNamespace: c.String("from-namespace"), Prefix: c.String("prefix"),
				Partial: c.Bool("partial"), DryRun: c.Bool("dry-run"),
			}
			var err error
			if i.globals, i.target, err = readServer(c, env); err != nil {
				return err
			}
			if c.Args().Present() {
				given, err := takeArguments(c, "FILE")
				if err != nil {
					return err
				}
				i.File = given[0]
			} else if isTerminal(env.Stdin) {
				return usagef("%s needs a FILE, or an export on stdin: %s", c.Command.HelpName, c.Command.UsageText)
			}
			if i.Margin, err = parseNumber("margin", c.String("margin"), 0); err != nil {
				return err
			}
			switch i.Prefix {
			case "", prefixKeep, prefixTake:
				return i.Run(c.Context)
			}
			return usagef("--prefix is %q: must be keep, the server's own, or take, the file's", i.Prefix)
		},
	})
}

func (i importing) Run(ctx context.Context) error {
	content, name, err := i.slurp(ctx, i.File)
	if err != nil {
		return err
	}
	file, err := readExport(name, i.Separator, content)
	if err != nil {
		return err
	}
	if err := i.fits(file); err != nil {
		return err
	}
	p := plan{globals: i.globals, source: name, rows: i.raised(file.rows)}
	var shown imported
	err = i.administer(ctx, i.target, func(m *allocator.Admin) error {
		before, err := m.ServerPrefix(ctx)
		if err != nil {
			return err
		}
		if p.server, err = i.choose(ctx, m, before, file); err != nil {
			return err
		}
		shown.Prefix, shown.Tag, shown.PrefixSet = p.server.ServerPrefix, p.server.NodeTag, p.server != before
		shown.changes, err = p.carryOut(ctx, m, i.DryRun, func(changes) error {
			if !shown.PrefixSet {
				return nil
			}
			return m.SetServerPrefix(ctx, p.server) // first: without it, a name may not be of both kinds
		})
		return err
	})
	if err != nil {
		return p.broken(err, shown.changes)
	}
	return i.show(shown)
}

func (i importing) show(shown imported) error {
	if i.JSON {
		return i.writeJSON(shown)
	}
	if err := i.showChanges(shown.changes); err != nil || !shown.PrefixSet {
		return err
	}
	was := "is now"
	if shown.DryRun {
		was = "would be"
	}
	return i.printf("the server's prefix %s %s, its tag %s\n", was, orNone(shown.Prefix), orNone(shown.Tag))
}

// fits refuses a file that was made for something else.
func (i importing) fits(file exportFile) error {
	switch {
	case i.FromNamespace != "" && file.namespace != i.FromNamespace:
		return refusedf("%s is of the namespace %s and not of %s, as --from-namespace says: nothing was written", file.name, file.namespace, i.FromNamespace)
	case i.FromNamespace == "" && file.namespace != i.Namespace:
		return refusedf("%s is of the namespace %s, and --namespace is %s: nothing was written; name the same one, or say that "+
			"it is meant with --from-namespace %[2]s", file.name, file.namespace, i.Namespace)
	case !file.whole && !i.Partial:
		return refusedf("%s is not whole: nothing was written; its last line is to count its counters, and a counter that is "+
			"missing would begin at 1; make it again, or say that it is meant with --partial", file.name)
	}
	return nil
}

// raised are rows with the margin.
func (i importing) raised(rows []row) []row {
	for n := range rows {
		top := int64(math.MaxInt64)
		if rows[n].Kind == allocator.KindServerSide {
			top = max(rows[n].Max, allocator.ServerSideLimit)
		}
		rows[n].Max += min(i.Margin, top-rows[n].Max)
	}
	return rows
}

// choose gives the prefix that the server is to have.
func (i importing) choose(ctx context.Context, m *allocator.Admin, server prefix.Server, file exportFile) (prefix.Server, error) {
	switch {
	case server == file.server || file.prefixed && i.Prefix == prefixTake:
		return file.server, nil
	case !file.prefixed || i.Prefix == prefixKeep:
		return server, nil
	case server.IsZero():
		empty := true
		for _, err := range everyState(ctx, m) {
			if err != nil {
				return server, err
			}
			empty = false
			break
		}
		if empty {
			return file.server, nil
		}
	}
	return server, refusedf("the file is of a server with prefix %s and tag %s, and this one has prefix %s and tag %s: nothing was written; "+
		"--prefix keep leaves it its own, --prefix take gives it the file's", orNone(file.server.ServerPrefix), orNone(file.server.NodeTag),
		orNone(server.ServerPrefix), orNone(server.NodeTag))
}
