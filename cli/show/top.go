// Package show implements the commands that show hilo at work: top displays servers and counters live, demo runs a fleet on two
// masters and loses one of them, and dev runs a server for trying things out. demo and dev need nothing installed. The package
// exports only the commands.
//
// top polls each server with a poller and merges the results into a state, which a screen, lines or a web page display. state
// and screen do no I/O.
package show

import (
	"cmp"
	"context"
	"errors"
	"math"
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

// top watches servers and their counters.
type top struct {
	*base.Session
	targets  []target.Target
	Interval time.Duration
	Count    int64 // snapshots to print; 0 means no end
	Sort     string
	Filter   string
	Columns  string      // type of the columns that store ids
	Limit    int64       // greatest number that the allocators issue
	web      *web.Server // nil without --listen
}

// minInterval limits the load of top on a server.
const minInterval = 100 * time.Millisecond

// TopCommand returns the command hilo top.
func TopCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "watch servers and counters live",
		UsageText: "hilo top [--filter TEXT] [--count N | --listen ADDR]",
		Description: base.Describe(`
Shows each server with its health, and each collection with its Max, its ceiling (what it
reserved ahead), the rate, ranges, epoch (its jumps), and the time left at that rate until
Max exceeds 2^31-1 (int), 2^53-1 (double, JavaScript) and the limit. Counters that jumped
since top began, or have little headroom in --columns, alarm and come first. The name of
an identity ends in |, and – means none or unknown. The key ? shows all keys.

Polls only read, take at most a fifth of the time, and need +info +scan +hmget. Without a
terminal, or with --count, each poll prints a snapshot. --listen serves a web page, /state
and /events, and its URL is the first line on stdout: hilo help sign-in.`,
			[]string{
				"hilo top",
				"hilo top --redis north=redis://10.0.0.1 --redis south=redis://10.0.0.2",
				"hilo top --listen 127.0.0.1:8081",
			},
			"3 Redis unavailable: with --count, no server answered the last poll"),
		Flags: web.Flags(
			&cli.GenericFlag{Usage: "serve HTTP at `ADDR`", Value: base.Address("")},
			&cli.GenericFlag{Name: "interval", Usage: "poll every `D`, 100ms or more", Value: base.Duration("1s", minInterval)},
			&cli.GenericFlag{Name: "sort", Usage: "sort by `KEY`", Value: base.Choice(sorts[0], sorts...)},
			&cli.StringFlag{Name: "filter", Usage: "only collections with `TEXT` in their name"},
			&cli.GenericFlag{Name: "limit", Usage: "the greatest number to issue is `N`", Value: base.Number("", 1, math.MaxInt64), DefaultText: "2^63-1"},
			&cli.GenericFlag{Name: "columns", Usage: "stored as `TYPE`", Value: base.Choice("bigint", columns...)},
			&cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "print `N` snapshots, then end", Value: base.Count("", 1)},
		),
		Action: base.Action(env, readTop),
	}
}

func readTop(r *base.Reader) base.Runner {
	r.Arguments()
	r.Own = "top"
	t := top{Session: r.Session(), targets: r.Targets(), Interval: r.Period("interval"), Limit: cmp.Or(r.Number("limit"), math.MaxInt64)}
	t.Filter, _ = r.Text("filter")
	t.Sort, _ = r.Text("sort")
	t.Columns, _ = r.Text("columns")
	t.web = web.Read(r, t.Session)
	if t.Count = r.Number("count"); t.Count > 0 && t.web != nil {
		r.Failf("--count and --%s exclude each other: remove one of them", web.FlagListen)
	} else if t.Count == 0 && t.JSON {
		t.Count = 1
	}
	return t
}

// Run watches the servers until ctx ends or Count snapshots are printed.
func (t top) Run(ctx context.Context) error {
	if t.web != nil {
		return t.serve(ctx)
	}
	if t.Count == 0 && t.Style(t.Stdout).Live && term.IsTerminal(t.Stdin) {
		return t.runScreen(ctx)
	}
	err := t.printSnapshots(ctx)
	if t.Count == 0 && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// runScreen draws the screen until q, Ctrl-C or the end of ctx, and then restores the terminal.
func (t top) runScreen(ctx context.Context) error {
	if term.IsTerminal(t.Stderr) { // log lines would disturb the screen
		t.LogTo(zap.NewNop())
	}
	program := tea.NewProgram(newScreen(t), tea.WithInput(t.Stdin), tea.WithOutput(t.Stdout), tea.WithoutSignalHandler())
	defer context.AfterFunc(ctx, program.Quit)()
	return t.watch(ctx, func(r pollResult) { program.Send(r) }, func() error {
		_, err := program.Run()
		return exit.Written(err)
	})
}
