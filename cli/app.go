// Package cli is the command line of hilo.
//
// New builds the whole application from an Env and nothing else: no globals, no environment, no standard streams. Run
// runs it and answers with the exit code. Each command, or family of commands, has a package of its own in a folder
// here; what they share is under cli/internal:
//
//	base      the session that the global flags make, arguments, help
//	exit      codes and errors
//	term      how things are printed
//	target    how servers are reached
//	plan      many counters to raise
//	finding   what checks say
//	fleet     how programs take identifiers
//	tally     what allocators counted
//
// This package puts the commands together, and only this one imports them. Results go to Env.Stdout, everything else to
// Env.Stderr; passwords go nowhere.
package cli

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/cli/bench"
	"github.com/hilo-id/hilo/cli/complete"
	"github.com/hilo-id/hilo/cli/counters"
	"github.com/hilo-id/hilo/cli/demo"
	"github.com/hilo-id/hilo/cli/doctor"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/cli/prefixes"
	"github.com/hilo-id/hilo/cli/seed"
	"github.com/hilo-id/hilo/cli/serve"
	"github.com/hilo-id/hilo/cli/take"
	"github.com/hilo-id/hilo/cli/top"
	"github.com/hilo-id/hilo/cli/transfer"
	"github.com/hilo-id/hilo/cli/verify"
	"github.com/hilo-id/hilo/cli/worker"
)

//go:generate go test -run TestReferenceIsCurrent -update .

// Env is what the commands know of the process they run in.
type Env = base.Env

// RedisLog is what go-redis writes its own messages to.
type RedisLog = base.RedisLog

// Run runs the command that args (with the program's name first) asks for, and returns the process's exit code.
// When ctx ends the command stops in good order: what was printed stays given, what was not used is returned.
func Run(ctx context.Context, args []string, env Env) int {
	root := New(env)
	if complete.Answer(root, args, env.Stdout) {
		return exit.Done
	}
	line, err := base.Read(root, args)
	if err == nil {
		err = line.Run(ctx)
	}
	return exit.Report(env.Stderr, err)
}

// New builds the application. Its own Run knows no Line: the mistakes in a command line, and help, are then in the words
// of urfave/cli.
func New(env Env) *cli.Command {
	root := &cli.Command{
		Name:      "hilo",
		Usage:     "identifiers such as orders/1, given out from a Redis, never twice",
		UsageText: "hilo COMMAND [ARGUMENTS] [FLAGS]",
		Flags: append(base.GlobalFlags(),
			&cli.BoolFlag{Name: "version", Usage: "show the version"}),
		Commands: []*cli.Command{
			demo.Command(env),
			take.NextCommand(env),
			take.IDCommand(env),
			seed.Command(env),
			counters.ListCommand(env),
			counters.InspectCommand(env),
			transfer.ExportCommand(env),
			transfer.ImportCommand(env),
			newIdentityCommand(env),
			prefixes.Command(env),
			worker.Command(env),
			serve.Command(env),
			bench.Command(env),
			verify.Command(env),
			doctor.Command(env),
			worker.ProbeCommand(env),
			top.Command(env),
			demo.DevCommand(env),
			complete.Command(env),
			newVersionCommand(env),
			base.HelpCommand(),
		},
		Before: func(ctx context.Context, c *cli.Command) (context.Context, error) {
			if c.Bool("version") && c.Args().Present() {
				return nil, exit.Usagef("--version stands alone; leave it out, or all else")
			}
			return ctx, nil
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Bool("version") {
				return newVersionCommand(env).Action(ctx, c)
			}
			return base.HelpCommand().Action(ctx, c)
		},
		ExitErrHandler: func(context.Context, *cli.Command, error) {}, // Run reports; without this, urfave/cli may end the process
		Reader:         env.Stdin,
		Writer:         term.HelpWriter(env.Stdout), // commands write to env.Stdout themselves
		ErrWriter:      env.Stderr,
		// The help command of urfave/cli would take "help" and "h" from the collections of these names. Ours is in help.go.
		HideHelp: true,
	}
	_ = root.Walk(base.Complete)
	return root
}

func newIdentityCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "identity",
		Usage:     "take, seed or show identities",
		UsageText: "hilo identity next NAME [--count N] | seed NAME --value N [--force] | list",
		Description: base.Describe(`
An identity (companies/1, companies/2) leaves no gaps in normal work and never has a
prefix or tag, at the price of a round trip for each call. A trailing | of NAME, as
programs and hilo id know it, may be left out. Where the server has neither prefix
nor tag, a name is an identity or a collection, not both; where it has, it gives
identities only as their home, which hilo prefix set --identities makes it.`,
			[]string{"hilo identity next companies", "hilo identity list"},
			"1 failed or interrupted", "3 Redis unavailable", "4 exhausted, of another server, or the name is taken by a collection"),
		DefaultCommand: base.HelpName,
		Commands: []*cli.Command{
			take.IdentityNextCommand(env),
			seed.IdentityCommand(env),
			counters.IdentityListCommand(env),
			base.HelpCommand("identity"),
		},
	}
}
