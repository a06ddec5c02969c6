package redistest

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client is what tests use of a *redis.Client to inspect and change a server. No method of a type here takes or returns a
// *redis.Client or its options, because a package that mentions such a type compiles hundreds of methods of go-redis.
type Client interface {
	redis.Cmdable
	Do(ctx context.Context, args ...any) *redis.Cmd
	Close() error
}

// endpoint is the address of a Server, or of a Proxy in front of one.
type endpoint interface {
	Network() string
	Addr() string
}

// Options returns new options of a client, for the caller to change. go-redis resends a command up to three times by itself, so a
// test of lost replies may need MaxRetries of -1.
func Options(to endpoint) *redis.Options {
	return &redis.Options{Network: to.Network(), Addr: to.Addr(), ContextTimeoutEnabled: true, ReadTimeout: time.Minute}
}

// CountDials makes a client with opts count the connections that it opens.
func CountDials(opts *redis.Options) *atomic.Int64 {
	var dials atomic.Int64
	dial := redis.NewDialer(opts)
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return dial(ctx, network, addr)
	}
	return &dials
}

// NewClient returns a new client with Options, which is closed when t ends.
func NewClient(t testing.TB, to endpoint) *redis.Client {
	t.Helper()
	client := redis.NewClient(Options(to))
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// OpenPool makes a client keep n idle connections, each of which was used. Those that were idle before and have ended are replaced: on a
// busy machine the pool learns of that when it uses them.
func OpenPool(t testing.TB, client *redis.Client, n int) {
	t.Helper()
	var open []*redis.Conn
	idle := client.PoolStats().IdleConns
	for len(open) < n {
		conn := client.Conn()
		err := conn.Ping(t.Context()).Err()
		if err == nil {
			open = append(open, conn)
			continue
		}
		_ = conn.Close()
		if idle == 0 {
			t.Fatal(err)
		}
		idle--
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	if idle := client.PoolStats().IdleConns; int(idle) != n {
		t.Fatalf("got %d idle connections, want %d", idle, n)
	}
}

// NewClusterClient returns a new client of a cluster, which is closed when t ends.
func NewClusterClient(t testing.TB, c *Cluster) *redis.ClusterClient {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), ContextTimeoutEnabled: true, ReadTimeout: time.Minute})
	t.Cleanup(func() { _ = client.Close() })
	return client
}
