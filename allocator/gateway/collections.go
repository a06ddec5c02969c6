package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/prefix"
)

// shown is a counter in the form of hilo list.
type shown struct {
	Collection string              `json:"collection"`
	Max        int64               `json:"max"`
	Ranges     int64               `json:"ranges"`
	Epoch      int64               `json:"epoch"`
	Headroom   []headroom.Headroom `json:"headroom"`
}

// inspected is a counter in the form of hilo inspect.
type inspected struct {
	Collection string              `json:"collection"`
	Kind       admin.Kind          `json:"kind"`
	Max        int64               `json:"max"`
	Ranges     int64               `json:"ranges"`
	Epoch      int64               `json:"epoch"`
	Origin     string              `json:"origin"`
	Key        string              `json:"key"`
	Headroom   []headroom.Headroom `json:"headroom"`
}

func (g *gateway) showCollections(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.Timeout)
	defer cancel()
	a, err := g.admin(r)
	if err != nil {
		fail(w, err)
		return
	}
	all := []shown{}
	if err := a.ask(ctx, func() error {
		low, high, err := a.interval(ctx)
		if err != nil {
			return err
		}
		for counter, err := range a.Counters(ctx) {
			if err != nil {
				return err
			}
			all = append(all, shown{counter.Name, counter.Max, counter.Ranges, counter.Epoch, headroom.Within(low, high, counter.Max, 0)})
		}
		return nil
	}); err != nil {
		fail(w, err)
		return
	}
	slices.SortFunc(all, func(x, y shown) int { return strings.Compare(prefix.Fold(x.Collection), prefix.Fold(y.Collection)) })
	show(w, all)
}

func (g *gateway) showCollection(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.Timeout)
	defer cancel()
	a, err := g.admin(r)
	if err != nil {
		fail(w, err)
		return
	}
	name := r.PathValue("collection")
	var counter admin.Counter
	var low, high int64
	err = a.ask(ctx, func() (err error) {
		if counter, err = a.Counter(ctx, name); err == nil {
			low, high, err = a.interval(ctx)
		}
		return err
	})
	if errors.Is(err, allocator.ErrNotSeeded) {
		writeProblem(w, problem{Type: "ErrNotSeeded", Title: http.StatusText(http.StatusNotFound), Status: http.StatusNotFound, Detail: err.Error()})
		return
	}
	if err != nil {
		fail(w, err)
		return
	}
	show(w, inspected{
		counter.Name, admin.KindHiLo, counter.Max, counter.Ranges, counter.Epoch, counter.Origin,
		a.keys.HiLo(name), headroom.Within(low, high, counter.Max, 0),
	})
}

// ask sends requests to the master when its back-off permits.
func (m master) ask(ctx context.Context, send func() error) error {
	return m.gate.Pass(ctx, func(err error) bool { return statusOf(err) == http.StatusServiceUnavailable }, send)
}

// interval returns the interval of the numbers that the master issues.
func (m master) interval(ctx context.Context) (low, high int64, err error) {
	settings, err := m.ServerPrefix(ctx)
	low, high = settings.Interval()
	return low, high, err
}

// admin returns the master that the request names, or the first one.
func (g *gateway) admin(r *http.Request) (master, error) {
	values, err := query(r, "server")
	if err != nil {
		return master{}, err
	}
	if len(g.admins) == 0 {
		return master{}, invalid("this gateway shows no counters")
	}
	if !values.Has("server") {
		return g.admins[0], nil
	}
	for _, a := range g.admins {
		if a.name == values.Get("server") {
			return a, nil
		}
	}
	return master{}, invalid("unknown server %.64q", values.Get("server"))
}
