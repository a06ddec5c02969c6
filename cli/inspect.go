package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// inspect shows one counter.
type inspect struct {
	globals
	target     target
	Collection string
}

type inspected struct {
	Collection string     `json:"collection"`
	Max        int64      `json:"max"`
	Ranges     int64      `json:"ranges"`
	Epoch      int64      `json:"epoch"`
	Origin     string     `json:"origin"`
	Key        string     `json:"key"`
	Headroom   []headroom `json:"headroom"`
}

// headroom is how far a counter is from a bound that somebody's integers have.
type headroom struct {
	Bound string  `json:"bound"`
	Left  int64   `json:"left"`
	Used  float64 `json:"usedPercent"`
}

func newInspectCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "inspect",
		Usage:     "show all about one counter",
		UsageText: "hilo inspect COLLECTION",
		Description: describe(`
Shows one collection's counter, the Redis key that it stands at, and its headroom:
to 2^31-1, where 32-bit integers end, to 2^53-1, where JavaScript's numbers cease to
be exact, and to 2^63-1, where hilo ends.`,
			[]string{"hilo inspect orders"},
			"1 failed or interrupted", "3 Redis unavailable", "4 there is no such counter"),
		Action: func(c *cli.Context) error {
			i := inspect{}
			var err error
			if i.globals, i.target, err = readServer(c, env); err != nil {
				return err
			}
			if i.Collection, err = takeCollection(c, i.Separator); err != nil {
				return err
			}
			return i.Run(c.Context)
		},
	})
}

func (i inspect) Run(ctx context.Context) error {
	var counter allocator.Counter
	err := i.administer(ctx, i.target, func(m *allocator.Admin) (err error) {
		counter, err = m.Counter(ctx, i.Collection)
		return err
	})
	if errors.Is(err, allocator.ErrNotSeeded) {
		return &failure{code: exitRefused, cause: err, text: fmt.Sprintf("there is no counter for %q in the namespace %s; "+
			"hilo next makes one that begins at 1, hilo seed one that begins higher", i.Collection, i.Namespace)}
	}
	if err != nil {
		return err
	}
	shown := inspected{
		Collection: counter.Name,
		Max:        counter.Max,
		Ranges:     counter.Ranges,
		Epoch:      counter.Epoch,
		Origin:     counter.Origin,
		Key:        prefix.NewKeys(i.Namespace).HiLo(i.Collection),
		Headroom:   headrooms(counter.Max),
	}
	if i.JSON {
		return i.writeJSON(shown)
	}
	return i.print(shown)
}

func (i inspect) print(s inspected) error {
	w := tabwriter.NewWriter(i.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "collection:\t%s\n", s.Collection)
	fmt.Fprintf(w, "Max:\t%d\n", s.Max)
	fmt.Fprintf(w, "ranges:\t%d handed out\n", s.Ranges)
	fmt.Fprintf(w, "epoch:\t%d\n", s.Epoch)
	origin := s.Origin
	if origin == "" {
		origin = "unknown"
	}
	fmt.Fprintf(w, "origin:\t%s\n", origin)
	fmt.Fprintf(w, "in Redis:\tHGETALL '%s'\n", s.Key)
	for _, h := range s.Headroom {
		fmt.Fprintf(w, "to %s:\t%d left, %s used\n", h.Bound, h.Left, percent(h.Used))
	}
	return written(w.Flush())
}

func headrooms(top int64) []headroom {
	var all []headroom
	for _, bound := range []struct {
		name string
		max  int64
	}{
		{"2^31-1", math.MaxInt32},
		{"2^53-1", 1<<53 - 1},
		{"2^63-1", math.MaxInt64},
	} {
		used := min(100, float64(top)/float64(bound.max)*100)
		all = append(all, headroom{Bound: bound.name, Left: max(0, bound.max-top), Used: used})
	}
	return all
}

func percent(used float64) string {
	if used > 0 && used < 0.01 {
		return "less than 0.01%"
	}
	return fmt.Sprintf("%.2f%%", used)
}
