package base

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// HelpName is the name of the flag and of the command for help.
const HelpName = "help"

// The ends of help texts.
const (
	aboutAll = `
Exit codes:
   0 done
   1 failed or interrupted
   2 a mistake in the command line
   3 Redis unavailable
   4 refused by a rule, or exhausted
   5 a check found a fault

hilo COMMAND --help has examples. Also: hilo help urls, the URLs of --redis;
recover, the steps after a loss; sign-in, TLS and tokens; ravendb, its clients.
`
	aboutOne = "\nGlobal flags, which may stand here too, and other exit codes: hilo --help\n"
)

// headExits begins the part of a description that stands after the flags.
const headExits = "\n\nExit codes:"

// Describe returns the description of a command, made of a text, examples, and exit codes that mean more than in aboutAll.
func Describe(text string, examples []string, exits ...string) string {
	const line = "\n   "
	description := term.Paragraphs(strings.TrimSpace(text)) + "\n\nExamples:" + line + strings.Join(examples, line)
	if len(exits) > 0 {
		description += headExits + line + strings.Join(exits, line)
	}
	return description
}

// Complete sets what hilo and all its commands have in common.
func Complete(app *cli.App) {
	app.Flags, app.OnUsageError, app.HideHelp = completed(app.Flags), misused, true
	for _, flag := range app.Flags {
		if f, ok := flag.(*cli.GenericFlag); ok {
			f.Usage += "; $" + Variable(f.Name)
		}
	}
	app.DisableSliceFlagSeparator = true // a URL of a cluster has commas in it
	completeAll(app.Commands)
}

func completeAll(commands []*cli.Command) {
	for _, c := range commands {
		c.Flags, c.OnUsageError, c.HideHelp = completed(c.Flags), misused, true
		completeAll(c.Subcommands)
	}
}

// completed returns the flags with the choices of each, and the flag for help.
func completed(flags []cli.Flag) []cli.Flag {
	for _, flag := range flags {
		switch f := flag.(type) {
		case *cli.GenericFlag:
			if choices := f.Value.(*Value).Choices; len(choices) > 0 {
				f.Usage += ": " + anyOf(choices)
			}
		case *cli.BoolFlag:
			f.DisableDefaultText = f.DefaultText == ""
		}
	}
	return append(flags, &cli.BoolFlag{Name: HelpName, Aliases: []string{"h"}, Usage: "show this help", DisableDefaultText: true})
}

// HelpCommand returns the command help of the command at path: hilo help next shows what hilo next --help does.
func HelpCommand(path ...string) *cli.Command {
	topic := "[COMMAND]"
	if len(path) == 0 {
		topic = "[COMMAND | urls | recover | sign-in | ravendb]"
	}
	return &cli.Command{
		Name:        HelpName,
		Usage:       "show the help of a command",
		UsageText:   strings.Join(append(append([]string{"hilo"}, path...), "help", topic), " "),
		Description: Describe("Shows what a command does, its flags, examples and exit codes.", []string{"hilo help next", "hilo help urls", "hilo help recover"}),
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			if text, found := topics[c.Args().First()]; found && len(path) == 0 {
				if len(words) > 1 {
					return exit.Usagef("hilo help %s takes no arguments: %q is one too many", words[0], words[1])
				}
				return show(c.App, text)
			}
			command, name := &cli.Command{Flags: c.App.Flags, Subcommands: c.App.Commands}, c.App.Name
			for _, word := range append(path, words...) {
				if strings.HasPrefix(word, "-") || len(command.Subcommands) == 0 {
					return exit.Usagef("there is no help about %q; name a command", word)
				}
				below := command.Command(word)
				if below == nil {
					return unknownCommand(name, word, command.Subcommands)
				}
				command, name = below, name+" "+below.Name
			}
			return showHelp(c.App, command, name)
		},
	}
}

// Overview prints the commands of hilo, by category, on one screen.
func Overview(c *cli.Context) error {
	if c.Args().Present() {
		return unknownCommand(c.App.Name, c.Args().First(), c.App.Commands)
	}
	return printHelp(c.App, overview, c.App)
}

// The templates of help texts. Description returns the parts before and behind the flags.
const (
	overview = `{{.Name}} - {{.Usage}}
Usage: {{.UsageText}}  (more: hilo --help, hilo help urls)
{{$last := ""}}{{range .Commands}}{{if .Category}}
{{if ne .Category $last}}{{.Category}}{{end}}{{"\t"}}{{.Name}}{{"\t"}}{{.Usage}}{{$last = .Category}}{{end}}{{end}}
`
	ofOne = `{{.HelpName}} - {{.Usage}}

Usage:
   {{.UsageText}}

{{before .Description}}
{{if .Subcommands}}
Commands:{{range .Subcommands}}
   {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}
{{end}}
Flags:
{{flags .VisibleFlags}}{{behind .Description}}` + aboutOne
	ofAll = overview + `
Global flags, before or after the command:
{{flags .VisibleFlags}}` + aboutAll
)

// showHelp prints the help of a command, or of hilo itself.
func showHelp(app *cli.App, command *cli.Command, name string) error {
	if name == app.Name {
		return printHelp(app, ofAll, app)
	}
	about := *command
	about.HelpName = name
	return printHelp(app, ofOne, &about)
}

func printHelp(app *cli.App, template string, data any) error {
	var text strings.Builder
	cli.HelpPrinterCustom(&text, template, data, map[string]any{
		"before": func(description string) string {
			before, _, _ := strings.Cut(description, headExits)
			return before
		},
		"behind": func(description string) string {
			if _, exits, found := strings.Cut(description, headExits); found {
				return headExits[1:] + exits + "\n"
			}
			return ""
		},
		"flags": func(flags []cli.Flag) string {
			var lines strings.Builder
			for _, flag := range flags {
				names, usage, _ := strings.Cut(flag.String(), "\t")
				names, _, _ = strings.Cut(names, " [ ") // urfave/cli prints a repeatable flag twice
				fmt.Fprintf(&lines, "   %s\t%s\n", names, usage)
			}
			return lines.String()
		},
	})
	return show(app, text.String())
}

// show writes a help text with one call, so that a reader such as head, which closes its end early, causes no error.
func show(app *cli.App, text string) error {
	_, err := io.WriteString(app.Writer, text)
	return exit.Written(err)
}
