package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// top watches servers and their counters, on a screen or in lines.
type top struct {
	globals
	targets  []target
	Interval time.Duration
	Count    int64 // snapshots to print; 0: on and on
	Sort     string
	Filter   string
}

// leastInterval keeps what is only watching from being work for a server.
const leastInterval = 100 * time.Millisecond

func newTopCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "top",
		Usage:     "watch servers and counters live",
		UsageText: "hilo top [--interval D] [--sort KEY] [--filter TEXT] [--count N]",
		Description: describe(`
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
			&cli.StringFlag{Name: "interval", Usage: "look every `D`, 100ms or more", Value: "1s", DefaultText: "1s"},
			&cli.StringFlag{
				Name: flagSort, Usage: "sort by `KEY`: " + strings.Join(topSorts, ", "), Value: topSorts[0], DefaultText: topSorts[0],
			},
			&cli.StringFlag{Name: "filter", Usage: "only collections with `TEXT` in their name"},
			&cli.StringFlag{Name: "count", Usage: "print `N` snapshots, and end", DefaultText: "on and on, 1 with json"},
		},
		Action: func(c *cli.Context) error {
			t, err := readTop(c, env)
			if err != nil {
				return err
			}
			return t.Run(c.Context)
		},
	})
}

func readTop(c *cli.Context, env Env) (top, error) {
	t := top{Sort: c.String(flagSort), Filter: c.String("filter")}
	if _, err := takeArguments(c); err != nil {
		return t, err
	}
	var err error
	if t.globals, err = readGlobals(c, env); err != nil {
		return t, err
	}
	if t.targets, err = readTargets(c, env); err != nil {
		return t, err
	}
	text := c.String("interval")
	if t.Interval, err = time.ParseDuration(text); err != nil || t.Interval < leastInterval {
		return t, usagef("--interval is %q: must be a duration of at least %s, such as 1s", text, leastInterval)
	}
	if !slices.Contains(topSorts, t.Sort) {
		return t, usagef("--sort is %q: must be one of %s", t.Sort, strings.Join(topSorts, ", "))
	}
	if c.IsSet("count") {
		t.Count, err = parseNumber("count", c.String("count"), 1)
	} else if t.JSON {
		t.Count = 1
	}
	return t, err
}

// Run watches until it is told to stop, which is how it is meant to end, or has printed Count snapshots.
func (t top) Run(ctx context.Context) error {
	if t.Count == 0 && t.onScreen() {
		return t.live(ctx)
	}
	err := t.lines(ctx)
	if t.Count == 0 && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// onScreen tells whether there is a terminal that can be drawn on, and a person at it who can press q.
func (t top) onScreen() bool {
	kind, _ := t.lookup("TERM")
	in, ok := t.Stdin.(*os.File)
	return ok && isTerminal(in) && isTerminal(t.Stdout) && kind != "dumb"
}

// names are those of the servers, as the user gave them.
func (t top) names() []string {
	var all []string
	for _, server := range t.targets {
		if server.name == "" {
			all = append(all, server.addr)
		} else {
			all = append(all, server.name)
		}
	}
	return all
}
