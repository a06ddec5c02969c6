package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// arrangement sorts a command line: urfave/cli takes whatever follows the first argument for an argument too, and
// knows global flags only before the command.
type arrangement struct {
	app     *cli.App
	command *cli.Command // nil: none named yet

	global, path, local, arguments []string
}

// arrange puts args into the order that app.Run understands: the program, global flags, the command, its flags,
// "--", its arguments. What stands after a "--" of the user's own is never a flag. The mistakes that would make
// the order a guess (an unknown command or flag, a missing value) are found here.
func arrange(app *cli.App, args []string) ([]string, error) {
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
	dashless := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	name, value, hasValue := strings.Cut(dashless, "=")
	if !takesURL(name) && hasLogin(word) {
		return nil, misplacedURL()
	}
	flag, list := a.find(name)
	if flag == nil {
		return nil, a.unknownFlag(name)
	}
	*list = append(*list, word)
	documented, ok := flag.(cli.DocGenerationFlag)
	if !ok || !documented.TakesValue() {
		if hasValue {
			if _, err := strconv.ParseBool(value); err != nil {
				return nil, usagef("%s is %q: must be true or false, or stand alone", dashed(name), value)
			}
		}
		return rest, nil
	}
	if hasValue {
		return rest, nil
	}
	if len(rest) == 0 {
		return nil, usagef("%s needs a value; see %s --help", dashed(name), a.name())
	}
	if !takesURL(name) && hasLogin(rest[0]) {
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
	if flag != nil && slices.Contains(flag.Names(), helpName) {
		return flag, &a.local
	}
	return flag, &a.global
}

func (a *arrangement) unknownFlag(name string) error {
	if a.command == nil && slices.ContainsFunc(a.app.Commands, func(c *cli.Command) bool {
		return flagNamed(c.Flags, name) != nil
	}) {
		return usagef("%s is a flag of a command: it stands after the command's name", dashed(name))
	}
	known := flagNames(a.app.Flags)
	if a.command != nil {
		known = append(known, flagNames(a.command.Flags)...)
	}
	if near := nearest(name, known); near != "" {
		return usagef("%s has no flag %s; did you mean %s?", a.name(), dashed(name), dashed(near))
	}
	return usagef("%s has no flag %s; see %s --help", a.name(), dashed(name), a.name())
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

// takesURL reports whether the flag of that name knows what to keep to itself.
func takesURL(flag string) bool { return flag == flagRedis || flag == flagDocuments }

func misplacedURL() error {
	return usagef("a URL stands where none belongs: the server is named with --redis URL")
}

func unknownCommand(parent, word string, commands []*cli.Command) error {
	var known []string
	for _, command := range commands {
		known = append(known, command.Names()...)
	}
	if near := nearest(word, known); near != "" {
		return usagef("%s has no command %q; did you mean %q?", parent, word, near)
	}
	return usagef("%s has no command %q; see %s --help", parent, word, parent)
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, flag := range flags {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, flag := range flags {
		names = append(names, flag.Names()...)
	}
	return names
}

func dashed(flag string) string {
	if len(flag) == 1 {
		return "-" + flag
	}
	return "--" + flag
}
