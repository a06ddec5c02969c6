package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/prefix"
)

// writeJSON writes one JSON value, indented for people, since machines do not mind.
func (g globals) writeJSON(value any) error {
	encoder := json.NewEncoder(g.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return written(encoder.Encode(value))
}

// printf writes a result as text: whole lines, broken between words on a terminal that is too narrow.
func (g globals) printf(format string, values ...any) error {
	_, err := fmt.Fprintf(folded{g.Stdout, logIndent}, format, values...)
	return written(err)
}

// written says which write failed: the operating system's word alone ("broken pipe") could be anything.
func written(err error) error {
	if err != nil {
		return &failure{code: exitFailed, text: "the result could not be written: " + err.Error(), cause: err}
	}
	return nil
}

// takeArguments returns the arguments of a command that takes exactly those named.
func takeArguments(c *cli.Context, names ...string) ([]string, error) {
	given := c.Args().Slice()
	if len(given) > len(names) {
		return nil, usagef("%s takes %s: %q is one too many; see %s --help",
			c.Command.HelpName, counted(len(names)), given[len(names)], c.Command.HelpName)
	}
	if len(given) < len(names) {
		return nil, usagef("%s needs a %s: %s", c.Command.HelpName, names[len(given)], c.Command.UsageText)
	}
	return given, nil
}

func counted(arguments int) string {
	switch arguments {
	case 0:
		return "no arguments"
	case 1:
		return "one argument"
	}
	return strconv.Itoa(arguments) + " arguments"
}

// takeCollection returns the one argument of a command that works on a collection.
func takeCollection(c *cli.Context, separator string) (string, error) {
	given, err := takeArguments(c, "COLLECTION")
	if err != nil {
		return "", err
	}
	if err := prefix.ValidateCollection(given[0], separator); err != nil {
		return "", invalid(err, "name one such as orders")
	}
	return given[0], nil
}

// parseNumber reads a whole number of at least least.
func parseNumber(flag, text string, least int64) (int64, error) {
	return numberFrom(dashed(flag), text, least, math.MaxInt64)
}

// numberFrom reads a whole number in a range; source is what an error calls it.
func numberFrom(source, text string, least, most int64) (int64, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && number < least || errors.Is(err, strconv.ErrRange) && text[0] == '-':
		return 0, usagef("%s is %s: must be %d or more", source, text, least)
	case err == nil && number > most || errors.Is(err, strconv.ErrRange):
		return 0, usagef("%s is %s: must be at most %d", source, text, most)
	case err != nil:
		return 0, usagef("%s is %q: must be a whole number, %d or more", source, text, least)
	}
	return number, nil
}
