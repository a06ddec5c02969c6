package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// glance is how counters are looked at.
type glance struct {
	RateOver time.Duration // between two looks; 0: one look, no rate
	Limit    int64         // the greatest number that the allocators give
}

// looked is a counter as it was seen.
type looked struct {
	allocator.Counter
	rate *float64 // numbers a second, nil: not known
	room []headroom
}

func lookFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "rate-over", Usage: "look twice, `DURATION` apart, and show the rate and the time left"},
		&cli.StringFlag{Name: "limit", Usage: "the greatest number `N` to be given, Options.Limit", Value: "9223372036854775807", DefaultText: "2^63-1"},
	}
}

func readLook(c *cli.Context) (glance, error) {
	var l glance
	var err error
	if text := c.String("rate-over"); c.IsSet("rate-over") {
		if l.RateOver, err = time.ParseDuration(text); err != nil || l.RateOver <= 0 {
			return l, usagef("--rate-over is %q: must be a duration of more than 0, such as 2s", text)
		}
	}
	l.Limit, err = parseNumber("limit", c.String("limit"), 1)
	return l, err
}

// at looks once, or twice with a while in between. It gives corrupt state as an error beside what else there is.
func (l glance) at(ctx context.Context, see func() ([]allocator.Counter, error)) ([]looked, error) {
	now, err := see()
	began := time.Now()
	before := make(map[string]int64)
	for _, counter := range now {
		before[counter.Name] = counter.Max
	}
	if l.RateOver > 0 && (err == nil || errors.Is(err, allocator.ErrCorrupt)) {
		select {
		case <-time.After(l.RateOver):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now, err = see()
	}
	took := time.Since(began)
	all := make([]looked, 0, len(now))
	for _, counter := range now {
		seen := looked{Counter: counter}
		rate := 0.0
		if first, found := before[counter.Name]; found && l.RateOver > 0 {
			rate = max(0, float64(counter.Max-first)) / took.Seconds()
			seen.rate = &rate
		}
		seen.room = headroomsTo(l.Limit, counter.Max, rate)
		all = append(all, seen)
	}
	return all, err
}

// listing is a look at all counters of a kind.
type listing struct {
	globals
	glance
	target  target
	all     func(m *allocator.Admin, ctx context.Context) iter.Seq2[allocator.Counter, error]
	Filter  string
	Sort    string
	Reverse bool
}

func listFlags(keys string) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "filter", Usage: "show the names that match `GLOB`, with * ? [a-z], in any letter case"},
		&cli.StringFlag{Name: "sort", Usage: "by `KEY`: " + keys, Value: "name", DefaultText: "name"},
		&cli.BoolFlag{Name: "reverse", Usage: "the other way round", DisableDefaultText: true},
	}, lookFlags()...)
}

// readListing reads the flags of a list. keys are those to sort by, beside headroom and rate.
func readListing(c *cli.Context, env Env, keys ...string) (listing, error) {
	l := listing{Filter: "*", Sort: c.String("sort"), Reverse: c.Bool("reverse")}
	var err error
	if _, err = takeArguments(c); err != nil {
		return l, err
	}
	if l.globals, l.target, err = readServer(c, env); err != nil {
		return l, err
	}
	if c.IsSet("filter") {
		l.Filter = c.String("filter")
	}
	if l.glance, err = readLook(c); err != nil {
		return l, err
	}
	keys = append(keys, "headroom", "rate")
	switch {
	case l.Filter == "":
		return l, usagef("--filter is empty: it takes a glob such as 'ord*'")
	case !slices.Contains(keys, l.Sort):
		return l, usagef("--sort is %q: must be %s", l.Sort, strings.Join(keys, ", "))
	case l.Sort == "rate" && l.RateOver == 0:
		return l, usagef("--sort rate needs --rate-over, the time between two looks")
	}
	return l, nil
}

// Run shows them, also beside corrupt ones.
func (l listing) Run(ctx context.Context, show func([]looked) error) error {
	var all []looked
	err := l.administer(ctx, l.target, func(m *allocator.Admin) (err error) {
		all, err = l.at(ctx, func() ([]allocator.Counter, error) { return l.see(ctx, m.WithFilter(l.Filter)) })
		return err
	})
	if err != nil && !errors.Is(err, allocator.ErrCorrupt) {
		return err
	}
	slices.SortFunc(all, l.compare)
	return cmp.Or(show(all), err)
}

func (l listing) see(ctx context.Context, m *allocator.Admin) (all []allocator.Counter, corrupt error) {
	for counter, err := range l.all(m, ctx) {
		switch {
		case errors.Is(err, allocator.ErrCorrupt): // the others are fine, and are shown
			corrupt = cmp.Or(corrupt, err)
		case err != nil:
			return nil, err
		default:
			all = append(all, counter)
		}
	}
	return all, corrupt
}

// compare has names from a on, the least headroom first, and of all other numbers the greatest.
func (l listing) compare(a, b looked) int {
	order := 0
	switch l.Sort {
	case "max", "value", "headroom": // what is left is the less, the greater Max is
		order = cmp.Compare(b.Max, a.Max)
	case "ranges":
		order = cmp.Compare(b.Ranges, a.Ranges)
	case "epoch":
		order = cmp.Compare(b.Epoch, a.Epoch)
	case "rate":
		order = cmp.Compare(b.perSecond(), a.perSecond())
	}
	order = cmp.Or(order, strings.Compare(prefix.Fold(a.Name), prefix.Fold(b.Name)))
	if l.Reverse {
		return -order
	}
	return order
}

// perSecond is the rate, below all others where it is not known.
func (s looked) perSecond() float64 {
	if s.rate == nil {
		return -1
	}
	return *s.rate
}

// withRoom ends a table's head with what cells gives.
func (l glance) withRoom(t table) table {
	if l.RateOver > 0 {
		t.head = append(t.head, "RATE/S")
	}
	for _, h := range headroomsTo(l.Limit, 0, 0) {
		t.head = append(t.head, h.Bound)
	}
	for range len(t.head) - len(t.right) {
		t.right = append(t.right, true)
	}
	return t
}

// cells are the rate and the time left to each bound, or how much of it is used.
func (l glance) cells(s looked) []string {
	var cells []string
	if l.RateOver > 0 {
		rate := "–"
		if s.rate != nil {
			rate = brief(*s.rate)
		}
		cells = append(cells, rate)
	}
	for _, h := range s.room {
		if l.RateOver > 0 {
			cells = append(cells, h.timeLeft())
		} else {
			cells = append(cells, h.share())
		}
	}
	return cells
}
