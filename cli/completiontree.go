package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completed is what may follow one command, or the program's name.
type completed struct {
	Path      string // the words of the command without the program, each with a space before it
	Commands  []completedWord
	Flags     []completedFlag // those of the command, then the global ones
	Arguments []string        // where they are a fixed few
}

type completedWord struct{ Name, Usage string }

type completedFlag struct {
	Name, Usage string // the name with its dashes
	TakesValue  bool
	Values      []string // where they are a fixed few
	IsFile      bool
}

// The words that a flag or a command's arguments have to be one of. A flag is the same in all commands.
var (
	flagChoices = map[string][]string{
		flagOutput:   {"text", "json"},
		flagLogLevel: {"debug", "info", "warn", "error"},
	}
	argumentChoices = map[string][]string{
		" completion": shells,
	}
)

// completedTree is the application as completions need it, the whole of it first.
func completedTree(app *cli.App) []completed {
	tree := []completed{{Commands: completedWords(app.Commands), Flags: completedFlags(app.Flags)}}
	var add func(above string, commands []*cli.Command)
	add = func(above string, commands []*cli.Command) {
		for _, c := range commands {
			at := completed{Path: above + " " + c.Name, Commands: completedWords(c.Subcommands)}
			at.Arguments = argumentChoices[at.Path]
			at.Flags = completedFlags(slices.Concat(c.Flags, globalFlags()))
			tree = append(tree, at)
			add(at.Path, c.Subcommands)
		}
	}
	add("", app.Commands)
	return tree
}

func completedWords(commands []*cli.Command) []completedWord {
	var words []completedWord
	for _, c := range commands {
		words = append(words, completedWord{c.Name, c.Usage})
	}
	return words
}

func completedFlags(flags []cli.Flag) []completedFlag {
	var all []completedFlag
	for _, flag := range flags {
		documented, ok := flag.(cli.DocGenerationFlag)
		if visible, isIt := flag.(cli.VisibleFlag); !ok || isIt && !visible.IsVisible() {
			continue
		}
		name := flag.Names()[0]
		usage, _, _ := strings.Cut(documented.GetUsage(), "; $")
		all = append(all, completedFlag{
			Name:       dashed(name),
			Usage:      strings.ReplaceAll(usage, "`", ""),
			TakesValue: documented.TakesValue(),
			Values:     flagChoices[name],
			IsFile:     name == "file" || strings.Contains(usage, "`FILE`"),
		})
	}
	return all
}
