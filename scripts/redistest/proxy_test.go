package redistest

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestProxyPassesCommandsOn(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		client := behind(t, NewProxy(t, s))
		if n, err := client.Incr(t.Context(), "n").Result(); n != 1 || err != nil {
			t.Errorf("INCR gave %d, %v, want 1", n, err)
		}
	})
}

func TestDropReplyLetsTheCommandRun(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		ctx := t.Context()
		proxy := NewProxy(t, s)
		client := behind(t, proxy)

		dropped := proxy.DropReply("incr")
		if err := client.Set(ctx, "other", "command", 0).Err(); err != nil {
			t.Errorf("SET, whose reply was not to be dropped: %v", err)
		}
		if n, err := client.Incr(ctx, "n").Result(); err == nil {
			t.Errorf("INCR gave %d, its reply was not dropped", n)
		}
		select {
		case <-dropped:
		default:
			t.Error("INCR failed, but not because its reply was dropped")
		}
		if n, err := client.Incr(ctx, "n").Result(); n != 2 || err != nil {
			t.Errorf("the INCR after the one with the dropped reply gave %d, %v, want 2", n, err)
		}
	})
}

func TestDropReplyAppliesToOneRequest(t *testing.T) {
	t.Parallel()
	s := StartMini(t)
	proxy := NewProxy(t, s)
	opts := Options(proxy)
	opts.MaxRetries = 3
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })

	proxy.DropReply("INCR")
	proxy.DropReply("INCR")
	if n, err := client.Incr(t.Context(), "n").Result(); n != 3 || err != nil {
		t.Errorf("INCR that go-redis resent gave %d, %v, want 3: two replies were to be dropped", n, err)
	}
}

func TestCutClosesOpenConnectionsOnly(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		proxy := NewProxy(t, s)
		client := behind(t, proxy)
		conn := client.Conn()
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		proxy.Cut()
		if err := conn.Ping(t.Context()).Err(); err == nil {
			t.Error("a cut connection is used")
		}
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("PING on a new connection: %v", err)
		}
	})
}

func TestRefuseClosesNewConnectionsOnly(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		proxy := NewProxy(t, s)
		open, late := behind(t, proxy), behind(t, proxy)
		if err := open.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}

		proxy.Refuse(true)
		if err := late.Ping(t.Context()).Err(); err == nil {
			t.Error("a new connection is not refused")
		}
		if err := open.Ping(t.Context()).Err(); err != nil {
			t.Errorf("PING on an open connection: %v", err)
		}

		proxy.Refuse(false)
		if err := late.Ping(t.Context()).Err(); err != nil {
			t.Errorf("PING on a connection that is no longer refused: %v", err)
		}
	})
}

func TestProxyFollowsARestart(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		client := behind(t, NewProxy(t, s))
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		if err := client.Ping(t.Context()).Err(); err == nil {
			t.Error("a killed server answers")
		}
		s.Restart()
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("PING after the restart: %v", err)
		}
	})
}

func TestClosedProxyIsGone(t *testing.T) {
	t.Parallel()
	proxy := NewProxy(t, StartMini(t))
	client := behind(t, proxy)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	proxy.Close()
	proxy.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err == nil {
		t.Error("a closed proxy answers")
	}
}

// behind returns a client behind the proxy that resends nothing by itself.
func behind(t *testing.T, proxy *Proxy) *redis.Client {
	t.Helper()
	opts := Options(proxy)
	opts.MaxRetries = -1
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
