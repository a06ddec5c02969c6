package base

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// HelpName is the word for help, as a flag and as a command.
const HelpName = "help"

// The templates of the help: in the shape of urfave/cli's own, with no value taken from the environment.
const (
	AppHelp = `{{.Name}} - {{.Usage}}

Usage:
   {{.UsageText}}

Commands:{{range .VisibleCommands}}
   {{.Name}}{{"\t"}}{{.Usage}}{{end}}

Global flags, which stand anywhere:{{range .VisibleFlags}}
   {{.}}{{end}}

Servers, as --redis URL, or several as --redis NAME=URL each (in $HILO_REDIS_URL
with white space between them):
   redis://[USER:PASSWORD@]HOST:PORT/DATABASE   one server; rediss:// with TLS
   unix://[USER:PASSWORD@]/PATH?db=DATABASE     one server, by its socket
   redis+sentinel://[…@]HOST:PORT,HOST:PORT/MASTER/DATABASE
                                                the master that sentinels name;
                                                rediss+sentinel:// with TLS
   redis+cluster://[…@]HOST:PORT,HOST:PORT      a cluster; rediss+cluster://
                                                with TLS
   embedded:                                    in this process, gone with it

   In USER and PASSWORD, characters such as @ : / ? # are written with a percent
   sign (%40 for @). With sentinels they are the server's; the sentinels' own
   are ?sentinel_username=…&sentinel_password=…. Options such as
   ?dial_timeout=3s are those of go-redis. Passwords are never shown;
   --password-file keeps them out of the command line, for each URL without a
   password, with or without a user.

Exit codes: 0 done, 1 failed or interrupted, 2 a mistake in the command line,
   3 Redis unavailable, 4 refused by a rule or exhausted,
   5 a check found a fault.

hilo demo needs nothing. hilo COMMAND --help tells more, with examples.
`
	commandHelp = `{{.HelpName}} - {{.Usage}}

Usage:
   {{.UsageText}}

{{.Description}}{{if .VisibleCommands}}

Commands:{{range .VisibleCommands}}
   {{.Name}}{{"\t"}}{{.Usage}}{{end}}{{end}}

Flags:{{range .VisibleFlags}}
   {{.}}{{end}}

The global flags (hilo --help) may stand here too.
`
)

// HelpFlag stands in every command: urfave/cli finds it by its name.
func HelpFlag() cli.Flag {
	return &cli.BoolFlag{Name: HelpName, Aliases: []string{"h"}, Usage: "show this help", DisableDefaultText: true}
}

// Describe makes the description of a command: what it does, examples, and the exit codes other than 0 and 2.
func Describe(text string, examples []string, exits ...string) string {
	exits = append(exits, "0 done", "2 a mistake in the command line")
	slices.Sort(exits)
	const line = "\n   "
	return term.Paragraphs(strings.TrimSpace(text)) +
		"\n\nExamples:" + line + strings.Join(examples, line) +
		"\n\nExit codes:" + line + strings.Join(exits, line)
}

// Complete completes what all commands have in common.
func Complete(c *cli.Command) *cli.Command {
	c.Flags = append(c.Flags, HelpFlag())
	c.HideHelp = true
	c.HideHelpCommand = true
	c.CustomHelpTemplate = commandHelp
	c.OnUsageError = OnUsageError
	return c
}

// HelpCommand is "hilo help next" for "hilo next --help"; path leads to the command that it stands in.
func HelpCommand(path ...string) *cli.Command {
	return Complete(&cli.Command{
		Name:        HelpName,
		Usage:       "show the help of a command",
		UsageText:   strings.Join(append(append([]string{"hilo"}, path...), "help [COMMAND]"), " "),
		Description: Describe("Shows what a command does, its flags, examples and exit codes.", []string{"hilo help next"}),
		Action: func(c *cli.Context) error {
			words := append([]string{c.App.Name}, path...)
			for _, word := range c.Args().Slice() {
				if strings.HasPrefix(word, "-") {
					return exit.Usagef("there is no help about %q: name a command", word)
				}
				words = append(words, word)
			}
			args, err := Arrange(c.App, append(words, "--help"))
			if err != nil {
				return err
			}
			return c.App.RunContext(c.Context, args)
		},
	})
}

// ShowGroup is the action of a command that has commands: alone it shows its help.
func ShowGroup(c *cli.Context) error {
	if c.Args().Present() {
		return unknown(c.Command.HelpName, "command", c.Args().First(), c.Command.Subcommands, strconv.Quote)
	}
	if c.Command.HelpName == c.App.HelpName {
		return cli.ShowAppHelp(c)
	}
	return cli.ShowSubcommandHelp(c)
}

// OnUsageError is about what the flag package found in a command line that Arrange has not seen.
func OnUsageError(c *cli.Context, err error, _ bool) error {
	return exit.Usagef("%s; see %s --help", err, c.Command.HelpName)
}
