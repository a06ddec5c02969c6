package cli

import (
	crand "crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/prefix"
)

// withFlags is b with what is the command's own.
func (b bench) withFlags(c *cli.Context) (bench, error) {
	b, err := b.withSize(c)
	if err != nil {
		return b, err
	}
	return b.withNames(c)
}

// withSize reads how much is to be done, by how many.
func (b bench) withSize(c *cli.Context) (bench, error) {
	workers, err := parseUpTo("workers", c.String("workers"), mostWorkers)
	if err != nil {
		return b, err
	}
	allocators, err := parseUpTo("allocators", c.String("allocators"), mostWorkers)
	if err != nil {
		return b, err
	}
	if allocators > workers {
		return b, usagef("--allocators is %d: must be at most --workers, %d, since each is used by one at least", allocators, workers)
	}
	b.Workers, b.Allocators = int(workers), int(allocators)
	if c.IsSet("rate") {
		if b.Rate, err = parseUpTo("rate", c.String("rate"), mostRate); err != nil {
			return b, err
		}
	}
	if c.IsSet("warmup") {
		if b.Warmup, err = parseDuration("warmup", c.String("warmup")); err != nil {
			return b, err
		}
	}
	switch {
	case c.IsSet("count") && c.IsSet("duration"):
		return b, usagef("--count and --duration both say when it ends: leave one of them out")
	case c.IsSet("count"):
		b.Count, err = parseNumber("count", c.String("count"), 1)
	case c.IsSet("duration"):
		b.Duration, err = parseDuration("duration", c.String("duration"))
	default:
		b.Duration = 5 * time.Second
	}
	return b, err
}

// withNames reads the collections and the namespace. The user's own namespace is used only if the command line names
// it, and a counter of his only if it names that as well: it is going to be raised by millions.
func (b bench) withNames(c *cli.Context) (bench, error) {
	collections, err := parseUpTo("collections", c.String("collections"), mostCollections)
	if err != nil {
		return b, err
	}
	if pairs := collections * int64(b.Allocators); pairs > mostPairs {
		return b, usagef("--collections and --allocators are %d and %d: their product must be at most %d", collections, b.Allocators, mostPairs)
	}
	b.Keep = c.IsSet(flagNamespace)
	name := defaultCollection
	switch {
	case c.Args().Present():
		if name, err = takeCollection(c, b.Separator); err != nil {
			return b, err
		}
	case b.Keep:
		return b, usagef("%s in a namespace of yours needs a COLLECTION: its counter is going to be raised by all that is issued",
			c.Command.HelpName)
	}
	b.Collections = numbered(name, int(collections))
	if err := prefix.ValidateCollection(b.Collections[len(b.Collections)-1], b.Separator); err != nil {
		return b, invalid(err, "name a shorter one")
	}
	if !b.Keep {
		b.Namespace = benchNamespace + strings.ToLower(crand.Text())
	}
	return b, nil
}

// numbered are name1, name2 and so on, or name alone.
func numbered(name string, n int) []string {
	if n == 1 {
		return []string{name}
	}
	names := make([]string, n)
	for i := range names {
		names[i] = name + strconv.Itoa(i+1)
	}
	return names
}

func parseUpTo(flag, text string, most int64) (int64, error) {
	return numberFrom(dashed(flag), text, 1, most)
}

func parseDuration(flag, text string) (time.Duration, error) {
	return durationFrom(dashed(flag), text)
}

// durationFrom reads a duration of more than 0; source is what an error calls it.
func durationFrom(source, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, usagef("%s is %q: must be a duration such as 5s or 500ms", source, text)
	}
	if d <= 0 {
		return 0, usagef("%s is %s: must be more than 0", source, text)
	}
	return d, nil
}
