package base

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// HelpName is the word for help, as a flag and as a command.
const HelpName = "help"

// aboutAll stands at the end of the help of hilo, and aboutOne of that of a command.
const (
	aboutAll = `
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
	aboutOne = "\nThe global flags (hilo --help) may stand here too.\n"
)

// Describe makes the description of a command: what it does, examples, and the exit codes other than 0 and 2.
func Describe(text string, examples []string, exits ...string) string {
	exits = append(exits, "0 done", "2 a mistake in the command line")
	slices.Sort(exits)
	const line = "\n   "
	return term.Paragraphs(strings.TrimSpace(text)) +
		"\n\nExamples:" + line + strings.Join(examples, line) +
		"\n\nExit codes:" + line + strings.Join(exits, line)
}

// Complete adds what all commands have in common. The default of a flag is shown as it is: urfave/cli would quote it.
func Complete(c *cli.Command) error {
	for _, flag := range c.Flags {
		if text, ok := flag.(*cli.StringFlag); ok {
			text.DefaultText = cmp.Or(text.DefaultText, text.Value)
		}
	}
	c.Flags = append(c.Flags, &cli.BoolFlag{Name: HelpName, Aliases: []string{"h"}, Usage: "show this help"})
	// A URL of a cluster has commas in it.
	c.DisableSliceFlagSeparator = true
	c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error { // in words that no Line has read
		return exit.Usagef("%s; see %s --help", err, c.FullName())
	}
	return nil
}

// HelpCommand is "hilo help next" for "hilo next --help"; path leads to the command that it stands in, and that runs it by
// default.
func HelpCommand(path ...string) *cli.Command {
	return &cli.Command{
		Name:        HelpName,
		Usage:       "show the help of a command",
		UsageText:   strings.Join(append(append([]string{"hilo"}, path...), "help [COMMAND]"), " "),
		Description: Describe("Shows what a command does, its flags, examples and exit codes.", []string{"hilo help next"}),
		Action: func(_ context.Context, c *cli.Command) error {
			about := NewLine(c.Root())
			for _, word := range append(path, c.Args().Slice()...) {
				if strings.HasPrefix(word, "-") || len(about.Command.Commands) == 0 {
					return exit.Usagef("there is no help about %q: name a command", word)
				}
				if err := about.Take(word); err != nil {
					return err
				}
			}
			return about.showHelp()
		},
	}
}

// showHelp shows the help of the command. The library would do so by text/template, which calls methods by their names: as
// long as it is in a binary, so are all methods of all packages. A build tag leaves it out.
func (l *Line) showHelp() error {
	var text strings.Builder // written at once: a reader such as head, which is gone after the first lines, is no error
	t := tabwriter.NewWriter(&text, 1, 8, 2, ' ', 0)
	fmt.Fprintf(t, "%s - %s\n\nUsage:\n   %s\n", l.name, l.Command.Usage, l.Command.UsageText)
	flags, about := "Flags", aboutOne
	if l.Command == l.root {
		flags, about = "Global flags, which stand anywhere", aboutAll
	} else {
		fmt.Fprintf(t, "\n%s\n", l.Command.Description)
	}
	for i, c := range l.Command.Commands {
		if i == 0 {
			fmt.Fprintf(t, "\nCommands:\n")
		}
		fmt.Fprintf(t, "   %s\t%s\n", c.Name, c.Usage)
	}
	fmt.Fprintf(t, "\n%s:\n", flags)
	for _, flag := range l.Command.VisibleFlags() {
		fmt.Fprintf(t, "   %s\n", flag)
	}
	fmt.Fprint(t, about)
	_ = t.Flush()
	_, err := io.WriteString(l.root.Writer, text.String())
	return exit.Written(err)
}
