package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/prefix"
)

// gateway is the handler that New makes.
type gateway struct {
	ids      *allocator.Allocator
	opts     Options
	mux      *http.ServeMux
	admins   []admin
	signIn   signIn
	measured *measured
	raven    *ravendb.Handler // nil: none
	buffers  sync.Pool        // *[]byte, of answers
	health   health
}

// admin shows the counters of one master.
type admin struct {
	name string
	*allocator.Admin
}

// New makes the whole server as a handler. It does no I/O. The allocator is not
// closed by it: that comes when the last request is answered. Errors:
// allocator.ErrInvalidOptions.
func New(ids *allocator.Allocator, opts Options) (http.Handler, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if ids == nil {
		return nil, fmt.Errorf("gateway: %w: the allocator is nil", allocator.ErrInvalidOptions)
	}
	g := &gateway{ids: ids, opts: opts, mux: http.NewServeMux(), signIn: newSignIn(opts)}
	for _, m := range opts.Masters {
		a, err := allocator.NewAdmin(m.Client, m.Namespace)
		if err == nil {
			a, err = a.WithSeparator(opts.Separator)
		}
		if err != nil {
			return nil, fmt.Errorf("gateway: master %q: %w", m.Name, err)
		}
		g.admins = append(g.admins, admin{m.Name, a})
	}
	if opts.RavenDB != nil {
		raven := *opts.RavenDB
		if raven.Clash == nil {
			raven.Clash = g.clash
		}
		if g.raven, err = ravendb.New(raven); err != nil {
			return nil, fmt.Errorf("gateway: %w", err)
		}
	}
	if g.measured, err = newMeasured(g); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g.route()
	return g, nil
}

// clash is for RavenDB's half, which serves from one master: another one that adds the same, as far as the allocator knows,
// gives the same identifiers.
func (g *gateway) clash(namespace string, adds prefix.Server) error {
	own := slices.IndexFunc(g.opts.Masters, func(m Master) bool { return m.Client == g.opts.RavenDB.Client })
	servers := g.ids.Stats().Servers
	for i := range servers {
		if s := &servers[i]; own >= 0 && s.Name != g.opts.Masters[own].Name && g.namespace(s.Name) == namespace && s.Known && s.Adds.SameAs(adds) {
			return fmt.Errorf("%w: %s has prefix %q and tag %q too", allocator.ErrPrefixConflict, s.Name, adds.ServerPrefix, adds.NodeTag)
		}
	}
	return nil
}

// route names every path of the plain API once.
func (g *gateway) route() {
	routes := []struct {
		method, path string
		handler      http.HandlerFunc
	}{
		{http.MethodPost, "/v1/ids/{collection}", g.giveIDs},
		{http.MethodPost, "/v1/identities/{name}", g.giveIdentities},
		{http.MethodGet, "/v1/collections", g.showCollections},
		{http.MethodGet, "/v1/collections/{collection}", g.showCollection},
		{http.MethodGet, "/v1/openapi.json", g.describe},
		{http.MethodGet, "/healthz", g.alive},
		{http.MethodGet, "/readyz", g.ready},
		{http.MethodGet, "/metrics", g.measured.handler().ServeHTTP},
	}
	for _, r := range routes {
		g.mux.HandleFunc(r.method+" "+r.path, r.handler)
		allow := r.method
		if allow == http.MethodGet {
			allow = "GET, HEAD"
		}
		g.mux.HandleFunc(r.path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allow)
			refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s is answered to %s only", r.URL.Path, allow))
		})
	}
	g.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "there is nothing here; /v1/openapi.json describes what there is")
	})
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := g.measured.begin(w)
	defer g.measured.end(m, r)
	theirs := ravendb.Theirs(r.URL.Path)
	switch status, why := g.signIn.refuses(r); {
	case status != 0 && theirs:
		ravendb.Refuse(m, r, http.StatusForbidden, why)
		return
	case status != 0:
		m.Header().Set("WWW-Authenticate", "Bearer")
		refuse(m, status, why)
		return
	}
	if status, why := bounded(m, r); status != 0 {
		if theirs {
			ravendb.Refuse(m, r, status, why)
		} else {
			refuse(m, status, why)
		}
		return
	}
	switch {
	case theirs && g.raven != nil:
		g.raven.ServeHTTP(m, r)
	case theirs:
		ravendb.Refuse(m, r, http.StatusNotImplemented, "RavenDB's clients are not answered by this gateway")
	default:
		g.mux.ServeHTTP(m, r)
	}
}

// isOpen reports whether a path is answered to everybody.
func isOpen(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/v1/openapi.json"
}
