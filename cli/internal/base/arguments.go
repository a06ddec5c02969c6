package base

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/exit"
)

// arrangement sorts a command line: urfave/cli takes whatever follows the first argument for an argument too, and
// knows global flags only before the command.
type arrangement struct {
	app     *cli.App
	command *cli.Command // nil: none named yet

	global, path, local, arguments []string
}

// Arrange puts args into the order that app.Run understands: the program, global flags, the command, its flags,
// "--", its arguments. What stands after a "--" of the user's own is never a flag. The mistakes that would make
// the order a guess (an unknown command or flag, a missing value) are found here.
func Arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return []string{app.Name}, nil
	}
	a := arrangement{app: app}
	flagsEnded := false
	for rest := args[1:]; len(rest) > 0; {
		word := rest[0]
		rest = rest[1:]
		var err error
		switch {
		case flagsEnded || len(word) < 2 || word[0] != '-':
			err = a.word(word)
		case word == "--":
			flagsEnded = true
		default:
			rest, err = a.flag(word, rest)
		}
		if err != nil {
			return nil, err
		}
	}
	sorted := slices.Concat(args[:1], a.global, a.path, a.local)
	if len(a.arguments) > 0 {
		sorted = append(append(sorted, "--"), a.arguments...)
	}
	return sorted, nil
}

// word takes a word that is no flag: the name of a command as long as one is expected, else an argument.
func (a *arrangement) word(word string) error {
	if hasLogin(word) {
		return misplacedURL()
	}
	commands := a.app.Commands
	if a.command != nil {
		commands = a.command.Subcommands
	}
	if len(commands) == 0 {
		a.arguments = append(a.arguments, word)
		return nil
	}
	for _, command := range commands {
		if command.HasName(word) {
			a.command = command
			a.path = append(a.path, word)
			return nil
		}
	}
	return unknownCommand(a.name(), word, commands)
}

// flag takes one flag, and from rest its value when it needs one.
func (a *arrangement) flag(word string, rest []string) ([]string, error) {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	takesURL := name == FlagRedis || name == FlagDocuments // and knows what to keep to itself
	if !takesURL && hasLogin(word) {
		return nil, misplacedURL()
	}
	flag, list := a.find(name)
	if flag == nil {
		return nil, a.unknownFlag(name)
	}
	*list = append(*list, word)
	documented, ok := flag.(cli.DocGenerationFlag)
	takesValue := ok && documented.TakesValue()
	switch _, err := strconv.ParseBool(value); {
	case hasValue && !takesValue && err != nil:
		return nil, exit.Usagef("%s is %q: must be true or false, or stand alone", Dashed(name), value)
	case hasValue || !takesValue:
		return rest, nil
	case len(rest) == 0:
		return nil, exit.Usagef("%s needs a value; see %s --help", Dashed(name), a.name())
	case !takesURL && hasLogin(rest[0]):
		return nil, misplacedURL()
	}
	*list = append(*list, rest[0])
	return rest[1:], nil
}

// find finds a flag of the command, or a global one, and the list it goes to. Help is about the command that is
// named, wherever it is asked for.
func (a *arrangement) find(name string) (cli.Flag, *[]string) {
	if a.command != nil {
		if flag := flagNamed(a.command.Flags, name); flag != nil {
			return flag, &a.local
		}
	}
	flag := flagNamed(a.app.Flags, name)
	if flag != nil && slices.Contains(flag.Names(), HelpName) {
		return flag, &a.local
	}
	return flag, &a.global
}

func (a *arrangement) unknownFlag(name string) error {
	if a.command == nil && slices.ContainsFunc(a.app.Commands, func(c *cli.Command) bool {
		return flagNamed(c.Flags, name) != nil
	}) {
		return exit.Usagef("%s is a flag of a command: it stands after the command's name", Dashed(name))
	}
	flags := a.app.Flags
	if a.command != nil {
		flags = slices.Concat(flags, a.command.Flags)
	}
	var known []string
	for _, flag := range flags {
		known = append(known, flag.Names()...)
	}
	return unknown(a.name(), "flag", name, known, Dashed)
}

// name is the command as the user would type it.
func (a *arrangement) name() string {
	return strings.Join(append([]string{a.app.Name}, a.path...), " ")
}

// hasLogin reports whether a word looks like a URL with a password in it: where it does not stand behind
// a flag that takes one, it would be quoted as a bad name, number or whatever belongs there.
func hasLogin(word string) bool {
	_, behind, ok := strings.Cut(word, "://")
	return ok && (strings.Contains(behind, "@") || strings.Contains(behind, "password="))
}

func misplacedURL() error {
	return exit.Usagef("a URL stands where none belongs: the server is named with --redis URL")
}

func unknownCommand(parent, word string, commands []*cli.Command) error {
	var known []string
	for _, command := range commands {
		known = append(known, command.Names()...)
	}
	return unknown(parent, "command", word, known, strconv.Quote)
}

func unknown(parent, kind, word string, known []string, quote func(string) string) error {
	if near := nearest(word, known); near != "" {
		return exit.Usagef("%s has no %s %s; did you mean %s?", parent, kind, quote(word), quote(near))
	}
	return exit.Usagef("%s has no %s %s; see %s --help", parent, kind, quote(word), parent)
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, flag := range flags {
		if slices.Contains(flag.Names(), name) {
			return flag
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

// nearest is the known word that word was most likely meant to be, or "" when none is near: one slip (a letter
// missing, extra, wrong, or swapped with its neighbour) in three letters. A word cut short is near as well.
func nearest(word string, known []string) string {
	best, distance := "", 1+len(word)/3
	for _, candidate := range known {
		if len(candidate) < 2 {
			continue
		}
		d := slips(word, candidate)
		if len(word) > 1 && strings.HasPrefix(candidate, word) {
			d = 1
		}
		if d < distance || d == distance && best == "" && d < len(word) {
			best, distance = candidate, d
		}
	}
	return best
}

// slips is the optimal string alignment distance of a and b.
func slips(a, b string) int {
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
