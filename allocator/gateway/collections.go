package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/prefix"
)

// shown is a counter as hilo list shows it.
type shown struct {
	Collection string              `json:"collection"`
	Max        int64               `json:"max"`
	Ranges     int64               `json:"ranges"`
	Epoch      int64               `json:"epoch"`
	Headroom   []headroom.Headroom `json:"headroom"`
}

// inspected is a counter as hilo inspect shows it.
type inspected struct {
	Collection string              `json:"collection"`
	Kind       allocator.Kind      `json:"kind"`
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
	for counter, err := range a.Counters(ctx) {
		if err != nil {
			fail(w, err)
			return
		}
		all = append(all, shown{counter.Name, counter.Max, counter.Ranges, counter.Epoch, headroom.At(counter.Max, 0)})
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
	counter, err := a.Counter(ctx, name)
	if err != nil {
		fail(w, err)
		return
	}
	show(w, inspected{
		counter.Name, allocator.KindHiLo, counter.Max, counter.Ranges, counter.Epoch, counter.Origin,
		prefix.NewKeys(g.namespace(a.name)).HiLo(name), headroom.At(counter.Max, 0),
	})
}

// admin is that of the master which the request names, or of the first one.
func (g *gateway) admin(r *http.Request) (admin, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return admin{}, invalid("the query cannot be read: %v", err)
	}
	for name, given := range values {
		if name != "server" || len(given) != 1 {
			return admin{}, invalid("parameter %.64q: server is the one that there is, once", name)
		}
	}
	if len(g.admins) == 0 {
		return admin{}, invalid("this gateway shows no counters")
	}
	if !values.Has("server") {
		return g.admins[0], nil
	}
	for _, a := range g.admins {
		if a.name == values.Get("server") {
			return a, nil
		}
	}
	return admin{}, invalid("server %.64q: there is none of that name", values.Get("server"))
}

// namespace is that of a master.
func (g *gateway) namespace(master string) string {
	for _, m := range g.opts.Masters {
		if m.Name == master && m.Namespace != "" {
			return m.Namespace
		}
	}
	return defaultNamespace
}

const defaultNamespace = "Raven"

func show(w http.ResponseWriter, what any) {
	w.Header()["Content-Type"] = jsonType
	w.Header()["Cache-Control"] = noStore
	_ = json.NewEncoder(w).Encode(what) // a client that is gone is told nothing
}
