package base

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
)

// Runner is a command whose flags and arguments are read.
type Runner interface {
	Run(ctx context.Context) error
}

// Action reads a command line and, where nothing is wrong with it, runs what read makes of it.
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

// Reader reads a command line: each call a flag, an argument, or what the global flags select. Err is the first mistake;
// what is read after it is zero, so that Err is checked once, at the end.
type Reader struct {
	*cli.Context
	Env Env
	Err error
	// Own is what the environment variables of the command's own flags begin with, as worker does in HILO_WORKER_COUNT; "":
	// they have none.
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

// Help returns the end of an error, which names the help.
func (r *Reader) Help() string { return "see " + r.FullName() + " --help" }

// Text returns the value of a flag, or of its environment variable where the flag is not given, and the name of the one that
// it comes from.
func (r *Reader) Text(flag string) (value, source string) {
	value, variable := r.FromVariable(flag)
	if value == "" || r.IsSet(flag) {
		return r.String(flag), Dashed(flag)
	}
	if v, ok := r.Generic(flag).(*Value); ok {
		if err := v.Set(value); err != nil {
			r.Failf("%s is %s", variable, err)
		}
		value = v.String()
	}
	return value, variable
}

// FromVariable returns the value of the environment variable of a flag or argument, "" where it has none, and the variable's
// name. It refuses a URL with a password where none belongs, because errors would quote it.
func (r *Reader) FromVariable(flag string) (value, variable string) {
	variable = r.Variable(flag)
	value, _ = r.Env.Lookup(variable)
	if hasLogin(value) && !takesURL(flag) && !r.IsSet(flag) {
		r.Failf("%s: a URL with a password is not allowed here; name the server with %s", variable, Variable(FlagRedis))
		value = ""
	}
	return value, variable
}

// Variable returns the environment variable of a flag or, of collections, an argument. It returns "" where there is none.
func (r *Reader) Variable(flag string) string {
	switch {
	case flagNamed(sharedFlags(), flag) != nil:
		return Variable(flag)
	case r.Own != "":
		return Variable(r.Own + "-" + flag)
	}
	return ""
}

// Switch returns the value of a flag that takes none on the command line.
func (r *Reader) Switch(flag string) bool {
	text, source := r.Text(flag)
	on, err := strconv.ParseBool(text)
	if err != nil {
		r.Failf("%s is %q: must be true or false", source, text)
	}
	return on
}

// Number returns the value of a flag that holds a Number. It is 0 for a flag that has no default and is not given.
func (r *Reader) Number(flag string) int64 {
	text, _ := r.Text(flag)
	number, _ := strconv.ParseInt(text, 10, 64)
	return number
}

// Period returns the value of a flag that holds a Duration. It is 0 for a flag that has no default and is not given.
func (r *Reader) Period(flag string) time.Duration {
	text, _ := r.Text(flag)
	d, _ := time.ParseDuration(text)
	return d
}

// Collections returns as many names as the flag collections demands: name1, name2 and so on, or name alone.
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

// Arguments returns those of a command that takes exactly those named.
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

// NamedCollections returns the arguments of a command that takes any number of collections, or, where none is named, those
// of its variable, with white space between them.
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

// Collection returns the one argument of a command that works on a collection.
func (r *Reader) Collection(separator string) string {
	name := r.Arguments("COLLECTION")[0]
	r.Valid(name, separator, nameOne)
	return name
}

// Valid refuses a name that is not valid for a collection, with what to do about it.
func (r *Reader) Valid(name, separator, remedy string) {
	r.Fail(exit.Invalid(prefix.ValidateCollection(name, separator), remedy))
}

// Identity returns the one argument of a command that works on an identity, without the "|" that it may end in.
func (r *Reader) Identity(separator string) string {
	name := strings.TrimSuffix(r.Arguments("NAME")[0], "|")
	if err := prefix.ValidateCollection(name, separator); err != nil {
		r.Failf("identity: %s; name one such as companies", exit.Plain(err))
	}
	return name
}

// The collection that is used where none is named, what to do about a name that cannot be, and what makes no sense to ask
// for.
const (
	DefaultCollection = "orders"
	nameOne           = "name one such as orders"

	MostWorkers     = 10_000
	MostCollections = 100_000
	MostRate        = 1_000_000_000
)
