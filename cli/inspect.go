package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// inspect shows one counter.
type inspect struct {
	globals
	glance
	target target
	Kind   allocator.Kind
	Name   string
}

type inspected struct {
	Collection string         `json:"collection"`
	Kind       allocator.Kind `json:"kind"` // hilo, identity or server-side
	Max        int64          `json:"max"`  // an identity's value
	Ranges     int64          `json:"ranges"`
	Epoch      int64          `json:"epoch"`
	Origin     string         `json:"origin"` // replication id of the server that wrote last; empty: unknown
	Key        string         `json:"key"`
	Rate       *float64       `json:"perSecond,omitempty"` // with --rate-over
	Headroom   []headroom     `json:"headroom"`
}

func newInspectCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "inspect",
		Usage:     "show all about one counter",
		UsageText: "hilo inspect COLLECTION [--rate-over DURATION]",
		Description: describe(`
Shows one collection's counter, the Redis key that it stands at, and its headroom:
to 2^31-1, where 32-bit integers end, to 2^53-1, where JavaScript's numbers cease to
be exact, and to the limit, where hilo ends; with --rate-over, which looks twice, the
time left to each at the rate between the looks.

A COLLECTION that ends in | is an identity, and one that ends in the separator the
counter of all server-side identifiers.`,
			[]string{"hilo inspect orders", "hilo inspect orders --rate-over 1m", "hilo inspect 'companies|'"},
			"1 failed or interrupted", "3 Redis unavailable", "4 there is no such counter"),
		Flags: lookFlags(),
		Action: func(c *cli.Context) error {
			i := inspect{Kind: allocator.KindHiLo}
			var err error
			if i.globals, i.target, err = readServer(c, env); err != nil {
				return err
			}
			given, err := takeArguments(c, "COLLECTION")
			if err != nil {
				return err
			}
			i.Name = given[0]
			for kind, mark := range map[allocator.Kind]string{allocator.KindIdentity: "|", allocator.KindServerSide: i.Separator} {
				if name, found := strings.CutSuffix(given[0], mark); found {
					i.Kind, i.Name = kind, name
				}
			}
			if err := prefix.ValidateCollection(i.Name, i.Separator); err != nil {
				return invalid(err, "name one such as orders")
			}
			if i.glance, err = readLook(c); err != nil {
				return err
			}
			return i.Run(c.Context)
		},
	})
}

func (i inspect) Run(ctx context.Context) error {
	var seen []looked
	err := i.administer(ctx, i.target, func(m *allocator.Admin) (err error) {
		seen, err = i.at(ctx, func() ([]allocator.Counter, error) {
			counter, err := i.see(ctx, m)
			if errors.Is(err, allocator.ErrNotSeeded) {
				err = i.none(ctx, m)
			}
			if err != nil {
				return nil, err
			}
			return []allocator.Counter{counter}, nil
		})
		return err
	})
	if err != nil {
		return err
	}
	counter := seen[0]
	keys := prefix.NewKeys(i.Namespace)
	shown := inspected{
		Collection: counter.Name,
		Kind:       i.Kind,
		Max:        counter.Max,
		Ranges:     counter.Ranges,
		Epoch:      counter.Epoch,
		Origin:     counter.Origin,
		Key: map[allocator.Kind]string{
			allocator.KindHiLo: keys.HiLo(i.Name), allocator.KindIdentity: keys.Identity(i.Name), allocator.KindServerSide: keys.ServerSide(),
		}[i.Kind],
		Rate:     counter.rate,
		Headroom: counter.room,
	}
	if i.JSON {
		return i.writeJSON(shown)
	}
	return i.print(shown)
}

func (i inspect) see(ctx context.Context, m *allocator.Admin) (allocator.Counter, error) {
	switch i.Kind {
	case allocator.KindIdentity:
		return m.Identity(ctx, i.Name)
	case allocator.KindServerSide:
		return m.ServerSide(ctx)
	case allocator.KindHiLo:
	}
	return m.Counter(ctx, i.Name)
}

// none says what to do where there is no such counter.
func (i inspect) none(ctx context.Context, m *allocator.Admin) error {
	what, remedy := fmt.Sprintf("counter for %q", i.Name), "; hilo next makes one that begins at 1, hilo seed one that begins higher"
	switch i.Kind {
	case allocator.KindIdentity:
		what, remedy = fmt.Sprintf("identity %q", i.Name), "; hilo identity next makes one that begins at 1, hilo identity seed one that begins higher"
	case allocator.KindServerSide:
		what, remedy = "counter of server-side identifiers", fmt.Sprintf("; hilo id %s%s makes it", i.Name, i.Separator)
	case allocator.KindHiLo:
		if identity, err := m.Identity(ctx, i.Name); err == nil {
			remedy = fmt.Sprintf(", but an identity, whose value is %d; hilo identity next takes from it, hilo inspect '%s|' shows it", identity.Max, i.Name)
		}
	}
	return refusedf("there is no %s in the namespace %s%s", what, i.Namespace, remedy)
}

func (i inspect) print(s inspected) error {
	var lines strings.Builder
	w := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	switch i.Kind {
	case allocator.KindHiLo:
		fmt.Fprintf(w, "collection:\t%s\n", s.Collection)
		fmt.Fprintf(w, "Max:\t%d\n", s.Max)
		fmt.Fprintf(w, "ranges:\t%d handed out\n", s.Ranges)
	case allocator.KindIdentity:
		fmt.Fprintf(w, "identity:\t%s\n", s.Collection)
		fmt.Fprintf(w, "Value:\t%d\n", s.Max)
	case allocator.KindServerSide:
		fmt.Fprintf(w, "identifiers:\tserver-side, of all names\n")
		fmt.Fprintf(w, "Value:\t%d\n", s.Max)
	}
	fmt.Fprintf(w, "epoch:\t%d\n", s.Epoch)
	origin := s.Origin
	if origin == "" {
		origin = "unknown"
	}
	fmt.Fprintf(w, "origin:\t%s\n", origin)
	fmt.Fprintf(w, "in Redis:\tHGETALL '%s'\n", s.Key)
	if s.Rate != nil {
		fmt.Fprintf(w, "rate:\t%s a second, over %s\n", brief(*s.Rate), i.RateOver)
	}
	for _, h := range s.Headroom {
		fmt.Fprintf(w, "to %s:\t%d left, %s used", h.Bound, h.Left, h.percent())
		if h.SecondsLeft != nil {
			fmt.Fprintf(w, ", %s", h.timeLeft())
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a strings.Builder takes all
	return i.printf("%s", &lines)
}
