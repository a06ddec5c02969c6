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
	flagTag        = "tag"
	flagIdentities = "identities"
	flagDurable    = "durable"
	flagMinValue   = "min-value"
	flagMaxValue   = "max-value"
	flagSeededOnly = "seeded-only"
	flagYes        = "yes"
)

// durableNone is the value of --durable that takes the setting away.
const durableNone = "none"

const settingsUsage = "[PREFIX] [FLAGS]"

// shownSettings is the JSON of the settings of a server.
type shownSettings struct {
	Initialized bool   `json:"initialized"` // the server has settings
	Prefix      string `json:"prefix"`
	Tag         string `json:"tag"`
	Identities  bool   `json:"identities"`         // the server reports that it is their home
	Durable     string `json:"durable"`            // everysec, always or empty
	MinValue    int64  `json:"minValue,omitempty"` // missing if none
	MaxValue    int64  `json:"maxValue,omitempty"` // missing if none
	SeededOnly  bool   `json:"seededOnly"`         // the server makes no counters
	Example     string `json:"example"`
}

// SettingsCommand returns hilo settings, with its subcommands.
func SettingsCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "settings",
		Aliases:   []string{"prefix"},
		Usage:     "show or change what a server adds and states",
		UsageText: "hilo settings get | set " + settingsUsage + " | clear | check",
		Description: base.Describe(`
What is true of a server for all its clients is set at the server, once. hilo init makes
its settings. A change applies to ranges that are issued from then on.

A server may add a prefix before the number (orders/NorthServer/1) and a node tag behind
it (orders/1-A), so that no two servers ever issue the same identifier. Where identifiers
have to be plain numbers, each server has an interval of its own instead.

Identities (companies/1) have neither prefix nor tag, so all come from one server, their
home. A server without prefix, tag and interval is the only one, and need not say so.

A durable server has an append-only file and no replica. Its counters continue after a
restart with a small gap.

hilo prefix is the same command.`,
			[]string{"hilo settings get", "hilo settings set NorthServer/ --identities", "hilo settings set --durable everysec"}),
		Action: base.HelpCommand("settings").Action,
		Subcommands: []*cli.Command{
			getCommand(env),
			setCommand(env),
			clearCommand(env),
			checkCommand(env),
			base.HelpCommand("settings"),
		},
	}
}

// getSettings is the command that shows the settings.
type getSettings struct {
	*base.Session
	target target.Target
}

func getCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "get",
		Usage:     "show the settings of the server",
		UsageText: "hilo settings get",
		Description: base.Describe(`
Shows the server's prefix and node tag, whether it is the home of identities, whether it
is durable, the interval of its numbers, and whether it makes counters.`,
			[]string{"hilo settings get --output json"}),
		Flags: base.OneServerFlags(),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return getSettings{r.Session(), r.Target()}
		}),
	}
}

func (s getSettings) Run(ctx context.Context) error {
	var now prefix.Server
	var initialized bool
	err := base.Administer(ctx, s.Session, s.target, func(m *admin.Admin) (err error) {
		if initialized, err = m.Initialized(ctx); err == nil {
			now, err = m.ServerPrefix(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	shown := showSettings(s.Session, now)
	if shown.Initialized = initialized; !initialized {
		fmt.Fprintln(s.Stderr, "hilo: the server has no settings, so it makes no counters; if it is new: hilo init; if it lost its data: hilo help recover")
	}
	return s.Show(shown, func() error {
		t := settingsTable(s.Session, now)
		if !initialized {
			t = term.Table{}
			t.Add("settings:", "none")
		}
		return s.WriteTable(t)
	})
}

// settingsTable returns the settings of a server as rows of text.
func settingsTable(g *base.Session, s prefix.Server) (t term.Table) {
	shown := showSettings(g, s)
	t.Add("prefix:", cmp.Or(shown.Prefix, "none"))
	t.Add("tag:", cmp.Or(shown.Tag, "none"))
	t.Add("identifiers:", shown.Example)
	t.Add("identities:", home(s))
	t.Add("durable:", cmp.Or(shown.Durable, "no"))
	t.Add("numbers:", interval(g, s))
	t.Add("new counters:", newCounters(s))
	return t
}

// showSettings returns the settings of a server that has some, with an example of its identifiers.
func showSettings(g *base.Session, s prefix.Server) shownSettings {
	return shownSettings{true, s.ServerPrefix, s.NodeTag, s.Identities, s.Durable, s.MinValue, s.MaxValue, s.SeededOnly, example(g, s)}
}

// example returns the first identifier of a server.
func example(g *base.Session, s prefix.Server) string {
	low, _ := s.Interval()
	id := prefix.ID{Collection: base.DefaultCollection, ServerPrefix: s.ServerPrefix, Number: low, NodeTag: s.NodeTag}
	return string(id.Append(nil, g.Separator))
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

func newCounters(s prefix.Server) string {
	if s.SeededOnly {
		return "seeded only"
	}
	return "made when needed"
}

// settingsFlags returns own, preceded by the flags that readSettings reads.
func settingsFlags(own ...cli.Flag) []cli.Flag {
	return base.OneServerFlags(append([]cli.Flag{
		&cli.StringFlag{Name: flagTag, Usage: "node `TAG`, 1 to 8 letters and digits, a letter first"},
		&cli.BoolFlag{Name: flagIdentities, Usage: "it is the home of identities"},
		&cli.GenericFlag{Name: flagDurable, Usage: "`MODE` of Durable", Value: base.Choice("", prefix.DurableEverysec, prefix.DurableAlways, durableNone)},
		&cli.GenericFlag{Name: flagMinValue, Usage: "the least number to issue is `N`, 0 for none", Value: base.Count("", 0)},
		&cli.GenericFlag{Name: flagMaxValue, Usage: "the greatest number to issue is `N`, 0 for none", Value: base.Count("", 0)},
		&cli.BoolFlag{Name: flagSeededOnly, Usage: "it makes no counters: each has to be seeded"},
		base.ReplicasNoneFlag(),
	}, own...)...)
}

// settingChanges are the changes of settings that a command line names.
type settingChanges struct {
	each          []func(*prefix.Server)
	named         prefix.Server // the new values
	whole         bool          // prefix, tag and home are named
	home, durable bool          // the home of identities, or durability, is named
	newOnes       bool          // seededOnly is named
}

// readSettings reads PREFIX and the flags of settingsFlags.
func readSettings(r *base.Reader) (c settingChanges) {
	change := func(isNamed bool, set func(*prefix.Server)) {
		if isNamed {
			set(&c.named)
			c.each = append(c.each, set)
		}
	}
	c.home, c.durable, c.newOnes = r.IsSet(flagIdentities), r.IsSet(flagDurable), r.IsSet(flagSeededOnly)
	change(r.Args().Present(), func(now *prefix.Server) { now.ServerPrefix = r.Arguments("PREFIX")[0] })
	change(r.IsSet(flagTag), func(now *prefix.Server) { now.NodeTag = r.String(flagTag) })
	change(c.home, func(now *prefix.Server) { now.Identities = r.Bool(flagIdentities) })
	c.whole = len(c.each) == 3
	change(c.durable, func(now *prefix.Server) {
		if now.Durable = r.String(flagDurable); now.Durable == durableNone {
			now.Durable = ""
		}
	})
	change(r.IsSet(flagMinValue), func(now *prefix.Server) { now.MinValue = r.Number(flagMinValue) })
	change(r.IsSet(flagMaxValue), func(now *prefix.Server) { now.MaxValue = r.Number(flagMaxValue) })
	change(c.newOnes, func(now *prefix.Server) { now.SeededOnly = r.Bool(flagSeededOnly) })
	if c.named.MaxValue != 0 && c.named.MaxValue < c.named.MinValue {
		r.Failf("--max-value %d is below --min-value %d; %s", c.named.MaxValue, c.named.MinValue, r.Help())
	}
	r.Fail(exit.Invalid(prefix.Server{ServerPrefix: c.named.ServerPrefix}.Validate(), "choose one such as NorthServer/"))
	r.Fail(exit.Invalid(prefix.Server{NodeTag: c.named.NodeTag}.Validate(), "choose one such as A"))
	return c
}

// apply makes the changes.
func (c settingChanges) apply(now *prefix.Server) {
	for _, change := range c.each {
		change(now)
	}
}
