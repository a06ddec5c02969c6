package counters

import (
	"cmp"
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

const (
	flagIdentities = "identities"
	flagDurable    = "durable"
	flagMinValue   = "min-value"
	flagMaxValue   = "max-value"
	flagLimit      = "limit"
)

// serverPrefix is the command that applies changes, if any, to the server's settings and shows them.
type serverPrefix struct {
	*base.Session
	target  target.Target
	changes []func(*prefix.Server)
	all     bool  // prefix, tag and home change, so the present ones need not be valid
	yes     bool  // trust the settings that cannot be read, and conditions that cannot be seen
	keeps   bool  // leave Durable as it is, because it is not named
	limit   int64 // of counters that jump because of Durable
	home    bool  // the home of identities is named
}

type shownPrefix struct {
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	Identities bool   `json:"identities"`         // the server reports that it is their home
	Durable    string `json:"durable"`            // always, replicas:N, or empty
	MinValue   int64  `json:"minValue,omitempty"` // missing if none
	MaxValue   int64  `json:"maxValue,omitempty"` // missing if none
	Example    string `json:"example"`
}

// PrefixCommand returns hilo prefix, with its subcommands.
func PrefixCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "prefix",
		Usage:     "show or set the prefix and the other settings of the server",
		UsageText: "hilo prefix get | set [PREFIX] [--tag TAG] [--identities] [--durable WORD] [--min-value N] [--max-value N] | clear | check",
		Description: base.Describe(`
A server may add a prefix before the number (orders/NorthServer/1) and a node tag
behind it (orders/1-A), so that no two servers ever issue the same identifier. Where
identifiers have to be plain numbers, each server has an interval of its own instead:
--max-value 1000000000000 at one, and --min-value 1000000000001 at the other.
A change applies to ranges that are issued from then on.

Identities (companies/1) have neither prefix nor tag, so all come from one server, their
home, which reports that. A server with neither, and without an interval, is the only one,
and need not report it.

What is true of a server's writes is stated at the server too. With --durable always it
keeps every write, and its counters continue after a restart without a jump. With
--durable replicas:N every client waits for N replicas before it uses a number, and
counters continue after a failover with a small jump.`,
			[]string{"hilo prefix set NorthServer/ --identities", "hilo prefix set --tag A", "hilo prefix set --durable replicas:1", "hilo prefix get"},
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
		Usage:       "show the settings of the server",
		UsageText:   "hilo prefix get",
		Description: base.Describe("Shows the server's prefix and node tag, whether it is the home of identities, what it\nstates of its writes, and the interval of its numbers.", []string{"hilo prefix get --output json"}, "1 failed or interrupted", "3 Redis unavailable"),
		Flags:       base.OneServerFlags(),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return serverPrefix{Session: r.Session(), target: r.Target()}
		}),
	}
}

func setCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "set the prefix, the tag, the home of identities, durability, or the interval",
		UsageText: "hilo prefix set [PREFIX] [--tag TAG] [--identities] [--durable WORD] [--min-value N] [--max-value N]",
		Description: base.Describe(`
Sets what is named and keeps what is not. An empty PREFIX or TAG takes it away.
The prefix carries its own slash: nothing is put between it and the number.

With --identities the server becomes the home of identities, as exactly one of several
masters has to be; --identities=false ends that. To move the home, end it at the old
server, seed the new one with hilo identity seed above every value that the old one
issued, and set it there. If a server that issued numbers without prefix and tag becomes
one of several, make it the home: only its counters record those numbers. The first
prefix, tag or interval of a server that has identities requires one of the two flags.

--durable always states three things: appendonly is yes, appendfsync always and
no-appendfsync-on-rewrite no; the data is nowhere else, so there are no replicas and no
copy or backup is started in its place; and the server is started from its own newest
files only. Counters then continue after a restart where they were. It is refused where
settings or replicas contradict it, and waits for a rewrite of the AOF, up to --timeout;
--yes answers for settings that this user may not see. Counters of before a restart jump
once. When the servers' scripts see that it is not true they remove it. --durable=
takes it back.

--durable replicas:N states that any server that is promoted has every write that N
replicas acknowledged. Every client then waits for N before it uses a number, so that
after a failover counters continue a little further, and not by thousands. N of N
replicas is sound under any partition, and issues nothing new while one is down. N below
their number, such as 1 of 2, requires equal replica-priority, none of it 0, and a
sentinel beside each server; then one node at a time may fail. It is refused while fewer
than N replicas are connected. While fewer are connected than were then, --durable= and
a lower N require --yes: a replica that is away keeps the word, and has to be
synchronized before it is ever promoted.

Before Durable is set, counters of before a restart or a failover jump past one gap.
--limit is the greatest number that your allocators issue: a counter without room for
the gap is raised to it, issues nothing more, and is named.

--min-value and --max-value are the interval of all numbers that the server issues, of
collections, identities and server-side identifiers; 0 is none. It belongs to the server
for ever: the first may only rise, and the second not fall below a counter. A server
that was emptied gets a part that was never used. Server-side identifiers end at
999999999999999999, so a --min-value above that ends them. With fewer than 16,777,216
numbers it requires --yes, because a restart may cost each counter more than 65,536. Set
an interval, and replicas:N, after the last worker of version 0.1 has ended.

A change is confirmed by all connected replicas, or else the exit code is 1.`,
			[]string{
				"hilo prefix set NorthServer/ --identities", "hilo prefix set --tag A", "hilo prefix set --identities=false",
				`hilo prefix set SouthServer/ --tag ""`, "hilo prefix set --durable always", "hilo prefix set --durable replicas:1",
				"hilo prefix set --min-value 1000000000001 --max-value 2000000000000",
			},
			"1 failed, interrupted, or not confirmed", "3 Redis unavailable", "4 refused by a rule"),
		Flags: base.OneServerFlags(
			&cli.StringFlag{Name: "tag", Usage: "node `TAG`, 1 to 8 letters and digits, a letter first"},
			&cli.BoolFlag{Name: flagIdentities, Usage: "it is the home of identities"},
			&cli.StringFlag{Name: flagDurable, Usage: "what is true of its writes, as `WORD`: always, replicas:N, or nothing"},
			&cli.GenericFlag{Name: flagMinValue, Usage: "`N` is the least number that it issues, 0 for none", Value: base.Count("", 0)},
			&cli.GenericFlag{Name: flagMaxValue, Usage: "`N` is the greatest number that it issues, 0 for none", Value: base.Count("", 0)},
			&cli.GenericFlag{Name: flagLimit, Usage: "with --durable: `N` is the greatest number that your allocators issue", Value: base.Count("", 1), DefaultText: "2^63-1"},
			&cli.BoolFlag{Name: "yes", Usage: "what cannot be seen is as it must be"},
			base.ReplicasNoneFlag(),
		),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			s := serverPrefix{
				Session: r.Session(), target: r.Target(), yes: r.Bool("yes"), limit: r.Number(flagLimit),
				home: r.IsSet(flagIdentities), keeps: !r.IsSet(flagDurable),
			}
			var named prefix.Server
			change := func(isNamed bool, set func(*prefix.Server)) {
				if isNamed {
					set(&named)
					s.changes = append(s.changes, set)
				}
			}
			change(r.Args().Present(), func(now *prefix.Server) { now.ServerPrefix = r.Arguments("PREFIX")[0] })
			change(r.IsSet("tag"), func(now *prefix.Server) { now.NodeTag = r.String("tag") })
			change(s.home, func(now *prefix.Server) { now.Identities = r.Bool(flagIdentities) })
			s.all = len(s.changes) == 3
			change(!s.keeps, func(now *prefix.Server) { now.Durable = r.String(flagDurable) })
			change(r.IsSet(flagMinValue), func(now *prefix.Server) { now.MinValue = r.Number(flagMinValue) })
			change(r.IsSet(flagMaxValue), func(now *prefix.Server) { now.MaxValue = r.Number(flagMaxValue) })
			if len(s.changes) == 0 {
				r.Failf("%s needs a PREFIX, a --tag, --identities, --durable, --min-value, --max-value, or some of them; usage: %s", r.FullName(), r.Command.UsageText)
			}
			if named.Durable != "" && named.Durable != prefix.DurableAlways && named.Replicas() == 0 {
				r.Failf("--durable is %q: must be always, replicas:N with N of 1 to 999, or empty", named.Durable)
			}
			if s.yes && s.keeps && !r.IsSet(flagMinValue) && !r.IsSet(flagMaxValue) {
				r.Failf("--yes goes with --durable, --min-value and --max-value only; %s", r.Help())
			}
			if r.IsSet(flagLimit) && named.Durable == "" {
				r.Failf("--limit goes with --durable always and replicas:N only; %s", r.Help())
			}
			if named.MaxValue != 0 && named.MaxValue < named.MinValue {
				r.Failf("--max-value %d is below --min-value %d; %s", named.MaxValue, named.MinValue, r.Help())
			}
			r.Fail(exit.Invalid(prefix.Server{ServerPrefix: named.ServerPrefix}.Validate(), "choose one such as NorthServer/"))
			r.Fail(exit.Invalid(prefix.Server{NodeTag: named.NodeTag}.Validate(), "choose one such as A"))
			return s
		}),
	}
}

func clearCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:        "clear",
		Usage:       "remove the prefix, the tag, the home of identities and durability",
		UsageText:   "hilo prefix clear [--yes]",
		Description: base.Describe("Removes the server's prefix and node tag, and its statements that it is the home of\nidentities and durable. An interval stays: it belongs to the server for ever.", []string{"hilo prefix clear"}, "1 failed, interrupted, or not confirmed", "3 Redis unavailable", "4 refused by a rule"),
		Flags:       base.OneServerFlags(&cli.BoolFlag{Name: "yes", Usage: "what cannot be seen is as it must be"}, base.ReplicasNoneFlag()),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			none := func(now *prefix.Server) { *now = prefix.Server{MinValue: now.MinValue, MaxValue: now.MaxValue} }
			return serverPrefix{Session: r.Session(), target: r.Target(), changes: []func(*prefix.Server){none}, all: true, yes: r.Bool("yes")}
		}),
	}
}

// Run applies the changes and shows the settings.
func (s serverPrefix) Run(ctx context.Context) error {
	var now prefix.Server
	err := base.Administer(ctx, s.Session, s.target, func(m *admin.Admin) (err error) {
		if s.changes == nil {
			now, err = m.ServerPrefix(ctx)
			return err
		}
		if s.yes {
			m = m.TrustSettings()
		}
		if s.keeps {
			m = m.KeepDurable()
		}
		if s.limit > 0 {
			m = m.WithLimit(s.limit, func(k admin.Kind, name string, limit int64) {
				fmt.Fprintf(s.Stderr, "hilo: %s %s has no room for the gap and stands at %d now: it issues nothing more\n", k, name, limit)
			})
		}
		return m.ChangeServerPrefix(ctx, func(read prefix.Server, corrupt error) (prefix.Server, error) {
			now, err = read, corrupt
			if s.all { // everything but Durable and the interval is replaced
				err = nil
				if now.Durable != prefix.DurableAlways && now.Replicas() == 0 {
					now.Durable = ""
				}
			}
			lone := isLone(now)
			for _, change := range s.changes {
				change(&now)
			}
			if err == nil && lone && !s.home && (!now.IsZero() || now.HasInterval()) {
				err = s.keepIdentities(ctx, m)
			}
			return now, err
		})
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
		t.Add("numbers:", interval(s.Session, now))
		return s.WriteTable(t)
	})
}

// isLone reports whether a server issues identities only because it is the only one.
func isLone(s prefix.Server) bool { return s.IsZero() && !s.HasInterval() && !s.Identities }

// keepIdentities returns an error if the server has identities. Without prefix and tag it issued them as the only server. With
// one it issues them only as their home.
func (serverPrefix) keepIdentities(ctx context.Context, m *admin.Admin) error {
	for identity, err := range m.WithFilter("*").Identities(ctx) {
		if err != nil {
			return err
		}
		return exit.Refusedf("the server issues identities, such as %s, and with a prefix or tag it does so only as their home: nothing was written; "+
			"add --identities to go on, or --identities=false to end them here", identity.Name)
	}
	return nil
}

// showPrefix returns the settings of a server, with an example of its identifiers.
func showPrefix(g *base.Session, s prefix.Server) shownPrefix {
	low, _ := s.Interval()
	example := prefix.ID{Collection: "orders", ServerPrefix: s.ServerPrefix, Number: low, NodeTag: s.NodeTag}
	return shownPrefix{s.ServerPrefix, s.NodeTag, s.Identities, s.Durable, s.MinValue, s.MaxValue, string(example.Append(nil, g.Separator))}
}

// interval returns the interval of a server in words.
func interval(g *base.Session, s prefix.Server) string {
	if !s.HasInterval() {
		return "all"
	}
	low, high := s.Interval()
	return g.Style(g.Stdout).Sprintf("%d to %d", low, high)
}

// home returns the home of identities, as the server reports it.
func home(s prefix.Server) string {
	switch {
	case s.Identities:
		return "here"
	case s.IsZero() && !s.HasInterval():
		return "here, as long as it is the only server"
	}
	return "elsewhere"
}
