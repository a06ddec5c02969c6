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

// Line puts a command line in the order that urfave/cli expects, which finds flags of hilo itself before the command only, and flags
// of a command before its arguments only. urfave/cli then checks it.
type Line struct {
	Command    *cli.Command // named so far; hilo itself at first
	Due        Flag         // flag whose value is the next word, nil for none
	FlagsEnded bool         // by "--", or by a word that is no command where one is expected

	app       *cli.App
	name      string   // of the command, as the user would type it
	help      bool     // requested
	misplaced bool     // a URL with a password is not the value of --redis
	global    []string // flags of hilo itself, with their values
	words     []string // commands and their flags with values
	dueTo     *[]string
	arguments []string
}

// Flag is a flag of urfave/cli. All of its flags implement this interface.
type Flag = cli.DocGenerationFlag

// NewLine returns the command line of app with these words, the first of which is the program.
func NewLine(app *cli.App, args []string) *Line {
	l := &Line{Command: &cli.Command{Flags: app.Flags, Subcommands: app.Commands}, app: app, name: app.Name}
	for _, word := range args[min(1, len(args)):] {
		l.take(word)
	}
	return l
}

// Run runs the command, or shows its help.
func (l *Line) Run(ctx context.Context) error {
	switch {
	case l.misplaced:
		return exit.Usagef("a URL is not allowed here: name the server with --redis URL")
	case l.Due != nil: // urfave/cli would take a word for the value that was moved here
		return exit.Usagef("%s needs a value; see %s --help", Dashed(l.Due.Names()[0]), l.name)
	case l.help && len(l.arguments) > 0 && len(l.Command.Subcommands) > 0:
		return unknownCommand(l.name, l.arguments[0], l.Command.Subcommands)
	case l.help:
		return showHelp(l.app, l.Command, l.name)
	}
	return l.app.RunContext(ctx, l.Sorted())
}

// Sorted returns the words in order: the program, commands and flags, "--", and arguments. Words after a "--" that follows a command are
// always arguments.
func (l *Line) Sorted() []string {
	sorted := slices.Concat([]string{l.app.Name}, l.global, l.words)
	if len(l.arguments) > 0 {
		sorted = append(append(sorted, "--"), l.arguments...)
	}
	return sorted
}

// take reads the next word.
func (l *Line) take(word string) {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	isFlag := l.Due == nil && !l.FlagsEnded && len(word) > 1 && word[0] == '-'
	namesServer := isFlag && name == FlagRedis || l.Due != nil && l.Due.Names()[0] == FlagRedis
	if hasLogin(word) && !namesServer {
		l.misplaced = true
	}
	command := l.Command.Command(word)
	switch {
	case l.Due != nil: // even if the value begins with a dash
		*l.dueTo, l.Due = append(*l.dueTo, word), nil
	case isFlag && word == "--":
		l.FlagsEnded = true
	case isFlag:
		flag, to := flagNamed(l.Command.Flags, name), &l.words
		if global := flagNamed(l.app.Flags, name); global != nil && (flag == nil || len(l.words) == 0) {
			flag, to = global, &l.global
		}
		*to = append(*to, word)
		if flag != nil && flag.TakesValue() && !hasValue {
			l.Due, l.dueTo = flag, to
		}
		if name == HelpName || name == "h" {
			on, err := strconv.ParseBool(value)
			l.help = !hasValue || err == nil && on
		}
	case command != nil && !l.FlagsEnded:
		l.Command, l.name, l.words = command, l.name+" "+command.Name, append(l.words, word)
	default:
		l.arguments = append(l.arguments, word)
		l.FlagsEnded = l.FlagsEnded || len(l.Command.Subcommands) > 0
	}
}

// misused returns the usage error for an error of urfave/cli about the flags of a command.
func misused(c *cli.Context, err error, _ bool) error {
	if found := flagError.FindStringSubmatch(err.Error()); found != nil {
		value, name, rule := found[1], found[2], found[3]
		if rule == "parse error" { // of a boolean flag
			rule = value + ": must be true or false, or stand alone"
		}
		return exit.Usagef("%s is %s", Dashed(name), rule)
	}
	if name, undefined := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); undefined {
		hasFlag := func(c *cli.Command) bool { return flagNamed(c.Flags, name) != nil }
		if c.Command.HelpName == c.App.Name && slices.ContainsFunc(c.App.Commands, hasFlag) {
			return exit.Usagef("%s is a flag of a command: it stands after the command's name", Dashed(name))
		}
		return unknown(c.Command.HelpName, "flag", name, Dashed(name), slices.Concat(c.App.Flags, c.Command.Flags), Dashed)
	}
	if names, found := strings.CutPrefix(err.Error(), "Cannot use two forms of the same flag: "); found {
		one, other, _ := strings.Cut(names, " ")
		return exit.Usagef("%s and %s are the same flag; leave one of them out", Dashed(one), Dashed(other))
	}
	return exit.Usagef("%s; see %s --help", err, c.Command.HelpName)
}

// flagError matches the errors of package flag about a value, the rule behind which is of Value.Set.
var flagError = regexp.MustCompile(`(?s)^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-([^:]+): (.*)$`)

// unknownCommand returns the error for a word that is none of the commands of parent.
func unknownCommand(parent, word string, commands []*cli.Command) error {
	return unknown(parent, "command", word, strconv.Quote(word), commands, strconv.Quote)
}

// unknown returns an error with the most similar of the known names. cli.SuggestFlag and cli.SuggestCommand would suggest one for any
// word.
func unknown[T interface{ Names() []string }](parent, kind, word, quoted string, known []T, quote func(string) string) error {
	hint, similarity := "; see "+parent+" --help", 0.8
	for _, one := range known {
		for _, name := range one.Names() {
			const boostThreshold, prefixSize = 0.7, 4 // as in urfave/cli
			if s := smetrics.JaroWinkler(word, name, boostThreshold, prefixSize); s > similarity && len(name) > 1 {
				hint, similarity = "; did you mean "+quote(name)+"?", s
			}
		}
	}
	return exit.Usagef("%s has no %s %s%s", parent, kind, quoted, hint)
}

// loginAtAddress matches USER:PASSWORD@HOST:PORT.
var loginAtAddress = regexp.MustCompile(`:[^@]*@[^@/]+:[0-9]+(/[0-9]*)?$`)

// hasLogin reports whether a word looks like a URL with a password. Only errors about --redis do not quote one.
func hasLogin(word string) bool {
	_, behind, ok := strings.Cut(word, "://")
	return ok && (strings.Contains(behind, "@") || strings.Contains(behind, "password=")) || loginAtAddress.MatchString(word)
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
