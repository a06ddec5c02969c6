package target

import (
	"context"
	"net/http"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
)

// Gateway has the settings of a gateway on Opened servers. It stands in for gateway.Options, which have clients, so that a
// command that used them would compile the methods of *redis.Client.
type Gateway struct {
	Namespace     string
	Separator     string
	Limit         int64 // 0 means the limit of the library
	SignIn        access.SignIn
	Loopback      bool              // refuse a foreign Host
	Databases     map[string]string // namespaces of RavenDB's databases, by name
	PublicURL     string
	Nodes         []ravendb.Node // other gateways
	IgnoreReturns bool
	MaxNames      int // of each half; 0 means the default of the library
	Log           *zap.Logger
}

// forRavenDB returns the options for RavenDB's clients, which the first server serves. It is not a method, for the same reason.
func forRavenDB(g Gateway, o Opened) ravendb.Options {
	return ravendb.Options{
		Client: universalOf(o.Clients[0]), Databases: g.Databases, PublicURL: g.PublicURL, Nodes: g.Nodes, IgnoreReturns: g.IgnoreReturns,
		Allocator: allocator.Options{Separator: g.Separator, Limit: g.Limit, RefillTimeout: o.Timeout, Logger: g.Log},
		MaxNames:  g.MaxNames,
	}
}

// CheckRavenDB returns the error of ravendb.Check for the databases or, without any, for the namespace.
//
//go:noinline
func (g Gateway) CheckRavenDB(ctx context.Context, o Opened) error {
	if len(g.Databases) == 0 {
		g.Databases = map[string]string{g.Namespace: g.Namespace}
	}
	return ravendb.Check(ctx, forRavenDB(g, o))
}

// Handler returns the gateway.
//
//go:noinline
func (g Gateway) Handler(o Opened, ids *allocator.Allocator) (http.Handler, error) {
	ravens := forRavenDB(g, o)
	opts := gateway.Options{
		RavenDB: &ravens, CurrentTokens: g.SignIn.Tokens, ClientCertificates: g.SignIn.Certificates, Loopback: g.Loopback,
		MaxNames: g.MaxNames, Separator: g.Separator, Timeout: o.Patience(o.Timeout), Logger: g.Log,
	}
	for i, t := range o.Targets {
		opts.Masters = append(opts.Masters, gateway.Master{Name: t.Name, Client: universalOf(o.Clients[i]), Namespace: g.Namespace})
	}
	return gateway.New(ids, opts)
}
