package gateway

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/prefix"
)

// Options are the settings of a gateway. The zero value gives out identifiers
// and shows no counters; each other zero means the default beside it.
type Options struct {
	// Masters are where the allocator's counters stand, for what shows them and
	// for /readyz. Default: the counters are not shown.
	Masters []Master
	// RavenDB has RavenDB's clients answered too. Default nil: they are told that
	// they are not.
	RavenDB *ravendb.Options
	// Tokens sign a request in that carries one of them as its bearer token, each
	// of 16 bytes or more. Default: none.
	Tokens []string
	// ClientCertificates signs a request in that came with a client certificate
	// which the TLS listener verified. Where neither this is set nor a token,
	// every request is answered.
	ClientCertificates bool
	// Separator is the allocator's. Default "/".
	Separator string
	// Timeout bounds how long a request waits for the server. Default 5 s.
	Timeout time.Duration
	// Collectors are shown by /metrics beside those of the allocator and the
	// gateway.
	Collectors []prometheus.Collector
	// Version is what the description of the API says. Default: that of the
	// program's main module.
	Version string
	// Logger gets what no caller is told. Default nil: silent.
	Logger *zap.Logger
}

// Master is one of the servers that the allocator takes its ranges from.
type Master struct {
	Name      string                // "" where it is the only one
	Client    redis.UniversalClient // not closed by the gateway
	Namespace string                // default "Raven"
}

const defaultTimeout = 5 * time.Second

// ShortestToken is how many bytes a token needs.
const ShortestToken = 16

// withDefaults checks o and fills its zeros.
func (o Options) withDefaults() (Options, error) {
	if o.Separator == "" {
		o.Separator = prefix.DefaultSeparator
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if build, ok := debug.ReadBuildInfo(); ok && o.Version == "" {
		o.Version = build.Main.Version
	}
	if o.Version == "" {
		o.Version = "unknown"
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if err := prefix.ValidateSeparator(o.Separator); err != nil {
		return o, fmt.Errorf("%w: Separator: %w", allocator.ErrInvalidOptions, err)
	}
	if o.Timeout < 0 {
		return o, fmt.Errorf("%w: Timeout is %v: must not be negative", allocator.ErrInvalidOptions, o.Timeout)
	}
	for i, token := range o.Tokens {
		if len(token) < ShortestToken {
			return o, fmt.Errorf("%w: token %d is %d bytes long: at least %d", allocator.ErrInvalidOptions, i+1, len(token), ShortestToken)
		}
	}
	names := make(map[string]bool)
	for _, m := range o.Masters {
		if names[m.Name] || m.Name == "" && len(o.Masters) > 1 {
			return o, fmt.Errorf("%w: Masters: %q is twice or empty: several need names of their own", allocator.ErrInvalidOptions, m.Name)
		}
		names[m.Name] = true
	}
	return o, nil
}
