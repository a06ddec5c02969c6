// Package show has the commands that show hilo at work: top, which shows servers and counters live; demo, a fleet on two
// masters, one of which is lost; and dev, a server to try things out with. The latter two need nothing installed. It exports
// its commands and nothing else.
//
// A looker of top reads a server; state is the sum of the looks; screen is what is shown of it. The latter two do no I/O.
package show

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/urfave/cli/v2"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/cli/internal/web"
)

// top watches servers and their counters, on a screen or in lines.
type top struct {
	*base.Session
	targets  []target.Target
	Interval time.Duration
	Count    int64 // snapshots to print; 0: on and on
	Sort     string
	Filter   string
	Limit    int64       // greatest number that is issued
	web      *web.Server // nil unless the view is a web page
}

// leastInterval keeps what is only watching from being work for a server.
const leastInterval = 100 * time.Millisecond

// TopCommand is hilo top.
func TopCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "watch servers and counters live",
		UsageText: "hilo top [--interval D] [--sort KEY] [--filter TEXT] [--count N | --listen ADDR]",
		Description: base.Describe(`
Shows each server with its role and health, and each collection with its Max, the
rate over the last minute, ranges, epoch, and the time left, at that rate, until
Max is past 2^31-1 (32-bit integers), 2^53-1 (JavaScript) and --limit, 2^63-1. The name
of an identity ends in |. Counters that jumped after lost writes since top began, or
have little headroom (90 % used, or less than a week left), are on top unless another
order is chosen; jumps are listed below, too. A server that is away is shown as down, and comes back by itself.
A – stands for none, or not known: a counter that stands still has no time left.

Keys: s sorts by the next column, r the other way round, / filters by name, Esc
shows all again, b shows headroom as time, numbers left or share used, p pauses,
arrows and Page Up and Down scroll, ? helps, q quits.

Several servers, as --redis NAME=URL each, are watched side by side, each by itself.
It only reads, in short steps (SCAN, HMGET), and for at most a fifth of
the time: with a great many keys looks are further apart than --interval. The rights
+info +scan +hmget do; +config|get adds what CONFIG has of persistence.

With --listen it is a web page for any number of browsers, and the first line on stdout
is its URL. /state is what --output json prints, /events the same as server-sent events,
one for each look: first all, then what changed.

Where stdout or stdin is no terminal, or with --count, it prints a snapshot after
each interval, and --output json one in all; with --count N and json, a value a line.`+web.AboutAccess+` A browser
sends a token as the password of any user, or as ?token=TOKEN once for a cookie.`,
			[]string{
				"hilo top",
				"hilo top --redis north=redis://10.0.0.1 --redis south=redis://10.0.0.2",
				"hilo top --output json --interval 10s",
				"hilo top --sort left --filter order --count 3",
				"hilo top --listen 127.0.0.1:8081",
			},
			"1 failed or interrupted", "3 Redis unavailable: with --count, no server answered at the last look"),
		Flags: web.Flags(
			&cli.GenericFlag{Usage: "show a web page at `ADDR`; port 0 picks one", Value: base.Address("")},
			&cli.GenericFlag{Name: "interval", Usage: "look every `D`, 100ms or more", Value: base.Duration("1s", leastInterval)},
			&cli.GenericFlag{Name: "sort", Usage: "sort by `KEY`", Value: base.Choice(sorts[0], sorts...)},
			&cli.StringFlag{Name: "filter", Usage: "only collections with `TEXT` in their name"},
			&cli.GenericFlag{Name: "limit", Usage: "`N` is the greatest number that your allocators issue", Value: base.Number("", 1, math.MaxInt64), DefaultText: "2^63-1"},
			&cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "print `N` snapshots, then end", Value: base.Count("", 1), DefaultText: "no end, 1 with json"},
		),
		Action: base.Action(env, readTop),
	}
}

// readTop reads all flags.
func readTop(r *base.Reader) base.Runner {
	r.Arguments()
	r.Own = "top"
	t := top{Session: r.Session(), targets: r.Targets(), Interval: r.Period("interval"), Limit: r.Number("limit")}
	t.Filter, _ = r.Text("filter")
	t.Sort, _ = r.Text("sort")
	t.web = web.Read(r, t.Session)
	if t.Count = r.Number("count"); t.Count > 0 && t.web != nil {
		r.Failf("--count and --%s exclude each other: remove one of them", web.FlagListen)
	} else if t.Count == 0 && t.JSON {
		t.Count = 1
	}
	t.Limit = cmp.Or(t.Limit, math.MaxInt64)
	return t
}

// Run watches until ctx ends or Count snapshots were printed.
func (t top) Run(ctx context.Context) error {
	if t.web != nil {
		return t.serve(ctx)
	}
	kind, _ := t.Lookup("TERM")
	if t.Count == 0 && kind != "dumb" && term.IsTerminal(t.Stdout) && term.IsTerminal(t.Stdin) { // where q can be pressed
		return t.live(ctx)
	}
	err := t.lines(ctx)
	if t.Count == 0 && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// live draws on the terminal until q, Ctrl-C or the end of ctx, and leaves it as it was.
func (t top) live(ctx context.Context) error {
	if term.IsTerminal(t.Stderr) { // what is logged there would be drawn over
		t.LogTo(zap.NewNop())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return t.open(ctx, func(lookers []*looker) error {
		program := tea.NewProgram(newScreen(t),
			tea.WithInput(t.Stdin), tea.WithOutput(t.Stdout), tea.WithEnvironment(t.environment()), tea.WithoutSignalHandler())
		defer context.AfterFunc(ctx, program.Quit)()

		var watching sync.WaitGroup
		for _, l := range lookers {
			watching.Go(func() { l.watch(ctx, func(found look) { program.Send(found) }) })
		}
		_, err := program.Run()
		cancel()
		watching.Wait()
		return exit.Written(err)
	})
}

// environment returns the variables that describe the terminal.
func (t top) environment() []string {
	var all []string
	for _, name := range []string{
		"TERM", "COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM_PROGRAM", "TMUX", "STY", "SSH_TTY", "WT_SESSION",
	} {
		if value, ok := t.Lookup(name); ok {
			all = append(all, name+"="+value)
		}
	}
	return all
}
