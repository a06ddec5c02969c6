package cli

import (
	"context"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// completion is the command that prints the script of a shell.
type completion struct {
	*base.Session
	printed
}

type printed struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

// shells lists the shells that have a script.
var shells = []string{"bash", "zsh", "fish"}

//go:embed hilo.*
var scripts embed.FS

// newCompletionCommand returns hilo completion.
func newCompletionCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the script for shell completion",
		UsageText: "hilo completion bash|zsh|fish",
		Description: base.Describe(`
Prints a script with which the shell completes commands, flags, and the values of
flags that have a few. It uses no server. To install it:

   bash   hilo completion bash > ~/.local/share/bash-completion/completions/hilo
          where the package bash-completion is in use; else, in ~/.bashrc:
          source <(hilo completion bash)
   zsh    hilo completion zsh > ~/.zfunc/_hilo
          with fpath+=~/.zfunc before compinit in ~/.zshrc; or, after compinit:
          source <(hilo completion zsh)
   fish   hilo completion fish > ~/.config/fish/completions/hilo.fish

The folder has to exist. Completion works in the next shell: the script runs the hilo
that is in PATH.`,
			[]string{"hilo completion bash > ~/.local/share/bash-completion/completions/hilo", "source <(hilo completion zsh)"}),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			shell := r.Arguments("SHELL")[0]
			if !slices.Contains(shells, shell) {
				r.Failf("there is no completion for %q: name one of %s", shell, strings.Join(shells, ", "))
			}
			script, _ := scripts.ReadFile("hilo." + shell)
			return completion{r.SessionWithoutRedis(), printed{shell, string(script)}}
		}),
	}
}

// Run prints the script.
func (c completion) Run(context.Context) error {
	return c.Show(c.printed, func() error {
		_, err := io.WriteString(c.Stdout, c.Script)
		return exit.Written(err)
	})
}

// files requests names of files, which the shell completes itself.
const files = ":files"

// answerCompletion handles hilo __complete WORD…, which the scripts run. The words are those of a command line without the
// program's name, and the last one is being typed. It prints the candidates, one per line, each followed by a tab and its
// description. The words are not checked, because the line is not finished. It returns false for any other command line.
func answerCompletion(app *cli.App, args []string, to io.Writer) bool {
	if len(args) < 3 || args[1] != "__complete" {
		return false
	}
	for _, text := range candidates(app, args[2:len(args)-1], args[len(args)-1]) {
		fmt.Fprintln(to, text)
	}
	return true
}

// candidates returns the completions of the typed word, which follows the words before it.
func candidates(app *cli.App, before []string, typed string) []string {
	flag, _, isValue := strings.Cut(typed, "=")
	line := base.NewLine(app, append([]string{app.Name}, before...))
	isFlag := strings.HasPrefix(typed, "-") && line.Due == nil && !line.FlagsEnded
	if isFlag && isValue { // its value is being typed
		line = base.NewLine(app, slices.Concat([]string{app.Name}, before, []string{flag}))
	}
	c := line.Command
	switch {
	case line.Due != nil:
		return valuesOf(line.Due)
	case isFlag && isValue:
		return nil
	case isFlag && c.Name == "":
		return described(c.VisibleFlags())
	case isFlag:
		return described(append(c.VisibleFlags(), base.GlobalFlags()...))
	case c.Name == "completion":
		return shells
	case c.Name == "import":
		return []string{files}
	}
	var commands []string
	for _, c := range c.Subcommands {
		commands = append(commands, c.Name+"\t"+c.Usage)
	}
	return commands
}

// valuesOf returns the values of a flag that has a fixed set of them.
func valuesOf(flag base.Flag) []string {
	f, ok := flag.(*cli.GenericFlag)
	switch {
	case !ok:
		return nil
	case f.TakesFile:
		return []string{files}
	}
	return slices.DeleteFunc(slices.Clone(f.Value.(*base.Value).Choices), func(word string) bool { return word == "" })
}

// described returns the names of flags, each with its usage.
func described(flags []cli.Flag) []string {
	var all []string
	for _, flag := range flags {
		usage, _, _ := strings.Cut(flag.(base.Flag).GetUsage(), "; $")
		all = append(all, base.Dashed(flag.Names()[0])+"\t"+strings.ReplaceAll(usage, "`", ""))
	}
	return all
}
