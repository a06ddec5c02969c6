package gateway

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/prefix"
)

// Options are the settings of a gateway. The zero value issues identifiers and shows no counters. Each other zero means the
// default beside it.
type Options struct {
	// Masters are the servers of the allocator, in its order. Their counters are shown, and RavenDB's half compares them.
	// Default: no counters are shown.
	Masters []Master
	// RavenDB enables RavenDB's clients, which the first of Masters serves unless Client is set. Default nil: they are
	// refused.
	RavenDB *ravendb.Options
	// Tokens are bearer tokens, each of at least 16 bytes, any of which signs a request in. Default: none.
	Tokens []string
	// CurrentTokens replaces Tokens, for tokens that change. It is called for each request. Default nil: Tokens are used.
	CurrentTokens func() access.Tokens
	// ClientCertificates accepts a client certificate that the TLS listener verified as sign-in. Without it and tokens no
	// sign-in is required.
	ClientCertificates bool
	// Loopback is for a listener that only this machine reaches. A request whose Host is neither localhost nor a loopback
	// address is refused with 421: a page could otherwise reach the gateway by a name that resolves to loopback. A proxy in
	// front of it has to send such a Host.
	Loopback bool
	// MaxNames is the greatest number of names that the plain API serves: of collections by their spelling, and of identities. A
	// request for a further one is refused with 429, because neither the allocator nor Redis ever forgets a name. Collections
	// that the allocator used before New are served in any case. RavenDB.MaxNames is the bound of RavenDB's half. Default 100,000.
	MaxNames int
	// Separator is the allocator's. Default "/".
	Separator string
	// Timeout bounds how long a request waits for the server. Default 5 s.
	Timeout time.Duration
	// Collectors are shown by /metrics beside those of the allocator and the gateway.
	Collectors []prometheus.Collector
	// Version is the version in the description of the API. Default: the version of the program's main module.
	Version string
	// Logger gets errors that are sent to no client. Default nil: silent.
	Logger *zap.Logger
}

// Master is one of the servers of the allocator.
type Master struct {
	Name      string                // "" where it is the only one
	Client    redis.UniversalClient // not closed by the gateway
	Namespace string                // default "Raven"
}

// namespace returns the namespace of m.
func (m Master) namespace() string { return cmp.Or(m.Namespace, prefix.DefaultNamespace) }

// withDefaults validates o and replaces its zeros.
func (o Options) withDefaults() (Options, error) {
	o.Separator = cmp.Or(o.Separator, prefix.DefaultSeparator)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.MaxNames = cmp.Or(o.MaxNames, 100_000)
	if build, ok := debug.ReadBuildInfo(); ok {
		o.Version = cmp.Or(o.Version, build.Main.Version)
	}
	o.Version = cmp.Or(o.Version, "unknown")
	o.Logger = cmp.Or(o.Logger, zap.NewNop())
	if err := prefix.ValidateSeparator(o.Separator); err != nil {
		return o, fmt.Errorf("%w: Separator: %w", allocator.ErrInvalidOptions, err)
	}
	if o.Timeout < 0 {
		return o, fmt.Errorf("%w: Timeout is %v: must not be negative", allocator.ErrInvalidOptions, o.Timeout)
	}
	if o.MaxNames < 0 {
		return o, fmt.Errorf("%w: MaxNames is %d: must not be negative", allocator.ErrInvalidOptions, o.MaxNames)
	}
	tokens, err := access.NewTokens(o.Tokens...)
	if err != nil {
		return o, fmt.Errorf("%w: Tokens: %w", allocator.ErrInvalidOptions, err)
	}
	if o.CurrentTokens == nil {
		o.CurrentTokens = tokens.Static()
	}
	names := make(map[string]bool)
	for _, m := range o.Masters {
		if names[m.Name] || m.Name == "" && len(o.Masters) > 1 {
			return o, fmt.Errorf("%w: Masters: the name %q is empty or used twice: each of several masters needs its own", allocator.ErrInvalidOptions, m.Name)
		}
		names[m.Name] = true
	}
	return o, nil
}
