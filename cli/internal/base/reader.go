package base

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// Runner is a command whose flags and arguments are read.
type Runner interface {
	Run(ctx context.Context) error
}

// Action reads a command line and, where nothing is wrong with it, runs what read makes of it.
func Action(env Env, read func(r *Reader) Runner) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		r := &Reader{Command: c, Env: env}
		command := read(r)
		if r.Err != nil {
			return r.Err
		}
		return command.Run(ctx)
	}
}

// Reader reads a command line: each call a flag, an argument, or what the global flags say. Err is the first mistake;
// what is read after it is zero, so that nobody has to look before the end.
type Reader struct {
	*cli.Command
	Env Env
	Err error
	// Own is what the environment variables of the command's own flags begin with, as worker does in HILO_WORKER_COUNT; "":
	// they have none.
	Own string
}

// Fail notes a mistake, unless there was one before; nil is none.
func (r *Reader) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Failf is Fail with a usage error.
func (r *Reader) Failf(format string, values ...any) { r.Fail(exit.Usagef(format, values...)) }

// Help is what an error says last: where to read on.
func (r *Reader) Help() string { return "see " + r.FullName() + " --help" }

// Text is the value of a flag, or of its environment variable where it is not given, and which of them it is, as an error
// would name it. A flag that is given and empty is a mistake, as one with a variable of the shell's that is not set: without
// the file of tokens that it was to name, a gateway would be open to all.
func (r *Reader) Text(flag string) (value, source string) {
	variable := r.Variable(flag)
	if value, ok := r.Env.Lookup(variable); ok && value != "" && !r.IsSet(flag) {
		return value, variable
	}
	if value = fmt.Sprint(r.Value(flag)); value == "" && r.IsSet(flag) {
		r.Failf("%s is empty: give it a value, or leave it out", Dashed(flag))
	}
	return value, Dashed(flag)
}

// Variable is the environment variable of a flag or, of collections, an argument; "": it has none.
func (r *Reader) Variable(flag string) string {
	switch {
	case flagNamed(sharedFlags(), flag) != nil:
		return Variable(flag)
	case r.Own != "":
		return Variable(r.Own + "-" + flag)
	}
	return ""
}

// Switch is Text of a flag that takes no value.
func (r *Reader) Switch(flag string) bool {
	text, source := r.Text(flag)
	on, err := strconv.ParseBool(text)
	if err != nil {
		r.Failf("%s is %q: must be true or false", source, text)
	}
	return on
}

// Number reads a whole number from least to most. A flag that has no default and is not given is 0.
func (r *Reader) Number(flag string, least, most int64) int64 {
	text, source := r.Text(flag)
	if r.Err != nil || text == "" {
		return 0
	}
	number, err := strconv.ParseInt(text, 10, 64) // the nearest there is, where it is beyond all
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		r.Failf("%s is %q: must be a whole number, %d or more", source, text, least)
	case number < least:
		r.Failf("%s is %s: must be %d or more", source, text, least)
	case number > most || err != nil:
		r.Failf("%s is %s: must be at most %d", source, text, most)
	default:
		return number
	}
	return 0
}

// Count is a Number without an upper bound.
func (r *Reader) Count(flag string, least int64) int64 { return r.Number(flag, least, math.MaxInt64) }

// Period reads a duration of more than 0, and of least or more. A flag that has no default and is not given is 0.
func (r *Reader) Period(flag string, least time.Duration) time.Duration {
	text, source := r.Text(flag)
	if r.Err != nil || text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.Failf("%s is %q: must be a duration such as 5s or 500ms", source, text)
	case d <= 0:
		r.Failf("%s is %s: must be more than 0", source, text)
	case d < least:
		r.Failf("%s is %s: must be %s or more", source, text, least)
	}
	return d
}

// Address reads where to listen, and which flag or variable says so; rule is what an error demands. A flag that has no default
// and is not given is "".
func (r *Reader) Address(flag, rule string) (address, source string) {
	address, source = r.Text(flag)
	if _, port, err := net.SplitHostPort(address); address != "" && (err != nil || port != "0" && !target.IsPort(port)) {
		r.Failf("%s is %q: must be %s", source, address, rule)
	}
	return address, source
}

// Collections are as many as the flag collections says: name1, name2 and so on, or name alone.
func (r *Reader) Collections(name string, most int64) []string {
	n := r.Number("collections", 1, most)
	if n == 1 {
		return []string{name}
	}
	names := make([]string, n)
	for i := range names {
		names[i] = name + strconv.Itoa(i+1)
	}
	return names
}

// Arguments are those of a command that takes exactly those named.
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
		r.Failf("%s needs a %s: %s", r.FullName(), names[len(given)], r.UsageText)
	default:
		return given
	}
	return make([]string, len(names))
}

// NamedCollections are the arguments of a command that takes any number of collections, or, where none is named, those
// of its variable, with white space between them.
func (r *Reader) NamedCollections(separator string) []string {
	names, source := r.Args().Slice(), nameOne
	if variable := r.Variable("collections"); len(names) == 0 {
		text, _ := r.Env.Lookup(variable)
		names, source = strings.Fields(text), "see to "+variable
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

// Collection is the one argument of a command that works on a collection.
func (r *Reader) Collection(separator string) string {
	name := r.Arguments("COLLECTION")[0]
	r.Valid(name, separator, nameOne)
	return name
}

// Valid refuses what cannot be the name of a collection, and says what to do about it.
func (r *Reader) Valid(name, separator, remedy string) {
	r.Fail(exit.Invalid(prefix.ValidateCollection(name, separator), remedy))
}

// Identity is the one argument of a command that works on an identity, without the "|" that it may end in.
func (r *Reader) Identity(separator string) string {
	name := strings.TrimSuffix(r.Arguments("NAME")[0], "|")
	if err := prefix.ValidateCollection(name, separator); err != nil {
		r.Failf("identity: %s; name one such as companies", exit.Plain(err))
	}
	return name
}

// Choice is the value of a flag that has to be one of words; rule says so in an error.
func (r *Reader) Choice(flag, rule string, words ...string) string {
	text, source := r.Text(flag)
	if !slices.Contains(words, text) {
		r.Failf("%s is %q: must be %s", source, text, rule)
	}
	return text
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
