// Package serve has hilo serve, which gives identifiers out over HTTP, to programs in any language and to RavenDB's own
// clients. It exports its commands and nothing else, and may import the rooms under cli/internal and the library.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// serve gives identifiers out until it is told to stop.
type serve struct {
	*base.Session
	servers        target.Servers
	Collections    []string // to have a range of before the first request
	Listen         string
	MaxConnections int
	TLS            *tls.Config     // nil: without
	gateway        gateway.Options // without what takes clients
	ravendb        ravendb.Options // the same
}

// Command is hilo serve.
func Command(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "give identifiers out over HTTP, also to RavenDB's own clients",
		UsageText: "hilo serve [--listen ADDR] [--database NAME=NAMESPACE]... [--cert FILE --key FILE] [COLLECTION]...",
		Description: base.Describe(`
Serves until it gets SIGTERM or Ctrl-C; then it takes no more requests, answers those
under way, and returns what it did not give out. The first line on stdout is its URL.

  POST /v1/ids/orders?count=2           {"ids":["orders/1","orders/2"]}
  POST /v1/identities/companies         {"ids":["companies/1"]}
  GET  /v1/collections, /v1/collections/orders
  GET  /v1/openapi.json, /healthz, /readyz, /metrics

RavenDB's unmodified clients get their HiLo ranges and identities here, too, from the
first server, which needs a node tag: hilo prefix set --tag A. Identities need the
server to be their home. Each --database names one of RavenDB's and the namespace
behind it; without any the namespace is the database's name in lower case. Behind a
balancer of several gateways say --accept-returns=false: they do not know of each
other's ranges.

On anything but loopback it wants TLS, --cert and --key, and that callers sign in:
with a token of --token-file, one a line, as Authorization: Bearer, or, as RavenDB's
clients do, with a certificate that --client-ca signed. --insecure lets both go.

Every collection is served. Of a COLLECTION that is named a range is taken at the
start, so that not even its first request waits.

It needs no server to start, and is ready again when one is back. Each flag has a
variable, $HILO_SERVE_LISTEN and so on; databases, and the collections of
$HILO_SERVE_COLLECTIONS, have white space between them.`+base.AboutServers,
			[]string{
				"hilo serve",
				"hilo serve orders users",
				"hilo serve --listen 127.0.0.1:0 --redis embedded:",
				"hilo serve --listen :8443 --cert c.pem --key k.pem --client-ca ca.pem --database Shop=Raven",
			},
			"1 failed", "4 the server of a --database has no node tag"),
		Flags: base.ServerFlags(
			&cli.StringFlag{Name: "listen", Usage: "listen at `ADDR`; port 0 picks one", Value: "127.0.0.1:8080"},
			&cli.StringFlag{Name: "max-connections", Usage: "have `N` connections open at once; others wait", Value: "4096"},
			&cli.StringSliceFlag{Name: "database", Usage: "serve RavenDB's database `NAME=NAMESPACE`, such as Shop=Raven; may be repeated"},
			&cli.StringFlag{Name: "public-url", Usage: "tell RavenDB's clients to come to `URL`; else where they came to"},
			&cli.StringFlag{Name: "cert", Usage: "PEM `FILE` of the certificate to serve with"},
			&cli.StringFlag{Name: "key", Usage: "PEM `FILE` of its key"},
			&cli.StringFlag{Name: "client-ca", Usage: "PEM `FILE` of the authorities whose certificates sign callers in"},
			&cli.StringFlag{Name: "token-file", Usage: "`FILE` of the bearer tokens that sign callers in, one a line"},
			&cli.BoolFlag{Name: "insecure", Usage: "serve others than loopback without TLS and sign-in"},
			&cli.BoolFlag{Name: "accept-returns", Usage: "take back what RavenDB's clients return", Value: true, DefaultText: "true"},
		),
		Action: base.Action(env, readServe),
	}
}

// Run returns when ctx has ended, which is how it is meant to end.
func (s *serve) Run(ctx context.Context) error {
	return base.Allocate(ctx, s.Session, s.servers, func(o target.Opened, ids *allocator.Allocator) error {
		s.ravendb.Client, s.gateway.RavenDB = o.Clients[0], &s.ravendb
		for i, t := range o.Targets {
			s.gateway.Masters = append(s.gateway.Masters, gateway.Master{Name: t.Name, Client: o.Clients[i], Namespace: s.Namespace})
		}
		if err := s.check(ctx); err != nil {
			return err
		}
		handler, err := gateway.New(ids, s.gateway)
		if err != nil {
			return err
		}
		s.warm(ctx, ids)
		return s.listen(ctx, handler)
	})
}

// warm has a range of each collection that was named. One that has none is served nevertheless, as soon as it can be.
func (s *serve) warm(ctx context.Context, ids *allocator.Allocator) {
	attempt, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if err := ids.Warm(attempt, s.Collections...); err != nil && ctx.Err() == nil {
		s.Log.Warn("some collections have no range yet; going on without", zap.Error(err))
	}
}

// check refuses databases that nobody could be given ids for. A server that is away is looked at when it is asked for
// something.
func (s *serve) check(ctx context.Context) error {
	opts, named := s.ravendb, len(s.ravendb.Databases) > 0
	if !named {
		opts.Databases = map[string]string{s.Namespace: s.Namespace}
	}
	err := ravendb.Check(ctx, opts)
	switch {
	case err == nil || ctx.Err() != nil: // that it is to end before it began is no fault
		return nil //nolint:nilerr // see above
	case errors.Is(err, ravendb.ErrNoTag) && named:
		return exit.Refusedf("%s", strings.TrimPrefix(err.Error(), "ravendb: "))
	case errors.Is(err, ravendb.ErrNoTag):
		fmt.Fprintf(s.Stderr, "RavenDB's clients are refused: %s; and name their databases, as in --database Shop=%s: without, "+
			"the namespace of each is its name in lower case\n", strings.TrimPrefix(err.Error(), "ravendb: "), s.Namespace)
		return nil
	case errors.Is(err, allocator.ErrUnavailable):
		s.Log.Warn("the server is not there yet; going on without")
		return nil
	}
	return err
}

// listen serves until ctx has ended.
func (s *serve) listen(ctx context.Context, handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("nothing can be served: %w; choose another address with --listen", err)
	}
	server := gateway.NewServer(handler, s.Log)
	scheme, serve := "http", server.Serve
	if s.TLS != nil {
		scheme, server.TLSConfig = "https", s.TLS
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	bounded := gateway.LimitConnections(listener, s.MaxConnections)
	defer bounded.Close()
	url := scheme + "://" + listener.Addr().String()
	if err := s.Show(served{url}, func() error { return s.Printf("%s\n", url) }); err != nil {
		return err
	}
	ended := make(chan struct{})
	byItself := context.AfterFunc(ctx, func() { s.end(ctx, server); close(ended) })
	err = serve(bounded)
	if byItself() { // ctx goes on
		return fmt.Errorf("nothing is served any more: %w", err)
	}
	<-ended
	if !errors.Is(err, http.ErrServerClosed) {
		s.Log.Warn("the listener ended badly", zap.Error(err))
	}
	return nil
}

// end answers what is under way and takes nothing more.
func (s *serve) end(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	began := time.Now()
	if err := server.Shutdown(ctx); err != nil {
		s.Log.Warn("some requests were cut off", zap.Duration("after", time.Since(began)))
		_ = server.Close()
	}
}

// served is what --output json shows.
type served struct {
	URL string `json:"url"`
}
