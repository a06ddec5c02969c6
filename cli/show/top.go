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
		UsageText: "hilo top [--interval D] [--sort KEY] [--filter TEXT] [--columns TYPE] [--count N | --listen ADDR]",
		Description: base.Describe(`
Shows each server with its role and health, and each collection with its Max, its
ceiling (the number up to which it reserved ahead), the numbers reserved a second,
ranges, epoch (its jumps), and the time left, at that rate, until Max exceeds 2^31-1
(32-bit integers), 2^53-1 (JavaScript) and --limit, 2^63-1, or the server's MaxValue
where that is smaller. The name of an identity ends in |. A server that does not answer is shown as down until it answers
again. A – means none or unknown: an unchanged counter has no time left.

Counters that jumped since top began, or have low headroom (90 % used, or less than a
week left), alarm: they are marked and come first unless another order is chosen. Which
bound alarms depends on where ids are stored: --limit with --columns bigint, 2^53-1 with
double and 2^31-1 with int, or --limit if it is nearer. The other bounds are only shown.
Jumps are also listed below.

Workers reserve numbers in ranges and use them later. The rate is measured from the
moment that one range is seen to the moment that a later one is seen, over up to five
minutes. It becomes exact with the second range. A jump does not count.

Keys: s sorts by the next column, r reverses the order, / filters by name, Esc clears
the filter, b shows headroom as time, numbers left or share used, p pauses, arrows and
Page Up and Down scroll, ? shows help, q quits.

Several servers, each given as --redis NAME=URL, are watched side by side and
independently. Polls only read, in short steps (SCAN, HMGET), and take at most a fifth of
the time: with very many keys they are further apart than --interval. They need the
rights +info +scan +hmget; with +config|get top also shows how the server persists data.

With --listen top serves a web page for any number of browsers, and the first line on
stdout is its URL. /state returns what --output json prints, and /events the same as
server-sent events, one for each poll: first everything, then the changes.

If stdout or stdin is no terminal, or with --count, top prints a snapshot after each
interval. --output json prints one snapshot, and with --count N one per line.`+web.AboutAccess+` A browser
sends a token as the password of any user, or once as ?token=TOKEN to receive a cookie.`,
			[]string{
				"hilo top",
				"hilo top --redis north=redis://10.0.0.1 --redis south=redis://10.0.0.2",
				"hilo top --output json --interval 10s",
				"hilo top --sort left --filter order --count 3",
				"hilo top --columns int",
				"hilo top --listen 127.0.0.1:8081",
			},
			"1 failed or interrupted", "3 Redis unavailable: with --count, no server answered the last poll"),
		Flags: web.Flags(
			&cli.GenericFlag{Usage: "serve a web page at `ADDR`; port 0 picks a free one", Value: base.Address("")},
			&cli.GenericFlag{Name: "interval", Usage: "poll every `D`, 100ms or more", Value: base.Duration("1s", minInterval)},
			&cli.GenericFlag{Name: "sort", Usage: "sort by `KEY`", Value: base.Choice(sorts[0], sorts...)},
			&cli.StringFlag{Name: "filter", Usage: "only collections with `TEXT` in their name"},
			&cli.GenericFlag{Name: "limit", Usage: "`N` is the greatest number that your allocators issue", Value: base.Number("", 1, math.MaxInt64), DefaultText: "2^63-1"},
			&cli.GenericFlag{Name: "columns", Usage: "`TYPE` of the columns that store ids, whose greatest integer alarms", Value: base.Choice("bigint", columns...)},
			&cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "print `N` snapshots, then end", Value: base.Count("", 1), DefaultText: "no end, 1 with json"},
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
