package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// importing raises counters to those of an export.
type importing struct {
	plan
	File          string
	FromNamespace string // of the file, if it is not the one to write to
	Prefix        string // prefixKeep, prefixTake, or "" to refuse another prefix
	Margin        int64
	Partial       bool
}

// mostMargin is more than a fleet issues while an export is moved, and leaves room in a counter.
const mostMargin = 1_000_000_000_000

// The values of --prefix.
const (
	prefixKeep = "keep"
	prefixTake = "take"
)

// imported is the JSON output.
type imported struct {
	Prefix     string `json:"prefix"`     // of the server, afterwards
	Tag        string `json:"tag"`        // of the server, afterwards
	Identities bool   `json:"identities"` // the server is the home of identities, afterwards
	PrefixSet  bool   `json:"prefixSet"`  // settings were made, or changed
	changes
}

// ImportCommand returns hilo import.
func ImportCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "raise counters to those of an export",
		UsageText: "hilo import [FILE]",
		Description: base.Describe(`
Reads what hilo export wrote, also that of hilo 0.1, from FILE or stdin, and raises each
counter to it. None is lowered, so doing it again does no harm. All lines are checked
before one is written. A name that this version refuses has to be corrected in its line;
where another line has that name, keep the greater max and count one less in the last.

The file has to be whole and of the same namespace. A server without settings gets those
of the file, as by hilo init, and one without counters its prefix, tag, home and interval.
Any other keeps its own, and has to have the same prefix and tag, and no other interval.
Durable is kept where the new server agrees. The old server must not be used any more.

--margin is for a file older than the last range: more than what was issued since.`,
			[]string{
				"hilo import counters.jsonl --dry-run", "hilo import counters.jsonl",
				"hilo export --redis $OLD | hilo import --redis $NEW --margin 100000",
			},
			"4 another namespace or prefix, or refused by a rule"),
		Flags: base.OneServerFlags(
			&cli.GenericFlag{Name: "margin", Usage: "raise each counter by `N` more", Value: base.Number("0", 0, mostMargin)},
			&cli.GenericFlag{Name: "from-namespace", Usage: "confirm that the file is of `NAMESPACE`", Value: base.Text("")},
			&cli.GenericFlag{Name: "prefix", Usage: "where prefix or tag differ, `WHICH`", Value: base.Choice("", prefixKeep, prefixTake)},
			&cli.BoolFlag{Name: "partial", Usage: "confirm that the file is only a part of an export"},
			&cli.BoolFlag{Name: "dry-run", Usage: "show before and after, and write nothing"},
			base.ReplicasNoneFlag(),
		),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			i := importing{
				plan: plan{Session: r.Session(), Target: r.Target(), DryRun: r.Bool("dry-run"), Init: true},
				File: "-", FromNamespace: r.String("from-namespace"), Partial: r.Bool("partial"),
			}
			if r.Args().Present() {
				i.File = r.Arguments("FILE")[0]
			} else if term.IsTerminal(env.Stdin) {
				r.Failf("%s needs a FILE, or an export on stdin; usage: %s", r.FullName(), r.Command.UsageText)
			}
			i.Margin, i.Prefix = r.Number("margin"), r.String("prefix")
			return i
		}),
	}
}

func (i importing) Run(ctx context.Context) error {
	content, name, err := base.ReadFileOrStdin(ctx, i.Session, i.File)
	if err != nil {
		return err
	}
	file, err := readExport(name, i.Separator, content)
	if err != nil {
		return err
	}
	i.Source = name
	if err := i.fits(file); err != nil {
		return err
	}
	i.Rows = i.raised(file)
	made := false // the settings
	done, err := i.raise(ctx, func(_ *target.Client, m *admin.Admin) (err error) {
		made = !i.initialized
		chosen, err := i.choose(ctx, m, i.Found, file)
		i.Again = func(ctx context.Context, m *admin.Admin) error {
			again, err := i.choose(ctx, m, i.Found, file)
			if !errors.Is(err, allocator.ErrUnavailable) && (err != nil || again != chosen) {
				err = errChanged
			}
			return err
		}
		i.Server = chosen
		i.Server.Durable, i.Server.SeededOnly = i.Found.Durable, i.Found.SeededOnly
		if err == nil && !i.initialized && file.prefixed {
			i.Server.SeededOnly = file.server.SeededOnly
			if wanted := file.server.Durable; wanted != "" {
				if wrong := m.CheckDurable(ctx, wanted); wrong == nil {
					i.Server.Durable = wanted
				} else {
					fmt.Fprintf(i.Stderr, "hilo: the file's server was Durable (%s), and this one is not: %s\n", wanted, exit.Plain(wrong))
				}
			}
		}
		return err
	}, nil)
	if err != nil {
		return err
	}
	shown := imported{i.Server.ServerPrefix, i.Server.NodeTag, i.Server.Identities, i.Server != i.Found || made, done}
	return i.Show(shown, func() error { return i.print(shown) })
}

func (i importing) print(shown imported) error {
	if err := shown.Print(i.Session); err != nil || !shown.PrefixSet {
		return err
	}
	was := "is now"
	if shown.DryRun {
		was = "would be"
	}
	home := ""
	if shown.Identities {
		home = ", and it " + was + " the home of identities"
	}
	if !sameInterval(i.Server, i.Found) {
		are := "are now"
		if shown.DryRun {
			are = "would be"
		}
		home += ", and its numbers " + are + " " + interval(i.Session, i.Server)
	}
	return i.Printf("the server's prefix %s %s, its tag %s%s\n", was, cmp.Or(shown.Prefix, "none"), cmp.Or(shown.Tag, "none"), home)
}

// fits returns an error if the file is for another namespace or is not whole.
func (i importing) fits(file file) error {
	switch {
	case i.FromNamespace != "" && file.namespace != i.FromNamespace:
		return exit.Refusedf("%s is of the namespace %s and not of %s, which --from-namespace names: nothing was written", i.Source, file.namespace, i.FromNamespace)
	case i.FromNamespace == "" && file.namespace != i.Namespace:
		return exit.Refusedf("%s is of the namespace %s, and --namespace is %s: nothing was written; name the same one, or confirm it "+
			"with --from-namespace %[2]s", i.Source, file.namespace, i.Namespace)
	case !file.whole && !i.Partial:
		return exit.Refusedf("%s is not whole: nothing was written; its last line must count its counters, and a counter that is "+
			"missing would begin at 1; export again, or confirm it with --partial", i.Source)
	case !file.prefixed && i.Prefix == prefixTake:
		return exit.Refusedf("%s has no line with a prefix: nothing was written; leave --prefix out, and set one with hilo settings set", i.Source)
	}
	return nil
}

// raised returns the rows with the margin. A server without prefix and tag issued all its numbers bare, which older exports do not
// record.
func (i importing) raised(file file) []planRow {
	for n := range file.read {
		row, top := &file.read[n], int64(math.MaxInt64)
		if row.Kind == admin.KindServerSide {
			top = max(row.Max, prefix.MaxServerSide)
		}
		row.Max += min(i.Margin, top-row.Max)
		if row.Kind == admin.KindHiLo && file.prefixed && file.server.IsZero() {
			row.Bare = row.Bare || row.Max > 0
		}
	}
	return file.read
}

// choose returns the settings that the server gets. It keeps an interval of the server: without it, the server would issue
// the numbers of another one.
func (i importing) choose(ctx context.Context, m *admin.Admin, server prefix.Server, file file) (prefix.Server, error) {
	if server.HasInterval() {
		if file.server.HasInterval() && !sameInterval(server, file.server) {
			return server, otherInterval(server, file.server)
		}
		file.server.MinValue, file.server.MaxValue = server.MinValue, server.MaxValue
	}
	same := server.ServerPrefix == file.server.ServerPrefix && server.NodeTag == file.server.NodeTag
	switch {
	case same && server.Identities == file.server.Identities && (sameInterval(server, file.server) || !isLone(server)) ||
		file.prefixed && i.Prefix == prefixTake:
		return file.server, nil
	case !file.prefixed || i.Prefix == prefixKeep:
		return server, nil
	case server.IsZero() || same && file.server.Identities:
		used := false
		for _, err := range m.States(ctx) {
			if err != nil {
				return server, err
			}
			used = true
			break
		}
		if !used {
			return file.server, nil
		}
	}
	if same && !sameInterval(server, file.server) { // its identities could end
		return server, otherInterval(server, file.server)
	}
	if same { // keep its home or lack of one
		return server, nil
	}
	return server, exit.Refusedf("the file is of a server with prefix %s and tag %s, and this one has prefix %s and tag %s: nothing was written; "+
		"--prefix keep leaves the prefix of the server, --prefix take sets that of the file", cmp.Or(file.server.ServerPrefix, "none"),
		cmp.Or(file.server.NodeTag, "none"), cmp.Or(server.ServerPrefix, "none"), cmp.Or(server.NodeTag, "none"))
}

func sameInterval(a, b prefix.Server) bool {
	low, high := a.Interval()
	otherLow, otherHigh := b.Interval()
	return low == otherLow && high == otherHigh
}

func otherInterval(server, file prefix.Server) error {
	low, high := server.Interval()
	fileLow, fileHigh := file.Interval()
	return exit.Refusedf("the file is of a server that issues the numbers %d to %d, and this one %d to %d: nothing was written; "+
		"first set that of the file with hilo settings set --min-value %[1]d --max-value %[2]d", fileLow, fileHigh, low, high)
}
