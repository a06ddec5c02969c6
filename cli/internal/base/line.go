package base

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"github.com/hilo-id/hilo/cli/internal/exit"
)

// Line separates the arguments of a command line from its commands and flags, in any order. Its errors never quote a password.
type Line struct {
	Command    *cli.Command // named so far; hilo itself at first
	Due        Flag         // flag whose value is the next word, nil for none
	FlagsEnded bool         // by "--"

	app       *cli.App
	root      *cli.Command // hilo itself
	name      string       // of the command, as the user would type it
	help      bool         // requested
	global    []string     // flags of hilo itself with their values, which urfave/cli accepts before the command only
	words     []string     // commands and their flags with values
	dueTo     *[]string    // global or words, for the value of Due
	arguments []string
}

// Flag is a flag of urfave/cli. All of its flags implement this interface.
type Flag = cli.DocGenerationFlag

// NewLine returns the command line of app, before its first word.
func NewLine(app *cli.App) *Line {
	root := &cli.Command{Name: app.Name, Usage: app.Usage, UsageText: app.UsageText, Flags: app.Flags, Subcommands: app.Commands}
	return &Line{Command: root, app: app, root: root, name: app.Name}
}

// Read reads a command line, the first word of which is the program. It reports unknown commands and flags and missing
// values, without which the words cannot be put in order.
func Read(app *cli.App, args []string) (*Line, error) {
	l := NewLine(app)
	for _, word := range args[min(1, len(args)):] {
		if err := l.Take(word); err != nil {
			return nil, err
		}
	}
	if l.Due != nil {
		return nil, exit.Usagef("%s needs a value; see %s --help", Dashed(l.Due.Names()[0]), l.name)
	}
	return l, nil
}

// Run runs the command, or shows its help.
func (l *Line) Run(ctx context.Context) error {
	if l.help {
		return l.showHelp()
	}
	return l.app.RunContext(ctx, l.Sorted())
}

// Sorted returns the words in the order that urfave/cli expects: the program, commands and flags, "--", and arguments.
// Words after a "--" in the line are always arguments.
func (l *Line) Sorted() []string {
	sorted := slices.Concat([]string{l.app.Name}, l.global, l.words)
	if len(l.arguments) > 0 {
		sorted = append(append(sorted, "--"), l.arguments...)
	}
	return sorted
}

// Take reads the next word. An error concerns this word alone, and the caller may continue.
func (l *Line) Take(word string) error {
	switch {
	case l.Due != nil: // a value, even if it begins with a dash
		name := l.Due.Names()[0]
		l.Due = nil
		if hasLogin(word) && name != FlagRedis {
			return errMisplacedURL
		}
		*l.dueTo = append(*l.dueTo, word)
		return nil
	case l.FlagsEnded || len(word) < 2 || word[0] != '-':
		return l.word(word)
	case word == "--":
		l.FlagsEnded = true
		return nil
	}
	return l.flag(word)
}

// word reads a word that is not a flag. It is a command as long as one is expected, and then an argument.
func (l *Line) word(word string) error {
	if hasLogin(word) {
		return errMisplacedURL
	}
	commands := l.Command.Subcommands
	if len(commands) == 0 {
		l.arguments = append(l.arguments, word)
		return nil
	}
	for _, command := range commands {
		if command.HasName(word) {
			l.Command = command
			l.name += " " + command.Name
			l.words = append(l.words, word)
			return nil
		}
	}
	return unknown(l.name, "command", word, strconv.Quote(word), commands, strconv.Quote)
}

// flag reads a flag, with its value if that follows "=".
func (l *Line) flag(word string) error {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	if hasLogin(word) && name != FlagRedis {
		return errMisplacedURL
	}
	flag, to := flagNamed(l.Command.Flags, name), &l.words
	if flag == nil || l.Command == l.root {
		flag, to = flagNamed(l.root.Flags, name), &l.global
	}
	if flag == nil {
		typed, _, _ := strings.Cut(word, "=")
		return l.unknownFlag(name, typed)
	}
	on, err := strconv.ParseBool(value)
	if hasValue && !flag.TakesValue() && err != nil {
		return exit.Usagef("%s is %q: must be true or false, or stand alone", Dashed(name), value)
	}
	if slices.Contains(flag.Names(), HelpName) {
		l.help = on || !hasValue
	}
	*to = append(*to, word)
	if flag.TakesValue() && !hasValue {
		l.Due, l.dueTo = flag, to
	}
	return nil
}

// unknownFlag returns an error about a flag of no such name, as it was typed.
func (l *Line) unknownFlag(name, typed string) error {
	hasFlag := func(c *cli.Command) bool { return flagNamed(c.Flags, name) != nil }
	if l.Command == l.root && slices.ContainsFunc(l.root.Subcommands, hasFlag) {
		return exit.Usagef("%s is a flag of a command: it stands after the command's name", typed)
	}
	known := slices.Concat(l.root.Flags, l.Command.Flags)
	if typed == "-"+name && len(name) > 1 && nearest(name, known) == "" {
		if short := flagNamed(known, name[:1]); short != nil && short.TakesValue() {
			return exit.Usagef("%s has no flag %s; write -%s %s or -%[3]s=%[4]s", l.name, typed, name[:1], name[1:])
		}
	}
	return unknown(l.name, "flag", name, typed, known, Dashed)
}

// loginAtAddress matches USER:PASSWORD@HOST:PORT.
var loginAtAddress = regexp.MustCompile(`:[^@]*@[^@/]+:[0-9]+(/[0-9]*)?$`)

// hasLogin reports whether a word looks like a URL with a password. Only errors about --redis do not quote one.
func hasLogin(word string) bool {
	_, behind, ok := strings.Cut(word, "://")
	return ok && (strings.Contains(behind, "@") || strings.Contains(behind, "password=")) || loginAtAddress.MatchString(word)
}

var errMisplacedURL = exit.Usagef("a URL is not allowed here: name the server with --redis URL")

// named is a flag or a command.
type named interface{ Names() []string }

func unknown[T named](parent, kind, word, quoted string, known []T, quote func(string) string) error {
	if near := nearest(word, known); near != "" {
		return exit.Usagef("%s has no %s %s; did you mean %s?", parent, kind, quoted, quote(near))
	}
	return exit.Usagef("%s has no %s %s; see %s --help", parent, kind, quoted, parent)
}

// flagNamed returns the flag with a name, or nil.
func flagNamed(flags []cli.Flag, name string) Flag {
	for _, flag := range flags {
		if slices.Contains(flag.Names(), name) {
			return flag.(Flag)
		}
	}
	return nil
}

// Dashed returns a flag as in a command line.
func Dashed(flag string) string {
	if len(flag) == 1 {
		return "-" + flag
	}
	return "--" + flag
}

// nearest returns the known name that is most similar to word, or "" if none is similar.
func nearest[T named](word string, known []T) string {
	const boostThreshold, prefixSize = 0.7, 4 // as in urfave/cli
	best, similarity := "", 0.8
	for _, one := range known {
		for _, name := range one.Names() {
			if s := smetrics.JaroWinkler(word, name, boostThreshold, prefixSize); s > similarity && len(name) > 1 {
				best, similarity = name, s
			}
		}
	}
	return best
}
