// Package prefixes has hilo prefix get, set, clear and check: what a server adds to its identifiers. It exports its commands
// and nothing else, and may import the rooms under cli/internal and the library.
package prefixes

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

const flagIdentities = "identities"

// serverPrefix shows what the server adds to each identifier, changed before where that is asked for.
type serverPrefix struct {
	*base.Session
	target  target.Target
	changes []func(*prefix.Server)
	all     bool // of what stands is changed: it need not be sound
}

type shownPrefix struct {
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	Identities bool   `json:"identities"` // it says that it is their home
	Example    string `json:"example"`
}

// Command is hilo prefix, with its own commands.
func Command(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "prefix",
		Usage:     "show or set what the server adds to each identifier",
		UsageText: "hilo prefix get | set [PREFIX] [--tag TAG] [--identities] | clear | check",
		Description: base.Describe(`
A server may add a prefix before the number (orders/NorthServer/1) and a node tag
behind it (orders/1-A), so that no two servers ever give the same identifier.
A change holds for ranges that are taken from then on.

Identities (companies/1) have neither, so all come from one server, their home, which
says so. One without prefix and tag is the only one, and needs not say so.`,
			[]string{"hilo prefix set NorthServer/ --identities", "hilo prefix set --tag A", "hilo prefix get"},
			"1 failed or interrupted", "3 Redis unavailable", "4 refused by a rule", "5 a check found a fault"),
		DefaultCommand: base.HelpName,
		Commands: []*cli.Command{
			getCommand(env),
			setCommand(env),
			clearCommand(env),
			checkCommand(env),
			base.HelpCommand("prefix"),
		},
	}
}

func getCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:        "get",
		Usage:       "show prefix, tag and whether it is the home of identities",
		UsageText:   "hilo prefix get",
		Description: base.Describe("Shows the server's prefix and node tag, and whether it is the home of identities.", []string{"hilo prefix get --output json"}, "1 failed or interrupted", "3 Redis unavailable"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return serverPrefix{Session: r.Session(), target: r.Target()}
		}),
	}
}

func setCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "set prefix, tag, or the home of identities",
		UsageText: "hilo prefix set [PREFIX] [--tag TAG] [--identities]",
		Description: base.Describe(`
Sets what is named and keeps what is not. An empty PREFIX or TAG takes it away.
The prefix carries its own slash: nothing is put between it and the number.

With --identities the server is the home of identities, as one of several masters has
to be; --identities=false ends that. To move them, end it at the old home first; then
seed the new one with hilo identity seed, above all that the old one gave; then say it
there. Where one server was alone before, without prefix and tag, and becomes one of
several, it is to be the home: it knows which numbers went out bare.`,
			[]string{"hilo prefix set NorthServer/ --identities", "hilo prefix set --tag A", "hilo prefix set --identities=false", `hilo prefix set SouthServer/ --tag ""`},
			"1 failed or interrupted", "3 Redis unavailable", "4 refused by a rule"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tag", Usage: "node `TAG`, 1 to 8 letters and digits, a letter first"},
			&cli.BoolFlag{Name: flagIdentities, Usage: "it is the home of identities"},
		},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			s := serverPrefix{Session: r.Session(), target: r.Target()}
			named := prefix.Server{NodeTag: r.String("tag"), Identities: r.Bool(flagIdentities)}
			if r.Args().Present() {
				named.ServerPrefix = r.Arguments("PREFIX")[0]
				s.changes = append(s.changes, func(now *prefix.Server) { now.ServerPrefix = named.ServerPrefix })
			}
			if r.IsSet("tag") {
				s.changes = append(s.changes, func(now *prefix.Server) { now.NodeTag = named.NodeTag })
			}
			if r.IsSet(flagIdentities) {
				s.changes = append(s.changes, func(now *prefix.Server) { now.Identities = named.Identities })
			}
			if s.all = len(s.changes) == 3; len(s.changes) == 0 {
				r.Failf("%s needs a PREFIX, a --tag, --identities, or some of them: %s", r.FullName(), r.UsageText)
			}
			r.Fail(exit.Invalid(named.Validate(), "a prefix such as NorthServer/ and a tag such as A will do"))
			return s
		}),
	}
}

func clearCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:        "clear",
		Usage:       "take prefix, tag and the home of identities away",
		UsageText:   "hilo prefix clear",
		Description: base.Describe("Takes away the server's prefix and its node tag, and that it says that it is the home of identities.", []string{"hilo prefix clear"}, "1 failed or interrupted", "3 Redis unavailable", "4 refused by a rule"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			none := func(now *prefix.Server) { *now = prefix.Server{} }
			return serverPrefix{Session: r.Session(), target: r.Target(), changes: []func(*prefix.Server){none}, all: true}
		}),
	}
}

// Run sets what is to be set, and shows what stands then.
func (s serverPrefix) Run(ctx context.Context) error {
	var now prefix.Server
	err := base.Administer(ctx, s.Session, s.target, func(m *allocator.Admin) (err error) {
		if !s.all {
			now, err = m.ServerPrefix(ctx)
		}
		if err != nil || s.changes == nil {
			return err
		}
		for _, change := range s.changes {
			change(&now)
		}
		return m.SetServerPrefix(ctx, now)
	})
	if err != nil {
		return err
	}
	shown := showPrefix(s.Session, now)
	return s.Show(shown, func() error {
		var t term.Table
		t.Add("prefix:", cmp.Or(shown.Prefix, "none"))
		t.Add("tag:", cmp.Or(shown.Tag, "none"))
		t.Add("identifiers:", shown.Example)
		t.Add("identities:", home(now))
		return s.WriteTable(t)
	})
}

// showPrefix shows what a server adds to identifiers, with one of those.
func showPrefix(g *base.Session, s prefix.Server) shownPrefix {
	example := prefix.ID{Collection: "orders", ServerPrefix: s.ServerPrefix, Number: 1, NodeTag: s.NodeTag}
	return shownPrefix{s.ServerPrefix, s.NodeTag, s.Identities, string(example.Append(nil, g.Separator))}
}

// home is where identities come from, as the server has it.
func home(s prefix.Server) string {
	switch {
	case s.Identities:
		return "here"
	case s.IsZero():
		return "here, as long as it is the only server"
	}
	return "elsewhere"
}

// prefixCheck compares what several servers add to identifiers.
type prefixCheck struct {
	*base.Session
	targets []target.Target
}

// comparison is what it found.
type comparison struct {
	Servers []comparedServer `json:"servers"`
	finding.All
}

type comparedServer struct {
	Server string `json:"server,omitempty"`
	shownPrefix
}

func checkCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "compare the prefixes of several servers",
		UsageText: "hilo prefix check --redis NAME=URL --redis NAME=URL",
		Description: base.Describe(`
Shows what each server adds to identifiers, and whether two of them could give the same:
each needs a prefix or tag of its own, and letter case makes no difference. One of several
is to be the home of identities.

--output json: servers [{server, prefix, tag, identities, example}]; `+finding.About,
			[]string{"hilo prefix check --redis north=redis://n:6379 --redis south=redis://s:6379"},
			"1 failed or interrupted", "3 a Redis unavailable", "5 two servers could give the same identifier or identity"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return prefixCheck{Session: r.Session(), targets: r.Targets()}
		}),
	}
}

func (p prefixCheck) Run(ctx context.Context) error {
	shown := comparison{Servers: []comparedServer{}}
	var adds []finding.Adds
	for _, t := range p.targets {
		var s prefix.Server
		err := base.Administer(ctx, p.Session, t, func(m *allocator.Admin) (err error) {
			s, err = m.ServerPrefix(ctx)
			return err
		})
		if err != nil && !errors.Is(err, allocator.ErrCorrupt) {
			return err
		}
		adds = append(adds, finding.Adds{Name: t.Name, Adds: s, Err: err})
		if err == nil {
			shown.Servers = append(shown.Servers, comparedServer{t.Name, showPrefix(p.Session, s)})
		}
	}
	shown.All = finding.Of(finding.ComparePrefixes(adds))
	err := p.Show(shown, func() error {
		t := term.Table{Head: []string{"SERVER", "PREFIX", "TAG", "IDENTITIES", "IDENTIFIERS"}, Cut: []int{1, 4}}
		for _, s := range shown.Servers {
			t.Add(cmp.Or(s.Server, "none"), cmp.Or(s.Prefix, "none"), cmp.Or(s.Tag, "none"), homes[s.Identities], s.Example)
		}
		if err := p.WriteTable(t); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout)
		return shown.Print(p.Stdout)
	})
	return cmp.Or(err, shown.Verdict())
}

// homes is how the home of identities shows in a column.
var homes = map[bool]string{true: "here", false: "-"}
