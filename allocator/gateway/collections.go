package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/gate"
	"github.com/hilo-id/hilo/allocator/gateway/internal/respond"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/prefix"
)

// shown is a counter in the form of hilo list.
type shown struct {
	Collection string              `json:"collection"`
	Max        int64               `json:"max"`
	Ceiling    int64               `json:"ceiling"`
	Ranges     int64               `json:"ranges"`
	Jumps      int64               `json:"jumps"`
	Born       string              `json:"born,omitempty"`
	Headroom   []headroom.Headroom `json:"headroom"`
}

// inspected is a counter in the form of hilo inspect.
type inspected struct {
	Collection string              `json:"collection"`
	Kind       admin.Kind          `json:"kind"`
	Max        int64               `json:"max"`
	Ceiling    int64               `json:"ceiling"`
	Ranges     int64               `json:"ranges"`
	Jumps      int64               `json:"jumps"`
	Born       string              `json:"born,omitempty"`
	Origin     string              `json:"origin"`
	Durable    string              `json:"durable"`
	MinValue   int64               `json:"minValue,omitempty"`
	MaxValue   int64               `json:"maxValue,omitempty"`
	Key        string              `json:"key"`
	Headroom   []headroom.Headroom `json:"headroom"`
}

// born returns the time of a counter's first range, or "" if there was none.
func born(c *admin.Counter) string {
	if c.Born == 0 {
		return ""
	}
	return time.UnixMilli(c.Born).UTC().Format(time.RFC3339)
}

// showing returns a handler that shows what read finds at the master that the request names, or at the first one.
func (g *gateway) showing(read func(context.Context, master, *http.Request) (any, error)) http.HandlerFunc {
	format := respond.Format{Type: jsonType[0], Timeout: g.opts.Timeout, Fail: failShown}
	return format.Handler(http.StatusOK, func(ctx context.Context, q *form.Query) (any, error) {
		m, err := g.master(q)
		if err != nil {
			return nil, err
		}
		return gate.Pass(ctx, m.gate, func() (any, error) { return read(ctx, m, q.Request) })
	})
}

// failShown is fail, but a counter that does not exist is not found.
func failShown(w http.ResponseWriter, _ *http.Request, err error) {
	if errors.Is(err, allocator.ErrNotSeeded) {
		writeProblem(w, http.StatusNotFound, "ErrNotSeeded", err.Error())
		return
	}
	fail(w, err)
}

// master returns the master that the request names, or the first one.
func (g *gateway) master(q *form.Query) (master, error) {
	q.Only("server")
	switch {
	case q.Err != nil:
		return master{}, q.Err
	case len(g.shown) == 0:
		return master{}, sentinel.Invalidf("this gateway shows no counters")
	case !q.Has("server"):
		return g.shown[0], nil
	}
	for _, m := range g.shown {
		if m.name == q.Get("server") {
			return m, nil
		}
	}
	return master{}, sentinel.Invalidf("unknown server %.64q", q.Get("server"))
}

func showCollections(ctx context.Context, m master, _ *http.Request) (any, error) {
	settings, err := m.ServerPrefix(ctx)
	if err != nil {
		return nil, err
	}
	low, high := settings.Interval()
	all := []shown{}
	for counter, err := range m.Counters(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, shown{
			counter.Name, counter.Max, counter.Ceiling, counter.Ranges, counter.Jumps, born(&counter),
			headroom.Within(low, high, counter.Max, 0),
		})
	}
	slices.SortFunc(all, func(x, y shown) int { return strings.Compare(prefix.Fold(x.Collection), prefix.Fold(y.Collection)) })
	return all, nil
}

func showCollection(ctx context.Context, m master, r *http.Request) (any, error) {
	name := r.PathValue("collection")
	counter, err := m.Counter(ctx, name)
	if err != nil {
		return nil, err
	}
	settings, err := m.ServerPrefix(ctx)
	low, high := settings.Interval()
	return inspected{
		counter.Name, admin.KindHiLo, counter.Max, counter.Ceiling, counter.Ranges, counter.Jumps, born(&counter), counter.Origin,
		settings.Durable, settings.MinValue, settings.MaxValue, m.keys.HiLo(name), headroom.Within(low, high, counter.Max, 0),
	}, err
}
