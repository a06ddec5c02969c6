package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// inspect is the command that shows one counter.
type inspect struct {
	servers
	Kind admin.Kind
	Name string
	Key  string // named in place of a name, or ""
}

type inspected struct {
	Server     string              `json:"server,omitempty"` // of several, its name
	Collection string              `json:"collection"`
	Kind       admin.Kind          `json:"kind"`    // hilo, identity or server-side
	Max        int64               `json:"max"`     // value of an identity
	Ceiling    int64               `json:"ceiling"` // reserved ahead: nothing above it is in use
	Ranges     int64               `json:"ranges"`
	Jumps      int64               `json:"jumps"`
	Born       string              `json:"born,omitempty"`     // time of the first range, missing if none
	Origin     string              `json:"origin"`             // replication id of the server that wrote last; empty if unknown
	Durable    string              `json:"durable"`            // of the server's settings: everysec, always or empty
	MinValue   int64               `json:"minValue,omitempty"` // of the server; missing if none
	MaxValue   int64               `json:"maxValue,omitempty"` // of the server; missing if none
	Key        string              `json:"key"`
	Headroom   []headroom.Headroom `json:"headroom"`
}

// InspectCommand returns hilo inspect.
func InspectCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "show one counter",
		UsageText: "hilo inspect COLLECTION | KEY",
		Description: base.Describe(`
Shows the counter of one collection, the Redis key that holds it, and how many numbers
are left to 2^31-1, the greatest 32-bit integer, to 2^53-1, the greatest integer that
JavaScript holds exactly, and to the limit or, if it is lower, MaxValue of the server.
hilo top shows the time left to each.

A COLLECTION that ends in | names an identity. One that ends in the separator names the
counter of all server-side identifiers. A counter whose name this version of hilo
refuses is named by its KEY in Redis, such as '{Raven}/HiLo/orders'.

With several --redis NAME=URL it shows the counter of each server that has one. The JSON
is a list then.`,
			[]string{"hilo inspect orders", "hilo inspect 'companies|'"},
			"4 there is no such counter"),
		Flags: []cli.Flag{limitFlag()},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			i := inspect{servers: readServers(r), Kind: admin.KindHiLo, Name: r.Arguments("COLLECTION")[0]}
			if strings.HasPrefix(i.Name, "{") { // no name does
				i.Name, i.Key = "", i.Name
				i.Kind = admin.KindOf(prefix.NewKeys(i.Namespace), i.Key)
				if i.Kind == "" {
					r.Failf("%q is the key of no counter in the namespace %s: name one such as '%s', or choose --namespace",
						i.Key, i.Namespace, prefix.NewKeys(i.Namespace).HiLo(base.DefaultCollection))
				}
				return i
			}
			if name, found := strings.CutSuffix(i.Name, "|"); found {
				i.Kind, i.Name = admin.KindIdentity, name
			} else if name, found := strings.CutSuffix(i.Name, i.Separator); found {
				i.Kind, i.Name = admin.KindServerSide, name
			}
			remedy := "name one such as orders"
			if err := prefix.ValidateCollection(i.Name, i.Separator); errors.Is(err, prefix.ErrLookalike) {
				remedy = "name a counter that has such a name by its key, {" + i.Namespace + "}/HiLo/…"
			}
			r.Valid(i.Name, i.Separator, remedy)
			return i
		}),
	}
}

func (i inspect) Run(ctx context.Context) error {
	keys := prefix.NewKeys(i.Namespace)
	see, key := func(m *admin.Admin) (admin.Counter, error) { return m.Counter(ctx, i.Name) }, keys.HiLo(i.Name)
	switch {
	case i.Key != "":
		see, key = func(m *admin.Admin) (admin.Counter, error) { return m.CounterAt(ctx, i.Key) }, i.Key
	case i.Kind == admin.KindIdentity:
		see, key = func(m *admin.Admin) (admin.Counter, error) { return m.Identity(ctx, i.Name) }, keys.Identity(i.Name)
	case i.Kind == admin.KindServerSide:
		see, key = func(m *admin.Admin) (admin.Counter, error) { return m.ServerSide(ctx) }, keys.ServerSide()
	}
	missing := make([]error, len(i.targets))
	seen, errs := i.look(ctx, func(at int, m *admin.Admin) ([]admin.Counter, error) {
		counter, err := see(m)
		if errors.Is(err, allocator.ErrNotSeeded) {
			missing[at] = i.none(ctx, m)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []admin.Counter{counter}, nil
	})
	failure := i.failure(errs)
	if len(seen) == 0 || errors.Is(failure, context.Canceled) {
		return cmp.Or(failure, i.failure(missing))
	}
	for at, err := range missing {
		if err != nil { // of one of several servers
			fmt.Fprintf(i.Stderr, "%s: %s\n", i.targets[at].Name, exit.Plain(err))
		}
	}
	all := make([]inspected, len(seen))
	for n := range seen {
		c := &seen[n]
		all[n] = inspected{
			i.server(c.at), c.Name, i.Kind, c.Max, reserved(&c.Counter), c.Ranges, c.Jumps, born(&c.Counter), c.Origin,
			c.settings.Durable, c.settings.MinValue, c.settings.MaxValue, key, c.room,
		}
	}
	var shown any = all
	if len(i.targets) == 1 {
		shown = all[0]
	}
	return cmp.Or(i.Show(shown, func() error {
		for n := range all {
			if n > 0 {
				fmt.Fprintln(i.Stdout)
			}
			if err := i.print(all[n]); err != nil {
				return err
			}
		}
		return nil
	}), failure)
}

// none returns the error for a counter that does not exist, with a remedy.
func (i inspect) none(ctx context.Context, m *admin.Admin) error {
	if i.Key != "" {
		return exit.Refusedf("there is no counter at the key %q; hilo list shows the counters, and hilo identity list the identities", i.Key)
	}
	what, remedy := fmt.Sprintf("counter for %q", i.Name), "; hilo next makes one that begins at 1, hilo seed one that begins higher"
	switch i.Kind {
	case admin.KindIdentity:
		what, remedy = fmt.Sprintf("identity %q", i.Name), "; hilo identity next makes one that begins at 1, hilo identity seed one that begins higher"
	case admin.KindServerSide:
		what, remedy = "counter of server-side identifiers", fmt.Sprintf("; hilo id %s%s makes it", i.Name, i.Separator)
	case admin.KindHiLo:
		if identity, err := m.Identity(ctx, i.Name); err == nil {
			remedy = fmt.Sprintf(", but an identity, whose value is %d; hilo identity next takes from it, hilo inspect '%s|' shows it", identity.Max, i.Name)
		}
	}
	return exit.Refusedf("there is no %s in the namespace %s%s", what, i.Namespace, remedy)
}

func (i inspect) print(s inspected) error {
	t := i.Table()
	if s.Server != "" {
		t.Add("server:", s.Server)
	}
	switch i.Kind {
	case admin.KindHiLo:
		t.Add("collection:", term.Visible(s.Collection))
		t.Addf("max:", "%d", s.Max)
		t.Addf("ranges:", "%d issued", s.Ranges)
	case admin.KindIdentity:
		t.Add("identity:", term.Visible(s.Collection))
		t.Addf("value:", "%d", s.Max)
	case admin.KindServerSide:
		t.Add("identifiers:", "server-side, of all names")
		t.Addf("value:", "%d", s.Max)
	}
	t.Addf("ceiling:", "%d, and nothing above it is in use", s.Ceiling)
	t.Addf("jumps:", "%d", s.Jumps)
	t.Add("born:", cmp.Or(s.Born, "unknown"))
	t.Add("origin:", cmp.Or(s.Origin, "unknown"))
	t.Add("durable:", cmp.Or(s.Durable, "no"))
	t.Addf("key:", "HGETALL '%s'", term.Visible(s.Key))
	if server := (prefix.Server{MinValue: s.MinValue, MaxValue: s.MaxValue}); server.HasInterval() {
		t.Add("numbers:", interval(i.Session, server))
	}
	for _, h := range s.Headroom {
		t.Add("to "+t.Style.Digits(h.Bound)+":", t.Style.Sprintf("%d left, %s used", h.Left, percent(h)))
	}
	return i.WriteTable(t)
}

// reserved returns the number above which none is in use.
func reserved(c *admin.Counter) int64 { return max(c.Max, c.Ceiling) }

// born returns the time of a counter's first range in UTC, or "".
func born(c *admin.Counter) string {
	if c.Born == 0 {
		return ""
	}
	return time.UnixMilli(c.Born).UTC().Format(time.RFC3339)
}

// percent returns the used share of the headroom. It is 0 or 100 only if that is exact.
func percent(h headroom.Headroom) string {
	switch {
	case h.Used > 0 && h.Used < 0.01:
		return "less than 0.01%"
	case h.Left > 0 && h.Used > 99.99:
		return "more than 99.99%"
	}
	return fmt.Sprintf("%.2f%%", h.Used)
}
