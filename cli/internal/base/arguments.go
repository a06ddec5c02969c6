package base

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"
	"github.com/xrash/smetrics"

	"github.com/hilo-id/hilo/cli/internal/exit"
)

// Line tells the arguments of a command line from its commands and flags, and says what is wrong with them without quoting
// a password. urfave/cli would take an argument such as " -x" for a flag.
type Line struct {
	Command    *cli.Command // that is named so far: at first hilo itself
	Due        Flag         // whose value is the next word; nil: none
	FlagsEnded bool         // by "--"

	root      *cli.Command
	name      string   // of the command, as the user would type it
	help      bool     // is asked for
	words     []string // commands, flags and their values
	arguments []string
}

// Flag is any flag of urfave/cli: all of them tell what they take.
type Flag interface {
	cli.Flag
	cli.DocGenerationFlag
}

// NewLine is the command line of root, before its first word.
func NewLine(root *cli.Command) *Line { return &Line{Command: root, root: root, name: root.Name} }

// Read takes all words of a command line but the first, which is the program. The mistakes that would make the order a
// guess (an unknown command or flag, a missing value) are found here.
func Read(root *cli.Command, args []string) (*Line, error) {
	l := NewLine(root)
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
	return l.root.Run(ctx, l.Sorted())
}

// Sorted has the words in the order that urfave/cli understands: the program, commands and flags as they stand, "--",
// arguments. What stands after a "--" of the user's own is never a flag.
func (l *Line) Sorted() []string {
	sorted := append([]string{l.root.Name}, l.words...)
	if len(l.arguments) > 0 {
		sorted = append(append(sorted, "--"), l.arguments...)
	}
	return sorted
}

// Take takes the next word. After an error, which is about this word alone, it may go on with others.
func (l *Line) Take(word string) error {
	switch {
	case l.Due != nil: // whatever it looks like
		name := l.Due.Names()[0]
		l.Due = nil
		if hasLogin(word) && !takesURL(name) {
			return errMisplacedURL
		}
		l.words = append(l.words, word)
		return nil
	case l.FlagsEnded || len(word) < 2 || word[0] != '-':
		return l.word(word)
	case word == "--":
		l.FlagsEnded = true
		return nil
	}
	return l.flag(word)
}

// word takes a word that is no flag: the name of a command as long as one is expected, else an argument.
func (l *Line) word(word string) error {
	if hasLogin(word) {
		return errMisplacedURL
	}
	commands := l.Command.Commands
	if len(commands) == 0 {
		l.arguments = append(l.arguments, word)
		return nil
	}
	for _, command := range commands {
		if command.HasName(word) {
			l.Command = command
			l.name += " " + word
			l.words = append(l.words, word)
			return nil
		}
	}
	return unknown(l.name, "command", word, commands, strconv.Quote)
}

// flag takes a flag, with its value where that stands behind "=".
func (l *Line) flag(word string) error {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	if hasLogin(word) && !takesURL(name) {
		return errMisplacedURL
	}
	flag := cmp.Or(flagNamed(l.Command.Flags, name), flagNamed(l.root.Flags, name))
	if flag == nil {
		return l.unknownFlag(name)
	}
	on, err := strconv.ParseBool(value)
	if hasValue && !flag.TakesValue() && err != nil {
		return exit.Usagef("%s is %q: must be true or false, or stand alone", Dashed(name), value)
	}
	if slices.Contains(flag.Names(), HelpName) {
		l.help = on || !hasValue
	}
	l.words = append(l.words, word)
	if flag.TakesValue() && !hasValue {
		l.Due = flag
	}
	return nil
}

func (l *Line) unknownFlag(name string) error {
	hasFlag := func(c *cli.Command) bool { return flagNamed(c.Flags, name) != nil }
	if l.Command == l.root && slices.ContainsFunc(l.root.Commands, hasFlag) {
		return exit.Usagef("%s is a flag of a command: it stands after the command's name", Dashed(name))
	}
	return unknown(l.name, "flag", name, slices.Concat(l.root.Flags, l.Command.Flags), Dashed)
}

// hasLogin reports whether a word looks like a URL with a password in it: where it does not stand behind
// a flag that takes one, it would be quoted as a bad name, number or whatever belongs there.
func hasLogin(word string) bool {
	_, behind, ok := strings.Cut(word, "://")
	return ok && (strings.Contains(behind, "@") || strings.Contains(behind, "password="))
}

var errMisplacedURL = exit.Usagef("a URL stands where none belongs: the server is named with --redis URL")

// named is a flag or a command.
type named interface{ Names() []string }

func unknown[T named](parent, kind, word string, known []T, quote func(string) string) error {
	if near := nearest(word, known); near != "" {
		return exit.Usagef("%s has no %s %s; did you mean %s?", parent, kind, quote(word), quote(near))
	}
	return exit.Usagef("%s has no %s %s; see %s --help", parent, kind, quote(word), parent)
}

// flagNamed is the flag of a name, or nil.
func flagNamed(flags []cli.Flag, name string) Flag {
	for _, flag := range flags {
		if slices.Contains(flag.Names(), name) {
			return flag.(Flag)
		}
	}
	return nil
}

// Dashed is a flag as it stands on a command line.
func Dashed(flag string) string {
	if len(flag) == 1 {
		return "-" + flag
	}
	return "--" + flag
}

// FlagDocuments is a flag of hilo worker. It is named here since its value is a URL, which may hold a password.
const FlagDocuments = "documents"

// takesURL tells whether a flag knows what of its value to keep to itself.
func takesURL(flag string) bool { return flag == FlagRedis || flag == FlagDocuments }

// nearest is the known name that word was most likely meant to be, or "" when none is near: one slip (a letter
// missing, extra, wrong, or swapped with another) in three letters. A word cut short is near as well.
func nearest[T named](word string, known []T) string {
	best, distance := "", 1+len(word)/3
	for _, one := range known {
		for _, name := range one.Names() {
			d := smetrics.WagnerFischer(word, name, 1, 1, 1)
			if swapped := d == 2 && letters(word) == letters(name); swapped || len(word) > 1 && strings.HasPrefix(name, word) {
				d = 1
			}
			if len(name) > 1 && (d < distance || d == distance && best == "" && d < len(word)) {
				best, distance = name, d
			}
		}
	}
	return best
}

// letters are those of a word, in the order of the alphabet.
func letters(word string) string { return string(slices.Sorted(slices.Values([]byte(word)))) }
