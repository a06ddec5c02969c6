package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/allocator/gateway/internal/gate"
	"github.com/hilo-id/hilo/allocator/gateway/internal/names"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/prefix"
)

// gateway is the handler that New returns.
type gateway struct {
	ids      *allocator.Allocator
	opts     Options
	signIn   access.SignIn
	mux      http.ServeMux
	shown    []master
	names    *names.Map[struct{}] // a collection once for each spelling, as the allocator keeps it, an identity folded and with a bar
	health   health
	measured *measured
	raven    *ravendb.Handler // or nil
	compared *masters         // of RavenDB's half, or nil
	buffers  sync.Pool        // *[]byte, for answers

	crossOrigin http.CrossOriginProtection
}

// master is one master and the access to its counters.
type master struct {
	name string
	keys prefix.Keys
	gate *gate.Gate // of the requests of Admin
	*admin.Admin
}

// New returns the whole server as a handler. It does no I/O and does not close the allocator, which the caller closes after
// the last request. With RavenDB's clients the handler has a method Close(context.Context) error, which is called then, too.
// Errors: allocator.ErrInvalidOptions.
func New(ids *allocator.Allocator, opts Options) (http.Handler, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if ids == nil {
		return nil, fmt.Errorf("gateway: %w: the allocator is nil", allocator.ErrInvalidOptions)
	}
	used := ids.Stats().Collections
	g := &gateway{
		ids: ids, opts: opts, names: names.New[struct{}]("names", max(opts.MaxNames, len(used))), health: health{ids: ids},
		signIn: access.SignIn{Tokens: opts.CurrentTokens, Certificates: opts.ClientCertificates},
	}
	for _, c := range used {
		_, _ = g.names.Admit(c.Name, struct{}{}) // there is space for these
	}
	for _, m := range opts.Masters {
		a, err := admin.New(m.Client, admin.Options{Namespace: m.Namespace, Separator: opts.Separator})
		if err != nil {
			return nil, fmt.Errorf("gateway: master %q: %w", m.Name, err)
		}
		g.shown = append(g.shown, master{m.Name, prefix.NewKeys(m.namespace()), gate.New(), a})
	}
	if opts.RavenDB != nil {
		raven, compared, err := withMasters(*opts.RavenDB, opts.Masters)
		if err != nil {
			return nil, fmt.Errorf("gateway: %w", err)
		}
		g.compared = compared
		if g.raven, err = ravendb.New(raven); err != nil {
			return nil, fmt.Errorf("gateway: %w", err)
		}
	}
	if g.measured, err = newMeasured(ids, g.raven, opts); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g.route()
	return g, nil
}

// Close ends what New began for RavenDB's clients, after the last request. The allocator is the caller's.
func (g *gateway) Close(ctx context.Context) error {
	if g.raven == nil {
		return nil
	}
	err := g.raven.Close(ctx)
	if g.compared != nil {
		err = errors.Join(err, g.compared.Close(ctx))
	}
	return err
}

// route registers every path of the plain API.
func (g *gateway) route() {
	routes := []struct {
		method, path string
		handler      http.HandlerFunc
	}{
		{http.MethodPost, "/v1/ids/{collection}", g.issueIDs},
		{http.MethodPost, "/v1/identities/{name}", g.issueIdentities},
		{http.MethodGet, "/v1/collections", g.showing(showCollections)},
		{http.MethodGet, "/v1/collections/{collection}", g.showing(showCollection)},
		{http.MethodGet, "/v1/openapi.json", describe(g.opts.Version)},
		{http.MethodGet, "/healthz", alive},
		{http.MethodGet, "/readyz", g.health.ready},
		{http.MethodGet, "/metrics", g.measured.page.ServeHTTP},
	}
	for _, r := range routes {
		g.mux.HandleFunc(r.method+" "+r.path, r.handler)
		allow := r.method
		if allow == http.MethodGet {
			allow = "GET, HEAD"
		}
		g.mux.HandleFunc(r.path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allow)
			refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s accepts %s only", r.URL.Path, allow))
		})
	}
	g.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "unknown path; /v1/openapi.json describes all paths")
	})
}

// theirs reports whether a path is one of RavenDB's, which is answered in their form, if only with 501.
func theirs(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "topology", "databases", "cluster", "admin", "build", "certificates", "configuration", "license", "monitoring",
		"info", "operations", "periodic-backup", "rachis", "server", "setup", "studio", "studio-tasks", "debug", "test", "eula":
		return true
	}
	return false
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := g.measured.begin(w)
	defer g.measured.end(m, r)
	raven := theirs(r.URL.Path)
	switch status, why := g.refusal(m, r, raven); {
	case status != 0 && raven:
		ravendb.Refuse(m, r, status, why)
	case status != 0:
		if status == http.StatusUnauthorized {
			m.Header().Set("WWW-Authenticate", "Bearer")
		}
		refuse(m, status, why)
	case raven:
		g.raven.ServeHTTP(m, r)
	default:
		g.mux.ServeHTTP(m, r)
	}
}

// refusal returns the status for a request that is refused before it is routed, and the reason, or 0. theirs reports whether its
// path is one of RavenDB's.
func (g *gateway) refusal(w http.ResponseWriter, r *http.Request, theirs bool) (status int, why string) {
	if why := access.ForeignHost(r); g.opts.Loopback && why != "" {
		return http.StatusMisdirectedRequest, why
	}
	if err := g.checkOrigin(r, theirs); err != nil {
		return http.StatusForbidden, "requests that pages of other origins send are refused: " + err.Error()
	}
	if why := g.signIn.Refusal(r); why != "" && !slices.Contains(openPaths, r.URL.Path) {
		if theirs {
			return http.StatusForbidden, why
		}
		return http.StatusUnauthorized, why
	}
	if status, why := access.Bound(w, r); status != 0 || !theirs || g.raven != nil {
		return status, why
	}
	return http.StatusNotImplemented, "RavenDB's clients are not served by this gateway"
}

// openPaths need no sign-in.
var openPaths = []string{"/healthz", "/readyz", "/v1/openapi.json"}

// checkOrigin returns an error for a request that a page of another origin sent and that could issue identifiers. RavenDB's clients
// take ranges by GET, which a page can send to any server, by an image for example. All their paths, and all under which
// identifiers are issued, are therefore checked for every method.
func (g *gateway) checkOrigin(r *http.Request, theirs bool) error {
	issues := theirs || strings.HasPrefix(r.URL.Path, "/v1/ids/") || strings.HasPrefix(r.URL.Path, "/v1/identities/")
	if issues && r.Method != http.MethodPost {
		r = r.WithContext(r.Context())
		r.Method = http.MethodPost
	}
	return g.crossOrigin.Check(r)
}
