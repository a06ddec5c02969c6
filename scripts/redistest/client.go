package redistest

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Client is what tests use of a *redis.Client to look at a server and to change it. No method of a type here takes or
// returns a *redis.Client or its options: a package that mentions such a type compiles hundreds of methods of go-redis.
type Client interface {
	redis.Cmdable
	Do(ctx context.Context, args ...any) *redis.Cmd
	Close() error
}

// endpoint is where a client connects: a Server, or a Proxy in front of one.
type endpoint interface {
	Network() string
	Addr() string
}

// Options are fresh options of a client, for the caller to change. Note that go-redis resends a command up to three times
// by itself; a test of lost replies may want MaxRetries: -1.
func Options(to endpoint) *redis.Options {
	return &redis.Options{Network: to.Network(), Addr: to.Addr(), ContextTimeoutEnabled: true}
}

// NewClient is a new client with Options, closed when t ends.
func NewClient(t testing.TB, to endpoint) *redis.Client {
	t.Helper()
	client := redis.NewClient(Options(to))
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// NewClusterClient is a new client of a cluster, closed when t ends.
func NewClusterClient(t testing.TB, c *Cluster) *redis.ClusterClient {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}
