package counters

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// setSettings is the command that changes settings, and shows all of them.
type setSettings struct {
	*base.Session
	target target.Target
	settingChanges
	clears bool // all but the interval
	yes    bool // without asking, and with conditions that cannot be seen
	agreed bool // the person was asked
}

// yesFlag returns the flag of commands that ask before they write.
func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagYes, Usage: "take yes for the answer, and trust what cannot be seen"}
}

func setCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "change settings of the server",
		UsageText: "hilo settings set " + settingsUsage,
		Description: base.Describe(`
Sets what is named and keeps what is not. An empty PREFIX or TAG takes it away. The prefix
carries its own slash. Where numbers were issued without prefix and tag it asks before it
sets one.

--identities makes the server the home of identities; exactly one of several is. To move
the home, end it at the old server with --identities=false, raise the new one with hilo
identity seed above every value that the old one issued, and set it there.

--durable requires one server with this appendfsync from the start, no-appendfsync-on-rewrite
no, and no replica, copy or backup that is ever started in its place. It is refused where
the server contradicts it.

--min-value and --max-value are the interval of all its numbers. The first may only rise,
and the second not fall below what a counter has reserved. --seeded-only refuses
collections that have no counter; =false makes them again.`,
			[]string{
				"hilo settings set NorthServer/ --identities", `hilo settings set SouthServer/ --tag ""`, "hilo settings set --durable everysec",
				"hilo settings set --min-value 1000000000001 --max-value 2000000000000",
			},
			"1 not confirmed by the replicas, or aborted"),
		Flags: settingsFlags(yesFlag()),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			s := &setSettings{Session: r.Session(), target: r.Target(), settingChanges: readSettings(r), yes: r.Bool(flagYes)}
			if len(s.each) == 0 {
				r.Failf("%s needs a PREFIX, a --tag, --identities, --durable, --min-value, --max-value, --seeded-only, or some of them; usage: %s",
					r.FullName(), r.Command.UsageText)
			}
			return s
		}),
	}
}

func clearCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "clear",
		Usage:     "remove the settings of the server, but for its interval",
		UsageText: "hilo settings clear [--yes]",
		Description: base.Describe(`
Removes the server's prefix, node tag, home of identities, Durable and --seeded-only. It
names what there is and asks, unless --yes. The server stays initialised, and keeps its
interval, which belongs to it for ever.`,
			[]string{"hilo settings clear", "hilo settings clear --yes"},
			"1 not confirmed by the replicas, or aborted"),
		Flags: base.OneServerFlags(yesFlag(), base.ReplicasNoneFlag()),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			none := func(now *prefix.Server) { *now = prefix.Server{MinValue: now.MinValue, MaxValue: now.MaxValue} }
			s := &setSettings{Session: r.Session(), target: r.Target(), clears: true, yes: r.Bool(flagYes)}
			s.each, s.whole, s.home, s.durable, s.newOnes = []func(*prefix.Server){none}, true, true, true, true
			return s
		}),
	}
}

// Run applies the changes and shows the settings.
func (s *setSettings) Run(ctx context.Context) error {
	var now prefix.Server
	err := base.Administer(ctx, s.Session, s.target, func(m *admin.Admin) error {
		if initialized, err := m.Initialized(ctx); err != nil || !initialized {
			if err == nil {
				err = noSettings("nothing was changed")
			}
			return err
		}
		m = m.With(admin.Mode{Trust: s.yes})
		return m.ChangeServerPrefix(ctx, func(read prefix.Server, corrupt error) (prefix.Server, error) {
			now = read
			if err := s.unusable(corrupt); err != nil {
				return now, err
			}
			s.apply(&now)
			return now, s.allowed(ctx, m, read, now, corrupt)
		})
	})
	if errors.Is(err, admin.ErrNotDurableServer) && !s.durable {
		err = exit.Refusedf("%s; or add --durable none, which takes that setting away", exit.Plain(err))
	}
	if err != nil {
		return err
	}
	return s.Show(showSettings(s.Session, now), func() error { return s.WriteTable(settingsTable(s.Session, now)) })
}

// unusable returns an error of stored settings, unless the changes replace those that are wrong.
func (s *setSettings) unusable(corrupt error) error {
	if corrupt == nil {
		return nil
	}
	replaced := map[string]bool{ // an interval is for ever, so a person corrects it
		"ServerPrefix": s.whole, "NodeTag": s.whole, "Identities": s.whole, "Durable": s.durable || s.whole, "NewCounters": s.newOnes || s.whole,
	}
	for line := range strings.SplitSeq(corrupt.Error(), "\n") {
		_, field, found := strings.Cut(line, " field ")
		field, _, _ = strings.Cut(field, " ")
		if found && !replaced[field] || !found && !s.whole { // without a field it is the prefix or the tag
			return corrupt
		}
	}
	return nil
}

// allowed returns why the settings may not become those of now, or nil. It asks the person where they have to know.
func (s *setSettings) allowed(ctx context.Context, m *admin.Admin, read, now prefix.Server, corrupt error) error {
	if corrupt == nil && isLone(read) && !s.home && !isLone(now) {
		if err := s.keepIdentities(ctx, m); err != nil {
			return err
		}
	}
	question, err := "", error(nil)
	switch {
	case s.yes || s.agreed:
		return nil
	case s.clears:
		if removed := removes(read); removed != "" {
			question = "This removes " + removed + "."
		}
	case read.IsZero() && !now.IsZero():
		question, err = s.changedTexts(ctx, m, now)
	}
	if question == "" || err != nil {
		return err
	}
	if err := s.ask(ctx, question); err != nil {
		return err
	}
	s.agreed = true
	return nil
}

// ask asks whether to go on with what text says.
func (s *setSettings) ask(ctx context.Context, text string) error {
	if !onTerminal(s.Session) {
		code := exit.Refused
		if s.clears { // which is to be agreed to in any case
			code = exit.Usage
		}
		return &exit.Error{Code: code, Text: text + " Nothing was written; --yes agrees to it"}
	}
	fmt.Fprintln(s.Stderr, text)
	agreed, err := base.Confirm(ctx, s.Session, "Go on?")
	if err == nil && !agreed {
		err = errAborted
	}
	return err
}

// onTerminal reports whether a person can be asked.
func onTerminal(g *base.Session) bool { return term.IsTerminal(g.Stdin) && term.IsTerminal(g.Stderr) }

var errAborted = &exit.Error{Code: exit.Failed, Text: "aborted; nothing was written"}

// removes lists what clear takes away, "" if there is nothing.
func removes(s prefix.Server) string {
	var all []string
	for _, one := range []struct {
		is   bool
		text string
	}{
		{s.ServerPrefix != "", "the prefix " + s.ServerPrefix}, {s.NodeTag != "", "the tag " + s.NodeTag},
		{s.Identities, "the home of identities"}, {s.Durable != "", "Durable " + s.Durable}, {s.SeededOnly, "seeded only"},
	} {
		if one.is {
			all = append(all, one.text)
		}
	}
	return strings.Join(all, ", ")
}

// changedTexts returns what a first prefix or tag changes at a server that issued numbers without them, or "".
func (s *setSettings) changedTexts(ctx context.Context, m *admin.Admin, now prefix.Server) (string, error) {
	for state, err := range m.With(admin.Mode{Filter: "*"}).States(ctx) {
		if fatal(err) {
			return "", err
		}
		if err != nil || !state.Bare {
			continue
		}
		text := func(server prefix.Server, number int64) string {
			id := prefix.ID{Collection: state.Name, ServerPrefix: server.ServerPrefix, Number: number, NodeTag: server.NodeTag}
			return string(id.Append(nil, s.Separator))
		}
		return fmt.Sprintf("The server issued %s without prefix and tag: every text that follows changes, as in %s.",
			text(prefix.Server{}, state.Max), text(now, state.Max+min(1, math.MaxInt64-state.Max))), nil
	}
	return "", nil
}

// isLone reports whether a server issues identities only because it is the only one.
func isLone(s prefix.Server) bool { return s.IsZero() && !s.HasInterval() && !s.Identities }

// keepIdentities returns an error if the server has identities. Without prefix and tag it issued them as the only server. With
// one it issues them only as their home.
func (*setSettings) keepIdentities(ctx context.Context, m *admin.Admin) error {
	for identity, err := range m.With(admin.Mode{Filter: "*"}).Identities(ctx) {
		if err != nil {
			return err
		}
		return exit.Refusedf("the server issues identities, such as %s, and with a prefix, tag or interval it does so only as their home: nothing was written; "+
			"add --identities to go on, or --identities=false to end them here", identity.Name)
	}
	return nil
}
