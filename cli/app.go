// Package cli is the command line of hilo.
//
// New builds the whole application from an Env and nothing else: no globals, no environment, no standard streams.
// Run runs it and answers with the exit code; the codes are mapped in exit.go and nowhere else. Each command has
// a file of its own, with its flags, its checks and a plain struct whose Run does the work.
//
// Results go to Env.Stdout, everything else to Env.Stderr; passwords go nowhere.
package cli

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"
)

// Env is what the commands know of the process they run in.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// LookupEnv reads an environment variable; nil: there are none.
	LookupEnv func(name string) (string, bool)
	// SetRedisLog hands go-redis its logger, which it keeps for the whole process; nil: it is left alone.
	SetRedisLog func(RedisLog)
}

// RedisLog is what go-redis writes its own messages to.
type RedisLog interface {
	Printf(ctx context.Context, format string, v ...any)
}

func (e Env) lookup(name string) (string, bool) {
	if e.LookupEnv == nil {
		return "", false
	}
	return e.LookupEnv(name)
}

// Run runs the command that args (with the program's name first) asks for, and returns the process's exit code.
// When ctx ends the command stops in good order: what was printed stays given, what was not used is returned.
func Run(ctx context.Context, args []string, env Env) int {
	app := New(env)
	args, err := arrange(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	return report(env.Stderr, err)
}

// New builds the application. Its Run takes flags before arguments only; the function Run puts them there.
func New(env Env) *cli.App {
	return &cli.App{
		Name:      "hilo",
		Usage:     "identifiers such as orders/1, given out from a Redis, never twice",
		UsageText: "hilo COMMAND [ARGUMENTS] [FLAGS]",
		Flags:     append(globalFlags(), newVersionFlag(), newHelpFlag()),
		Commands: []*cli.Command{
			newDemoCommand(env),
			newNextCommand(env),
			newIDCommand(env),
			newSeedCommand(env),
			newListCommand(env),
			newInspectCommand(env),
			newExportCommand(env),
			newImportCommand(env),
			newIdentityCommand(env),
			newPrefixCommand(env),
			newWorkerCommand(env),
			newBenchCommand(env),
			newVerifyCommand(env),
			newDoctorCommand(env),
			newProbeCommand(env),
			newTopCommand(env),
			newDevCommand(env),
			newCompletionCommand(env),
			newVersionCommand(env),
			newHelpCommand(),
		},
		Before: func(c *cli.Context) error {
			if c.Bool("version") && c.Args().Present() {
				return usagef("--version stands alone; leave it out, or all else")
			}
			return nil
		},
		Action: func(c *cli.Context) error {
			if c.Bool("version") {
				return runVersion(c, env)
			}
			return showGroup(c)
		},
		OnUsageError:          onUsageError,
		ExitErrHandler:        func(*cli.Context, error) {}, // Run reports; without this, urfave/cli may end the process
		CustomAppHelpTemplate: appHelp,
		Reader:                env.Stdin,
		Writer:                &helpWriter{w: env.Stdout}, // commands write to env.Stdout themselves
		ErrWriter:             env.Stderr,
		// A URL of a cluster has commas in it.
		DisableSliceFlagSeparator: true,
		// The help flag and command of urfave/cli are package globals that each App writes to, and its help
		// command would take "help" and "h" from the collections of these names. Ours are in help.go.
		HideHelp:        true,
		HideHelpCommand: true,
		HideVersion:     true,
	}
}
