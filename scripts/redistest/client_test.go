package redistest

import (
	"context"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Nothing shows beforehand that the connections have ended.
func TestOpenPoolReplacesConnectionsThatHaveEnded(t *testing.T) {
	t.Parallel()
	proxy := NewProxy(t, StartMini(t))
	opts := Options(proxy)
	opts.MaxRetries, opts.PoolSize = -1, 4
	below := redis.NewDialer(opts)
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := below(ctx, network, addr)
		return struct{ net.Conn }{c}, err // which has no socket that could be tested
	}
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	OpenPool(t, client, 4)
	proxy.Cut()
	OpenPool(t, client, 4)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("a connection of the new pool: %v", err)
	}
}
