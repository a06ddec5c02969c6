package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

const (
	flagIdentities = "identities"
	flagDurable    = "durable"
)

// serverPrefix is the command that applies changes, if any, to the server's settings and shows them.
type serverPrefix struct {
	*base.Session
	target  target.Target
	changes []func(*prefix.Server)
	all     bool // prefix, tag and home change, so the present ones need not be valid
	yes     bool // trust the settings that cannot be read
	keeps   bool // leave Durable as it is, because it is not named
}

type shownPrefix struct {
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	Identities bool   `json:"identities"` // the server reports that it is their home
	Durable    string `json:"durable"`    // always, or empty
	Example    string `json:"example"`
}

// PrefixCommand returns hilo prefix, with its subcommands.
func PrefixCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "prefix",
		Usage:     "show or set the prefix and tag of the server",
		UsageText: "hilo prefix get | set [PREFIX] [--tag TAG] [--identities] [--durable always] | clear | check",
		Description: base.Describe(`
A server may add a prefix before the number (orders/NorthServer/1) and a node tag
behind it (orders/1-A), so that no two servers ever issue the same identifier.
A change applies to ranges that are issued from then on.

Identities (companies/1) have neither, so all come from one server, their home, which
reports that. One without prefix and tag is the only one, and need not report it.

A server that keeps every write can state it, with --durable always: then its counters
continue after a restart without a jump.`,
			[]string{"hilo prefix set NorthServer/ --identities", "hilo prefix set --tag A", "hilo prefix get"},
			"1 failed or interrupted", "3 Redis unavailable", "4 refused by a rule", "5 a check found a fault"),
		Action: base.HelpCommand("prefix").Action,
		Subcommands: []*cli.Command{
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
		Usage:       "show the prefix, the tag, the home of identities and durability",
		UsageText:   "hilo prefix get",
		Description: base.Describe("Shows the server's prefix and node tag, whether it is the home of identities, and\nwhether it states that it is durable.", []string{"hilo prefix get --output json"}, "1 failed or interrupted", "3 Redis unavailable"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return serverPrefix{Session: r.Session(), target: r.Target()}
		}),
	}
}

func setCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "set the prefix, the tag, the home of identities, or durability",
		UsageText: "hilo prefix set [PREFIX] [--tag TAG] [--identities] [--durable always]",
		Description: base.Describe(`
Sets what is named and keeps what is not. An empty PREFIX or TAG takes it away.
The prefix carries its own slash: nothing is put between it and the number.

With --identities the server is the home of identities, as one of several masters has
to be; --identities=false ends that. To move them, end it at the old home first; then
seed the new one with hilo identity seed, above all that the old one issued; then set it
there. Where one server was alone before, without prefix and tag, and becomes one of
several, it is to be the home: it has the record of numbers issued bare.

--durable always states three things: appendonly is yes, appendfsync always and
no-appendfsync-on-rewrite no; the data is nowhere else, so there are no replicas and no
copy or backup is started in its place; and the server is started from its own newest
files only. Counters then continue after a restart where they were. It is refused where
settings or replicas contradict it, and waits for a rewrite of the AOF, up to --timeout;
--yes answers for settings that this user may not see. Counters of before a restart jump
once. When the servers' scripts see that it is not true they remove it. --durable=
takes it back.

A change is confirmed by all connected replicas, or else the exit code is 1.`,
			[]string{
				"hilo prefix set NorthServer/ --identities", "hilo prefix set --tag A", "hilo prefix set --identities=false",
				`hilo prefix set SouthServer/ --tag ""`, "hilo prefix set --durable always",
			},
			"1 failed, interrupted, or not confirmed", "3 Redis unavailable", "4 refused by a rule"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tag", Usage: "node `TAG`, 1 to 8 letters and digits, a letter first"},
			&cli.BoolFlag{Name: flagIdentities, Usage: "it is the home of identities"},
			&cli.GenericFlag{
				Name: flagDurable, Usage: "whether it keeps every write and its data is nowhere else, as `WORD`",
				Value: base.Choice("", prefix.DurableAlways, ""),
			},
			&cli.BoolFlag{Name: "yes", Usage: "with --durable: settings that cannot be seen are as they must be"},
		},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			s := serverPrefix{Session: r.Session(), target: r.Target(), yes: r.Bool("yes")}
			named := prefix.Server{NodeTag: r.String("tag"), Identities: r.Bool(flagIdentities), Durable: r.String(flagDurable)}
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
			s.all = len(s.changes) == 3
			s.keeps = !r.IsSet(flagDurable)
			if r.IsSet(flagDurable) {
				s.changes = append(s.changes, func(now *prefix.Server) { now.Durable = named.Durable })
			}
			if len(s.changes) == 0 {
				r.Failf("%s needs a PREFIX, a --tag, --identities, --durable, or some of them; usage: %s", r.FullName(), r.Command.UsageText)
			}
			if s.yes && named.Durable == "" {
				r.Failf("--yes goes with --durable always only; %s", r.Help())
			}
			r.Fail(exit.Invalid(named.Validate(), "a prefix such as NorthServer/ and a tag such as A will do"))
			return s
		}),
	}
}

func clearCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:        "clear",
		Usage:       "remove the prefix, the tag, the home of identities and durability",
		UsageText:   "hilo prefix clear",
		Description: base.Describe("Removes the server's prefix and node tag, and its statements that it is the home of\nidentities and durable.", []string{"hilo prefix clear"}, "1 failed, interrupted, or not confirmed", "3 Redis unavailable", "4 refused by a rule"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			none := func(now *prefix.Server) { *now = prefix.Server{} }
			return serverPrefix{Session: r.Session(), target: r.Target(), changes: []func(*prefix.Server){none}, all: true}
		}),
	}
}

// Run applies the changes and shows the settings.
func (s serverPrefix) Run(ctx context.Context) error {
	var now prefix.Server
	err := base.Administer(ctx, s.Session, s.target, func(m *admin.Admin) (err error) {
		now, err = m.ServerPrefix(ctx)
		if s.all && errors.Is(err, allocator.ErrCorrupt) { // everything but Durable is replaced
			if err = nil; now.Durable != prefix.DurableAlways {
				now.Durable = ""
			}
		}
		if err != nil || s.changes == nil {
			return err
		}
		if s.yes {
			m = m.TrustSettings()
		}
		if s.keeps {
			m = m.KeepDurable()
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
		t.Add("durable:", cmp.Or(shown.Durable, "no"))
		return s.WriteTable(t)
	})
}

// showPrefix returns the settings of a server, with an example of its identifiers.
func showPrefix(g *base.Session, s prefix.Server) shownPrefix {
	example := prefix.ID{Collection: "orders", ServerPrefix: s.ServerPrefix, Number: 1, NodeTag: s.NodeTag}
	return shownPrefix{s.ServerPrefix, s.NodeTag, s.Identities, s.Durable, string(example.Append(nil, g.Separator))}
}

// home returns the home of identities, as the server reports it.
func home(s prefix.Server) string {
	switch {
	case s.Identities:
		return "here"
	case s.IsZero():
		return "here, as long as it is the only server"
	}
	return "elsewhere"
}

// prefixCheck is the command that compares the settings of several servers.
type prefixCheck struct {
	*base.Session
	targets []target.Target
}

// comparison is its JSON output.
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
Shows what each server adds to identifiers, and whether two of them could issue the same:
each needs a prefix or tag of its own, and letter case makes no difference. One of several
is to be the home of identities. Servers that do not answer are named, and the others
compared.`,
			[]string{"hilo prefix check --redis north=redis://n:6379 --redis south=redis://s:6379"},
			"1 failed or interrupted", "3 a Redis unavailable", "5 two servers could issue the same identifier or identity"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return prefixCheck{Session: r.Session(), targets: r.Targets()}
		}),
	}
}

func (p prefixCheck) Run(ctx context.Context) error {
	shown := comparison{Servers: []comparedServer{}}
	var servers []finding.Server
	var down []string
	for _, t := range p.targets {
		var s prefix.Server
		err := base.Administer(ctx, p.Session, t, func(m *admin.Admin) (err error) {
			s, err = m.ServerPrefix(ctx)
			return err
		})
		switch {
		case err == nil || errors.Is(err, allocator.ErrCorrupt):
		case ctx.Err() != nil || exit.Code(err) != exit.Unavailable || len(p.targets) == 1:
			return err
		default:
			down = append(down, t.Name+": "+exit.Plain(err))
		}
		servers = append(servers, finding.Server{Name: t.Name, Settings: s, Err: err})
		if err == nil {
			shown.Servers = append(shown.Servers, comparedServer{t.Name, showPrefix(p.Session, s)})
		}
	}
	var unavailable error
	if len(down) > 0 {
		unavailable = &exit.Error{Code: exit.Unavailable, Text: strings.Join(down, "; ")}
	}
	if len(down) == len(p.targets) {
		return unavailable
	}
	shown.All = finding.Of(finding.ComparePrefixes(servers))
	err := p.Show(shown, func() error {
		t := term.Table{Head: []string{"SERVER", "PREFIX", "TAG", "IDENTITIES", "DURABLE", "IDENTIFIERS"}, Cut: []int{1, 5}}
		for _, s := range shown.Servers {
			t.Add(cmp.Or(s.Server, "none"), cmp.Or(s.Prefix, "none"), cmp.Or(s.Tag, "none"), homes[s.Identities], cmp.Or(s.Durable, "-"), s.Example)
		}
		if err := p.WriteTable(t); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout)
		return shown.Print(p.Stdout, p.Style(p.Stdout))
	})
	return cmp.Or(err, shown.Verdict(), unavailable)
}

// homes has the texts of the column with the home of identities.
var homes = map[bool]string{true: "here", false: "-"}
