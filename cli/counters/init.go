package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// initialize is the command that makes the settings of a server that has none.
type initialize struct {
	*base.Session
	target target.Target
	settingChanges
	yes bool
}

// initialized is the JSON output.
type initialized struct {
	shownSettings
	Restart string   `json:"restart"` // what a restart costs
	Notes   []string `json:"notes"`   // what else was found, and what to do
}

// InitCommand returns hilo init.
func InitCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "make the settings of a new server, once",
		UsageText: "hilo init " + settingsUsage,
		Description: base.Describe(`
Once for each server that is new. A server without settings makes no counters, since only
a person can tell whether it is new or lost its data. Never run this in a job that
repeats: after a loss its numbers would begin at 1 again. After a loss: hilo help recover.

It says what a restart will cost. A single server with an append-only file becomes
durable, unless --durable none: each restart then skips few numbers, and repeats none. A
server with replicas, of Sentinel or of a cluster, skips more at each restart and failover.

On a terminal it asks whether the server is new; elsewhere --yes says so. Counters without
settings are those of hilo 0.1, or the settings were deleted: it names them and takes
--yes. Name the prefix, tag, home and interval that they had. hilo settings set --help
explains the flags.`,
			[]string{"hilo init", "hilo init NorthServer/ --identities", "hilo init --min-value 1000000000001 --yes"},
			"1 not confirmed by the replicas, or aborted", "4 the server has settings, or refused by a rule"),
		Flags: settingsFlags(yesFlag()),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			return initialize{r.Session(), r.Target(), readSettings(r), r.Bool(flagYes)}
		}),
	}
}

func (i initialize) Run(ctx context.Context) error {
	var made prefix.Server
	shown := initialized{Notes: []string{}}
	err := base.AdministerWith(ctx, i.Session, i.target, func(client *target.Client, m *admin.Admin) error {
		if err := i.refuseSettings(ctx, m); err != nil {
			return err
		}
		found, err := i.counters(ctx, m)
		if err != nil {
			return err
		}
		server, err := i.look(ctx, client)
		if err != nil {
			return err
		}
		i.apply(&made)
		why := ""
		if !i.durable && server.alone() {
			if made.Durable, why, err = i.durability(ctx, m, server); err != nil {
				return err
			}
		}
		shown.Restart, shown.Notes = server.costs(made.Durable, why)
		if found != "" {
			shown.Notes = append(shown.Notes, found)
		}
		if err := i.agree(ctx, made, shown, found); err != nil {
			return err
		}
		m = m.With(admin.Mode{Trust: i.yes})
		return m.Init(ctx, made)
	})
	if err != nil {
		return err
	}
	shown.shownSettings = showSettings(i.Session, made)
	return i.Show(shown, func() error {
		if err := i.WriteTable(settingsTable(i.Session, made)); err != nil {
			return err
		}
		return i.Prosef("\n%s\n", shown.text())
	})
}

// text returns the sentences about the server.
func (s initialized) text() string {
	return strings.Join(append([]string{sentence(s.Restart)}, mapped(s.Notes, sentence)...), "\n")
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

func mapped(all []string, by func(string) string) []string {
	to := make([]string, len(all))
	for i, one := range all {
		to[i] = by(one)
	}
	return to
}

// refuseSettings returns an error where there are settings.
func (i initialize) refuseSettings(ctx context.Context, m *admin.Admin) error {
	there, err := m.Initialized(ctx)
	if err != nil || !there {
		return err
	}
	now, err := m.ServerPrefix(ctx)
	if fatal(err) {
		return err
	}
	stands := inWords(i.Session, now)
	if err != nil {
		stands = exit.Plain(err)
	}
	return &exit.Error{
		Code: exit.Refused, Cause: admin.ErrInitialized,
		Text: "the server has settings already: " + stands + "; nothing was written; hilo settings set changes them",
	}
}

// inWords returns settings in one line.
func inWords(g *base.Session, s prefix.Server) string {
	all := []string{"prefix " + cmp.Or(s.ServerPrefix, "none"), "tag " + cmp.Or(s.NodeTag, "none")}
	if s.Identities {
		all = append(all, "home of identities")
	}
	if s.Durable != "" {
		all = append(all, "durable "+s.Durable)
	}
	if s.HasInterval() {
		all = append(all, "numbers "+interval(g, s))
	}
	if s.SeededOnly {
		all = append(all, "seeded only")
	}
	return strings.Join(all, ", ")
}

// counters returns a sentence about counters that stand without settings, or "" if there are none.
func (i initialize) counters(ctx context.Context, m *admin.Admin) (string, error) {
	for state, err := range m.States(ctx) {
		if fatal(err) {
			return "", err
		}
		what := "one that cannot be read (" + exit.Plain(cmp.Or(err, errors.New(""))) + ")"
		if err == nil {
			what = i.Style(i.Stdout).Sprintf("%s, which stands at %d", spoken(&state), state.Max)
		}
		return "counters stand here without settings, such as " + what + ": hilo 0.1 made them, or the settings were deleted; " +
			"name the prefix, tag, home of identities and interval that the server had", nil
	}
	return "", nil
}

// spoken returns the kind and the name of a counter in words.
func spoken(s *admin.State) string {
	switch s.Kind {
	case admin.KindIdentity:
		return "identity " + s.Name
	case admin.KindServerSide:
		return "that of server-side identifiers"
	default:
		return "collection " + s.Name
	}
}

// agree waits until the person states that the server is new.
func (i initialize) agree(ctx context.Context, made prefix.Server, shown initialized, found string) error {
	switch {
	case i.yes:
		return nil
	case !onTerminal(i.Session):
		text := "hilo init states that the server is new"
		if found != "" {
			text = found
		}
		return exit.Usagef("%s: nothing was written; --yes says that this is so, never in a job that repeats; after a loss: hilo help recover", text)
	}
	fmt.Fprintf(i.Stderr, "The server at %s gets these settings: %s.\n%s\n\n", i.target.Addr, inWords(i.Session, made), shown.text())
	question := "Is this server new, so that it never issued an identifier?"
	if found != "" {
		question = "Are these the settings that it had?"
	}
	agreed, err := base.Confirm(ctx, i.Session, question)
	if err == nil && !agreed {
		err = &exit.Error{Code: exit.Failed, Text: "aborted; nothing was written; if the server lost its data: hilo help recover"}
	}
	return err
}

// serverKind is what decides what a restart of a server costs.
type serverKind struct {
	info, config map[string]string
	replicated   bool // by Sentinel, a cluster, or replicas
}

// look reads the state of the server that has the namespace. What this user may not read stays unknown.
func (i initialize) look(ctx context.Context, client *target.Client) (s serverKind, err error) {
	s.replicated = i.target.HasSentinels() || i.target.IsCluster()
	node, err := client.Holder(ctx, prefix.NewKeys(i.Namespace).Server())
	if err != nil {
		return s, exit.OfRedis(err)
	}
	if s.info, err = node.Info(ctx); err != nil && !target.Answered(err) {
		return s, exit.OfRedis(err)
	}
	if s.config, err = node.Settings(ctx); err != nil {
		return s, exit.OfRedis(err)
	}
	s.replicated = s.replicated || s.info["cluster_enabled"] == "1" || cmp.Or(s.info["connected_slaves"], "0") != "0"
	return s, nil
}

func (s serverKind) facts() info.Facts { return info.Facts{Info: s.info, Config: s.config} }

// alone reports whether the server is one with an append-only file.
func (s serverKind) alone() bool { return !s.replicated && s.facts().AppendOnly() == "yes" }

// durability returns the value of Durable that the server keeps, or why it keeps none.
func (initialize) durability(ctx context.Context, m *admin.Admin, s serverKind) (durable, why string, err error) {
	durable = prefix.DurableEverysec
	if s.config["appendfsync"] == prefix.DurableAlways {
		durable = prefix.DurableAlways
	}
	switch err := m.CheckDurable(ctx, durable); {
	case err == nil:
		return durable, "", nil
	case errors.Is(err, admin.ErrNotDurableServer):
		_, why, _ = strings.Cut(exit.Plain(err), admin.ErrNotDurableServer.Error()+": ")
		return "", why, nil
	case errors.Is(err, admin.ErrSettingsUnknown):
		_, why, _ = strings.Cut(exit.Plain(err), admin.ErrSettingsUnknown.Error()+": ")
		return "", "this user may not see " + why + ", so look yourself, and add --yes", nil
	default:
		return "", "", err
	}
}

// costs returns what a restart of the server costs, and notes about it. why is the reason why a single server with an append-only
// file is not durable, "" if it is or if that was not wanted.
func (s serverKind) costs(durable, why string) (restart string, notes []string) {
	const (
		some = "skips 65,536 to 4.3 million numbers of a counter that issues fewer than 270 a second"
		more = "a restart skips 1.0 to 5.2 million numbers of a counter that issues fewer than 270 a second"
		set  = "hilo settings set --durable everysec"
		aof  = "switch the append-only file on: CONFIG SET appendonly yes, also in its configuration file; then " + set
	)
	notes = []string{}
	switch {
	case durable != "":
		restart = "a restart skips fewer than 200 numbers of a counter that issues fewer than 64 in half an hour, and at most what four hours issue of a faster one"
		notes = append(notes, "it is durable as long as it has no replica, and no copy or backup is ever started in its place")
		if durable == prefix.DurableEverysec {
			notes = append(notes, "the first identifier of a counter takes 1.5 seconds, until the reserve is on disk")
		}
	case s.replicated:
		restart = "a restart or failover " + some
		notes = append(notes, "where that is too much: several masters with a server prefix each, every one a single server with an append-only file, in place of replicas")
		if s.facts().AppendOnly() == "no" {
			notes = append(notes, "it has no append-only file: a crash of all servers at once loses what was written since the newest snapshot; CONFIG SET appendonly yes, also in the configuration files")
		}
	case s.alone() && why != "":
		restart = "a restart " + some
		notes = append(notes, "it is not durable: "+why+"; then "+set)
	case s.alone():
		restart = "a restart " + some
		notes = append(notes, "where that is too much: "+set)
	case s.facts().AppendOnly() == "" || s.config == nil:
		restart = "a restart " + some + ", and 1.0 to 5.2 million without an append-only file"
		notes = append(notes, "whether it has an append-only file cannot be seen; with one, and without replicas: hilo settings set --durable everysec --yes")
	default:
		restart = more
		lost := "it has no append-only file: a crash loses what was written since the newest snapshot, and after more than an hour numbers could be issued again"
		if points, known := s.config["save"]; known && points == "" {
			restart = "a restart empties the server, which then issues nothing until hilo help recover is followed"
			lost = "it has neither an append-only file nor snapshots"
		}
		notes = append(notes, lost, aof)
	}
	return restart, notes
}
