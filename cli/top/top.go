// Package top has hilo top: servers and counters, live on a screen or in lines. A looker reads a server; state is what the
// looks amount to; screen is what a person sees of it. The latter two do no I/O. It exports its commands and nothing else,
// and may import the rooms under cli/internal and the library.
package top

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/urfave/cli/v3"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// top watches servers and their counters, on a screen or in lines.
type top struct {
	*base.Session
	targets  []target.Target
	Interval time.Duration
	Count    int64 // snapshots to print; 0: on and on
	Sort     string
	Filter   string
}

// leastInterval keeps what is only watching from being work for a server.
const leastInterval = 100 * time.Millisecond

// Command is hilo top.
func Command(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "watch servers and counters live",
		UsageText: "hilo top [--interval D] [--sort KEY] [--filter TEXT] [--count N]",
		Description: base.Describe(`
Shows each server with its role and health, and each collection with its Max, the
rate over the last minute, ranges, epoch, and the time left, at that rate, until
Max is past 2^31-1 (32-bit integers), 2^53-1 (JavaScript) and the limit, 2^63-1.
Changes of an epoch, which are jumps after lost writes, stand out for a minute and
are listed below. A server that is away is shown as down, and comes back by itself.

Keys: s sorts by the next column, r the other way round, / filters by name, Esc
shows all again, b shows headroom as time, numbers left or share used, p pauses,
arrows and Page Up and Down scroll, ? helps, q quits.

Several servers, as --redis NAME=URL each, are watched side by side, each by itself.
Reading only, in steps that hold up nobody (SCAN, HMGET), and for at most a fifth of
the time: with a great many keys looks are further apart than --interval. The rights
+info +scan +hmget do.

Where stdout or stdin is no terminal, or with --count, it prints a snapshot after
each interval, and --output json one in all; with --count N and json, a value a line.`,
			[]string{
				"hilo top",
				"hilo top --redis north=redis://10.0.0.1 --redis south=redis://10.0.0.2",
				"hilo top --output json --interval 10s",
				"hilo top --sort left --filter order --count 3",
			},
			"1 failed or interrupted", "3 Redis unavailable: with --count, no server answered at the last look"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "interval", Usage: "look every `D`, 100ms or more", Value: "1s"},
			&cli.StringFlag{Name: "sort", Usage: "sort by `KEY`: " + strings.Join(sorts, ", "), Value: sorts[0]},
			&cli.StringFlag{Name: "filter", Usage: "only collections with `TEXT` in their name"},
			&cli.StringFlag{Name: "count", Usage: "print `N` snapshots, and end", DefaultText: "on and on, 1 with json"},
		},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			t := top{Session: r.Session(), targets: r.Targets(), Interval: r.Period("interval", leastInterval), Filter: r.String("filter")}
			t.Sort = r.Choice("sort", "one of "+strings.Join(sorts, ", "), sorts...)
			if t.Count = r.Count("count", 1); t.Count == 0 && t.JSON {
				t.Count = 1
			}
			return t
		}),
	}
}

// Run watches until it is told to stop, which is how it is meant to end, or has printed Count snapshots.
func (t top) Run(ctx context.Context) error {
	kind, _ := t.Lookup("TERM")
	if t.Count == 0 && kind != "dumb" && term.IsTerminal(t.Stdout) && term.IsTerminal(t.Stdin) { // where somebody can press q
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

// environment is what tells what the terminal can do.
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
