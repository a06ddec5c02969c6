// Package cli is the command line of hilo.
//
// New builds the whole application from an Env and nothing else: no globals, no environment, no standard streams. Run
// runs it and returns the exit code. The commands are in packages by subject:
//
//	counters  init, settings, next, id, identity, seed, list, inspect, export, import
//	run       serve, probe
//	examine   doctor, verify, bench
//	show      top, demo, dev
//
// What they share is under cli/internal:
//
//	base      sessions as the global flags describe them, arguments, help
//	exit      codes and errors
//	term      tables, styles, progress and other output
//	target    URLs of servers, and clients for them
//	finding   the results of checks
//
// This package assembles the commands, and no other package imports them. It also has completion and version. Results go
// to Env.Stdout, everything else goes to Env.Stderr, and passwords are never shown.
package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/counters"
	"github.com/hilo-id/hilo/cli/examine"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/cli/run"
	"github.com/hilo-id/hilo/cli/show"
)

//go:generate go test -run TestReferenceIsCurrent -update .

// Env holds the streams and the environment of the process, for commands.
type Env = base.Env

// Run runs the command in args, the first of which is the program's name, and returns the exit code of the process.
// If ctx ends, the command stops and returns the numbers that it did not use. Identifiers that were printed stay issued.
func Run(ctx context.Context, args []string, env Env) int {
	app := New(env)
	if answerCompletion(app, args, env.Stdout) {
		return exit.Done
	}
	err := base.NewLine(app, args).Run(ctx)
	return exit.Report(env.Stderr, env.Style(env.Stderr), err)
}

// New builds the application. Use [Run] to run it: the Run method of cli.App takes flags of hilo itself before the
// command only.
func New(env Env) *cli.App {
	app := &cli.App{
		Name:      "hilo",
		Usage:     "issue identifiers such as orders/1 from Redis, none of them twice",
		UsageText: "hilo COMMAND [ARGUMENTS] [FLAGS]",
		Flags: append(base.GlobalFlags(),
			&cli.BoolFlag{Name: "version", Usage: "print the version"}),
		Commands: slices.Concat(
			category("Try it", show.DemoCommand(env), show.DevCommand(env)),
			category("Identifiers", counters.NextCommand(env), counters.IDCommand(env), newIdentityCommand(env)),
			category("Counters", counters.ListCommand(env), counters.InspectCommand(env), counters.SeedCommand(env),
				counters.ExportCommand(env), counters.ImportCommand(env)),
			category("Servers", counters.InitCommand(env), counters.SettingsCommand(env)),
			category("Services", run.ServeCommand(env), run.ProbeCommand(env)),
			category("Checks", examine.DoctorCommand(env), examine.VerifyCommand(env), examine.BenchCommand(env), show.TopCommand(env)),
			category("Shell", newCompletionCommand(env), newVersionCommand(env)),
			[]*cli.Command{base.HelpCommand()},
		),
		Before: func(c *cli.Context) error {
			if c.Bool("version") && c.Args().Present() {
				return exit.Usagef("--version excludes commands and arguments; remove one or the other")
			}
			return nil
		},
		Action: func(c *cli.Context) error {
			if c.Bool("version") {
				return newVersionCommand(env).Action(c)
			}
			return base.Overview(c)
		},
		ExitErrHandler: func(*cli.Context, error) {}, // Run reports; without this, urfave/cli may end the process
		Reader:         env.Stdin,
		Writer:         term.HelpWriter(env.Stdout), // commands write to env.Stdout themselves
		ErrWriter:      env.Stderr,
	}
	base.Complete(app)
	return app
}

// category puts commands into a category of the overview, and returns them.
func category(name string, commands ...*cli.Command) []*cli.Command {
	for _, c := range commands {
		c.Category = name
	}
	return commands
}

func newIdentityCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "identity",
		Usage:     "take, seed or list identities",
		UsageText: "hilo identity next NAME [--count N] | seed NAME --value N [--force] | list",
		Description: base.Describe(`
Identities (companies/1, companies/2) have no gaps in normal operation and never have a
prefix or tag. Each call costs a round trip. The trailing | of NAME, with which programs
and hilo id request an identity, is optional. On a server with neither prefix nor tag a
name is either an identity or a collection. A server with one of them issues identities
only if it is their home (hilo settings set --identities).`,
			[]string{"hilo identity next companies", "hilo identity list"},
			"4 exhausted, of another server, or the name is taken by a collection"),
		Action: base.HelpCommand("identity").Action,
		Subcommands: []*cli.Command{
			counters.IdentityNextCommand(env),
			counters.IdentitySeedCommand(env),
			counters.IdentityListCommand(env),
			base.HelpCommand("identity"),
		},
	}
}
