// Package run implements the commands of services. serve issues identifiers over HTTP to programs in any language and to RavenDB's
// own clients, until it is stopped. probe checks the health of it, or of a service of yours.
package run

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/web"
	"github.com/hilo-id/hilo/prefix"
)

// serve issues identifiers over HTTP.
type serve struct {
	*base.Session
	servers     target.Servers
	web         *web.Server
	ravens      ravendb.Options // without a client
	Collections []string        // fetched before the first request
}

// ServeCommand returns hilo serve.
func ServeCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "issue ids over HTTP, also to RavenDB's clients",
		UsageText: "hilo serve [COLLECTION]... [--listen ADDR]",
		Description: base.Describe(`
Serves until SIGTERM or Ctrl-C, answers the requests in flight, and returns unused ranges.
The first line on stdout is its URL. It starts without a server, too, and fetches a range
of each COLLECTION before the first request. It serves all others as well.
  POST /v1/ids/orders?count=2           {"ids":["orders/1","orders/2"]}
  POST /v1/identities/companies         {"ids":["companies/1"]}
  GET  /v1/collections, /v1/collections/orders
  GET  /v1/openapi.json, /healthz, /readyz, /metrics

Port 0 picks a free one. TLS and sign-in: hilo help sign-in. RavenDB's clients, with
--database, --node and --accept-returns: hilo help ravendb. Each flag has a variable, as
$HILO_SERVE_LISTEN and $HILO_SERVE_COLLECTIONS; white space separates several values.`,
			[]string{
				"hilo serve orders users",
				"hilo serve --listen :8443 --cert c.pem --key k.pem --client-ca ca.pem",
			}),
		Flags: base.ServerFlags(web.Flags(
			&cli.GenericFlag{Usage: "serve HTTP at `ADDR`", Value: base.Address("127.0.0.1:8080")},
			&cli.StringSliceFlag{Name: "database", Usage: "serve `DB=NAMESPACE` to RavenDB's clients; repeatable"},
			&cli.GenericFlag{Name: "public-url", Usage: "`URL` for RavenDB's clients; else of their request", Value: base.Text("")},
			&cli.StringSliceFlag{Name: "node", Usage: "another gateway for them, as `TAG=URL`; repeatable"},
			&cli.GenericFlag{Name: "limit", Usage: "the greatest number to issue is `N`", DefaultText: "2^63-1", Value: base.Count("", 1)},
			&cli.GenericFlag{Name: "max-names", Usage: "serve at most `N` names", Value: base.Number("100000", 1, math.MaxInt32)},
			&cli.BoolFlag{Name: "accept-returns", Usage: "take back ranges of RavenDB", Value: true, DefaultText: "true"},
		)...),
		Action: base.Action(env, readServe),
	}
}

// Run serves until ctx ends, which is no error.
func (s *serve) Run(ctx context.Context) error {
	return base.Allocate(ctx, s.Session, s.servers, s.ravens.Allocator.Limit, func(o target.Opened, ids *allocator.Allocator) error {
		s.ravens.Client, s.ravens.Allocator.RefillTimeout = o.Clients[0].Redis, o.Timeout
		if err := s.checkRavenDB(ctx); err != nil {
			return err
		}
		s.warm(ctx, ids) // before the handler, which serves these collections whatever --max-names is
		handler, err := s.handler(o, ids)
		if err != nil {
			return err
		}
		defer s.closeHandler(ctx, handler)
		defer inBackground(ctx, func(ctx context.Context) {
			s.warnOfMissingSettings(ctx, o)
			s.warnOfLargeNumbers(ctx, o)
		})()
		return s.web.Serve(ctx, handler)
	})
}

// handler returns the gateway, which the first server serves to RavenDB's clients.
func (s *serve) handler(o target.Opened, ids *allocator.Allocator) (http.Handler, error) {
	opts := gateway.Options{
		RavenDB: &s.ravens, CurrentTokens: s.web.SignIn.Tokens, ClientCertificates: s.web.SignIn.Certificates, Loopback: s.web.Loopback,
		MaxNames: s.ravens.MaxNames, Separator: s.Separator, Timeout: o.Patience(o.Timeout), Logger: s.Log,
	}
	for i, t := range o.Targets {
		opts.Masters = append(opts.Masters, gateway.Master{Name: t.Name, Client: o.Clients[i].Redis, Namespace: s.Namespace})
	}
	return gateway.New(ids, opts)
}

// maxExact is the greatest number that clients which store numbers as doubles represent exactly: Node.js, and Go for identities.
const maxExact = 1<<53 - 1

// inBackground runs work until end is called, so that the first requests do not wait for it.
func inBackground(ctx context.Context, work func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { work(ctx) })
	return func() { cancel(); working.Wait() }
}

// closeHandler ends what the gateway has for RavenDB's clients.
func (s *serve) closeHandler(ctx context.Context, handler http.Handler) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	if c, ok := handler.(interface{ Close(context.Context) error }); ok {
		_ = c.Close(ctx) // ranges of RavenDB's clients are theirs to return
	}
}

// warnOfMissingSettings warns of a server that makes no counters, because it has no settings.
func (s *serve) warnOfMissingSettings(ctx context.Context, o target.Opened) {
	for i, t := range o.Targets {
		operator, err := admin.New(o.Clients[i].Redis, admin.Options{Namespace: s.Namespace, Separator: s.Separator})
		if err != nil {
			return
		}
		if there, err := operator.Initialized(ctx); err == nil && !there {
			s.Log.Warn("the server has no settings, and makes no counters: hilo init if it is new, hilo help recover if it lost its data",
				zap.String("server", t.Name), zap.String("namespace", s.Namespace))
		}
	}
}

// warnOfLargeNumbers warns of numbers that some of RavenDB's clients round, if there are databases.
func (s *serve) warnOfLargeNumbers(ctx context.Context, o target.Opened) {
	if s.ravens.Allocator.Limit > maxExact && len(s.ravens.Databases) > 0 {
		s.Log.Warn("the limit is above 2^53-1: Node.js and Go round such numbers", zap.Int64("limit", s.ravens.Allocator.Limit))
	}
	for _, namespace := range slices.Compact(slices.Sorted(maps.Values(s.ravens.Databases))) {
		operator, err := admin.New(o.Clients[0].Redis, admin.Options{Namespace: namespace, Separator: s.Separator})
		if err != nil {
			return
		}
		for c, err := range operator.States(ctx) {
			if err == nil && c.Kind != admin.KindServerSide && c.Max > maxExact {
				s.Log.Warn("a counter is above 2^53-1: Node.js and Go round such numbers",
					zap.String("namespace", namespace), zap.String("counter", c.Name), zap.Int64("max", c.Max))
				break // one warning is enough
			}
		}
	}
}

// warm fetches a range of each named collection. If that fails, requests fetch them.
func (s *serve) warm(ctx context.Context, ids *allocator.Allocator) {
	attempt, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if err := ids.Warm(attempt, s.Collections...); err != nil && ctx.Err() == nil {
		s.Log.Warn("some collections have no range yet; serving without", zap.Error(err))
	}
}

// checkRavenDB warns if RavenDB's clients cannot be served yet. Each of their requests checks again.
func (s *serve) checkRavenDB(ctx context.Context) error {
	opts := s.ravens
	if len(opts.Databases) == 0 {
		opts.Databases = map[string]string{s.Namespace: s.Namespace}
	}
	switch err := ravendb.Check(ctx, opts); {
	case err == nil || ctx.Err() != nil:
		return nil //nolint:nilerr // ctx ended before the start
	case errors.Is(err, ravendb.ErrNoTag):
		if len(s.ravens.Databases) > 0 { // otherwise RavenDB's clients may not be in use
			s.Log.Warn("RavenDB's clients are refused until the server has a node tag", zap.Error(err))
		}
		return nil
	case errors.Is(err, allocator.ErrUnavailable):
		s.Log.Warn("the server is not available yet; serving without it")
		return nil
	default:
		return err
	}
}

func readServe(r *base.Reader) base.Runner {
	r.Own = "serve"
	s := &serve{Session: r.Session(), servers: r.Servers()}
	s.Collections = r.NamedCollections(s.Separator)
	s.web = web.Read(r, s.Session) // not nil, since --listen has a default
	s.ravens = ravendb.Options{
		MaxNames: int(r.Number("max-names")), IgnoreReturns: !r.Switch("accept-returns"),
		Allocator: allocator.Options{Separator: s.Separator, Limit: r.Number("limit"), Logger: s.Log},
	}
	s.readDatabases(r)
	if text, source := r.Text("public-url"); text != "" {
		s.ravens.PublicURL = readBaseURL(r, text, source)
	}
	s.readNodes(r)
	return s
}

// repeated returns the values of a flag that may be repeated, or of its variable, where white space separates them.
func repeated(r *base.Reader, flag string) (given []string, source string) {
	if given = r.StringSlice(flag); len(given) > 0 {
		return given, base.Dashed(flag)
	}
	text, source := r.FromVariable(flag)
	return strings.Fields(text), source
}

func (s *serve) readDatabases(r *base.Reader) {
	given, source := repeated(r, "database")
	s.ravens.Databases = make(map[string]string)
	seen := make(map[string]bool)
	for _, text := range given {
		name, namespace, found := strings.Cut(text, "=")
		if !found {
			r.Failf("%s is %q: must be NAME=NAMESPACE, such as Shop=Raven", source, text)
			return
		}
		bad := cmp.Or(prefix.ValidateNamespace(name), prefix.ValidateNamespace(namespace))
		r.Fail(exit.Invalid(bad, "correct "+source+" "+strconv.Quote(text)))
		if seen[prefix.Fold(name)] {
			r.Failf("%s names %q twice: names that differ only in letter case are one database", source, name)
		}
		seen[prefix.Fold(name)] = true
		s.ravens.Databases[name] = namespace
	}
}

// readBaseURL returns a URL to which clients append paths.
func readBaseURL(r *base.Reader, text, source string) string {
	if !ravendb.IsBase(text) {
		r.Failf("%s is %q: must be such as https://ids.example.org", source, text)
	}
	return strings.TrimSuffix(text, "/")
}

func (s *serve) readNodes(r *base.Reader) {
	given, source := repeated(r, "node")
	seen := make(map[string]bool)
	for _, text := range given {
		tag, address, found := strings.Cut(text, "=")
		if !found {
			r.Failf("%s is %q: must be TAG=URL, such as B=https://ids2.example.org", source, text)
			return
		}
		r.Fail(exit.Invalid(prefix.Server{NodeTag: tag}.Validate(), "correct "+source+" "+strconv.Quote(text)))
		address = readBaseURL(r, address, source)
		if tag == "" || seen[address] {
			r.Failf("%s is %q: each needs a tag and a URL of its own", source, text)
		}
		seen[address] = true
		s.ravens.Nodes = append(s.ravens.Nodes, ravendb.Node{Tag: tag, URL: address})
	}
	if accept, source := r.Text("accept-returns"); len(given) > 0 && accept == "true" && (r.IsSet("accept-returns") || source != base.Dashed("accept-returns")) {
		r.Failf("%s is true beside --node: none of several gateways has the ranges of the others, so no return is accepted", source)
	}
}
