package base

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
)

// Runner is a command whose flags and arguments have been read.
type Runner interface {
	Run(ctx context.Context) error
}

// Action returns an action that reads the command line with read and, unless that failed, runs the command.
func Action(env Env, read func(r *Reader) Runner) cli.ActionFunc {
	return func(c *cli.Context) error {
		r := &Reader{Context: c, Env: env}
		command := read(r)
		if r.Err != nil {
			return r.Err
		}
		return command.Run(c.Context)
	}
}

// Reader reads the flags and arguments of a command. Err is the first mistake. Methods may return zero values after it, so
// Err is checked once, at the end.
type Reader struct {
	*cli.Context
	Env Env
	Err error
	// Own is the prefix of the environment variables of the command's own flags, such as serve for HILO_SERVE_LISTEN. ""
	// means that they have none.
	Own string
}

// Fail records a mistake, unless there was one before or err is nil.
func (r *Reader) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Failf records a usage error, as Fail does.
func (r *Reader) Failf(format string, values ...any) { r.Fail(exit.Usagef(format, values...)) }

// FullName returns the command as the user types it.
func (r *Reader) FullName() string { return r.Command.HelpName }

// Help returns the end of an error, which points to the help.
func (r *Reader) Help() string { return "see " + r.FullName() + " --help" }

// Text returns the value of a flag or, if that is not set, of its environment variable. source is the name of the flag or
// variable, for errors.
func (r *Reader) Text(flag string) (value, source string) {
	if r.IsSet(flag) {
		return r.String(flag), Dashed(flag)
	}
	value, variable := r.FromVariable(flag)
	if value == "" {
		return r.String(flag), Dashed(flag)
	}
	if v, ok := r.Generic(flag).(*Value); ok {
		if err := v.Set(value); err != nil {
			r.Failf("%s is %s", variable, err)
		}
	}
	return value, variable
}

// FromVariable returns the value and the name of the environment variable of a flag or argument. The value is "" if there
// is none. It refuses a URL with a password where none belongs, because errors would quote it.
func (r *Reader) FromVariable(flag string) (value, variable string) {
	if slices.Contains(shared, flag) {
		variable = Variable(flag)
	} else if r.Own != "" {
		variable = Variable(r.Own + "-" + flag)
	}
	value, _ = r.Env.Lookup(variable)
	if hasLogin(value) && !r.IsSet(flag) {
		r.Failf("%s: a URL with a password is not allowed here; name the server with %s", variable, Variable(FlagRedis))
		value = ""
	}
	return value, variable
}

// Switch returns the value of a boolean flag.
func (r *Reader) Switch(flag string) bool {
	text, source := r.Text(flag)
	on, err := strconv.ParseBool(text)
	if err != nil {
		r.Failf("%s is %q: must be true or false", source, text)
	}
	return on
}

// Number returns the value of a flag made by Number or Count, or 0 if it has no default and is not set.
func (r *Reader) Number(flag string) int64 {
	text, _ := r.Text(flag)
	number, _ := strconv.ParseInt(text, 10, 64)
	return number
}

// Period returns the value of a flag made by Duration, or 0 if it has no default and is not set.
func (r *Reader) Period(flag string) time.Duration {
	text, _ := r.Text(flag)
	d, _ := time.ParseDuration(text)
	return d
}

// Collections returns as many names as the flag collections states: name1, name2 and so on, or name alone for one.
func (r *Reader) Collections(name string) []string {
	n := r.Number("collections")
	if n == 1 {
		return []string{name}
	}
	names := make([]string, n)
	for i := range names {
		names[i] = name + strconv.Itoa(i+1)
	}
	return names
}

// Arguments returns the arguments of a command that takes exactly these.
func (r *Reader) Arguments(names ...string) []string {
	given := r.Args().Slice()
	switch {
	case len(given) > len(names):
		counted := "no arguments"
		if len(names) == 1 {
			counted = "one argument"
		}
		r.Failf("%s takes %s: %q is one too many; %s", r.FullName(), counted, given[len(names)], r.Help())
	case len(given) < len(names):
		r.Failf("%s needs a %s; usage: %s", r.FullName(), names[len(given)], r.Command.UsageText)
	default:
		return given
	}
	return make([]string, len(names))
}

// NamedCollections returns the arguments of a command that takes any number of collections or, if there are none, the names
// in its variable, which white space separates.
func (r *Reader) NamedCollections(separator string) []string {
	names, source := r.Args().Slice(), nameOne
	if len(names) == 0 {
		text, variable := r.FromVariable("collections")
		names, source = strings.Fields(text), "correct "+variable
	}
	if len(names) > MostCollections {
		r.Failf("%s takes at most %d collections, and %d are named", r.FullName(), MostCollections, len(names))
	}
	known := make(map[string]bool, len(names))
	for _, name := range names {
		r.Valid(name, separator, source)
		if known[name] {
			r.Failf("collection %q is named twice: name it once", name)
		}
		known[name] = true
	}
	return names
}

// Collection returns the argument of a command that takes one collection.
func (r *Reader) Collection(separator string) string {
	name := r.Arguments("COLLECTION")[0]
	r.Valid(name, separator, nameOne)
	return name
}

// Valid fails if a name is not valid for a collection. The error ends with remedy.
func (r *Reader) Valid(name, separator, remedy string) {
	r.Fail(exit.Invalid(prefix.ValidateCollection(name, separator), remedy))
}

// Identity returns the argument of a command that takes one identity, without a final "|".
func (r *Reader) Identity(separator string) string {
	name := strings.TrimSuffix(r.Arguments("NAME")[0], "|")
	if err := prefix.ValidateCollection(name, separator); err != nil {
		r.Failf("identity: %s; name one such as companies", exit.Plain(err))
	}
	return name
}

// DefaultCollection is the collection of commands that need none to be named.
const DefaultCollection = "orders"

// nameOne is the remedy for a bad name.
const nameOne = "name one such as " + DefaultCollection
