package cli

import (
	"embed"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"
)

// completion prints the script that has a shell complete hilo's command lines.
type completion struct {
	globals
	Shell string
	Tree  []completed
}

type completionScript struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

// shells are those that there is a script for, in completion/.
var shells = []string{"bash", "zsh", "fish"}

//go:embed completion/*.tmpl
var completionScripts embed.FS

func newCompletionCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "completion",
		Usage:     "print the script that completes hilo in your shell",
		UsageText: "hilo completion bash|zsh|fish",
		Description: describe(`
Prints a script with which the shell completes commands, flags, and the values of
flags that have a fixed few. It asks no server. To install it:

   bash   hilo completion bash > ~/.local/share/bash-completion/completions/hilo
          where the package bash-completion is in use; else, in ~/.bashrc:
          source <(hilo completion bash)
   zsh    hilo completion zsh > ~/.zfunc/_hilo
          with fpath+=~/.zfunc before compinit in ~/.zshrc; or, after compinit:
          source <(hilo completion zsh)
   fish   hilo completion fish > ~/.config/fish/completions/hilo.fish

The folder has to be there. The next shell that is started completes; a later
version of hilo wants the script printed again.`,
			[]string{"hilo completion bash > ~/.local/share/bash-completion/completions/hilo", "source <(hilo completion zsh)"},
			"1 failed"),
		Action: func(c *cli.Context) error {
			given, err := takeArguments(c, "SHELL")
			if err != nil {
				return err
			}
			if !slices.Contains(shells, given[0]) {
				return usagef("there is no completion for %q: name one of %s", given[0], strings.Join(shells, ", "))
			}
			g, err := readServerless(c, env)
			if err != nil {
				return err
			}
			return completion{globals: g, Shell: given[0], Tree: completedTree(c.App)}.Run()
		},
	})
}

func (c completion) Run() error {
	script, err := c.script()
	if err != nil {
		return err
	}
	if c.JSON {
		return c.writeJSON(completionScript{c.Shell, script})
	}
	_, err = io.WriteString(c.Stdout, script)
	return written(err)
}

func (c completion) script() (string, error) {
	scripts, err := template.New("").Funcs(template.FuncMap{
		"quote": quoteFor(c.Shell),
		"colon": func(text string) string { return strings.ReplaceAll(text, ":", `\:`) },
	}).ParseFS(completionScripts, "completion/*.tmpl")
	if err != nil {
		return "", err
	}
	var script strings.Builder
	err = scripts.ExecuteTemplate(&script, c.Shell+".tmpl", c.Tree)
	return script.String(), err
}

// quoteFor quotes a word so that the shell takes it as it is.
func quoteFor(shell string) func(string) string {
	replace := strings.NewReplacer(`'`, `'\''`)
	if shell == "fish" {
		replace = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	}
	return func(text string) string { return "'" + replace.Replace(text) + "'" }
}
