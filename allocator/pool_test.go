package allocator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Other callers hold all connections of the client. That is no outage, and numbers are issued as soon as one is free.
func TestExhaustedPoolIsNoOutage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		opts redis.Options // beside those of the server
	}{
		{"until the end of the attempt", redis.Options{PoolTimeout: time.Minute}},
		{"until the pool gives up", redis.Options{PoolTimeout: 50 * time.Millisecond}},
		{"limited by MaxActiveConns", redis.Options{MaxActiveConns: 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.StartMini(t)
			setPrefix(t, server, "NorthServer/")
			opts := redistest.Options(server)
			opts.PoolSize, opts.PoolTimeout, opts.MaxActiveConns = 2, test.opts.PoolTimeout, test.opts.MaxActiveConns
			client := redis.NewClient(Tune(opts))
			t.Cleanup(func() { _ = client.Close() })
			var held []*redis.Conn
			for range opts.PoolSize {
				conn := client.Conn()
				if err := conn.Ping(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				held = append(held, conn)
			}
			a := mustMulti(t, Options{RefillTimeout: 200 * time.Millisecond}, Server{Name: "north", Client: client})
			_, identity := a.NextIdentity(t.Context(), "companies")
			_, next := a.Next(t.Context(), "orders")
			for what, err := range map[string]error{"identity": identity, "next": next, "check": a.Check(t.Context())} {
				if !errors.Is(err, redis.ErrPoolTimeout) || !Retryable(err) || !strings.Contains(err.Error(), "all 2 connections of the client's pool") ||
					errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: got %v, want redis.ErrPoolTimeout, and a text that names the pool of 2", what, err)
				}
			}
			if s := a.Stats().Servers[0]; !s.Up || s.Err != nil {
				t.Errorf("got up %v, %v, want a server that is up", s.Up, s.Err)
			}
			for _, conn := range held {
				_ = conn.Close()
			}
			id, err := a.Next(t.Context(), "orders")
			for tries := 1; Retryable(err) && tries < 100; tries++ { // an attempt is short
				id, err = a.Next(t.Context(), "orders")
			}
			if err != nil || id != "orders/NorthServer/1" {
				t.Errorf("got %q, %v, want orders/NorthServer/1", id, err)
			}
		})
	}
}

// A server that does not reply is an outage, even if its requests fill the pool.
func TestHungServerIsAnOutageThoughItsRequestsFillThePool(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.StartMini(t))
	opts := redistest.Options(proxy)
	opts.PoolSize = 1
	client := redis.NewClient(Tune(opts))
	t.Cleanup(func() { _ = client.Close() })
	a := mustNew(t, client, Options{RefillTimeout: 200 * time.Millisecond})
	redistest.OpenPool(t, client, 1)
	proxy.Freeze()
	if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrUnavailable) || errors.Is(err, redis.ErrPoolTimeout) {
		t.Errorf("got %v, want ErrUnavailable without redis.ErrPoolTimeout", err)
	}
	if a.Stats().Servers[0].Up {
		t.Error("got a server that is up, want it down")
	}
}

func TestClientOfOneNodeOfAClusterIsNotRetryable(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 3, 0)
			elsewhere := 0
			for _, addr := range cluster.Addrs() {
				client := redis.NewClient(Tune(&redis.Options{Addr: addr}))
				t.Cleanup(func() { _ = client.Close() })
				a := mustNew(t, client, Options{})
				_, err := a.Next(t.Context(), "orders")
				if err == nil {
					continue
				}
				elsewhere++
				_, identity := a.NextIdentity(t.Context(), "companies")
				for what, err := range map[string]error{"next": err, "identity": identity, "check": a.Check(t.Context())} {
					if err == nil || Retryable(err) || !strings.Contains(err.Error(), "redis.NewClusterClient") || !strings.Contains(err.Error(), "MOVED") {
						t.Errorf("%s: got %v, want an error that is not Retryable and names redis.NewClusterClient", what, err)
					}
				}
			}
			if elsewhere != 2 {
				t.Errorf("got %d nodes that do not have the key, want 2", elsewhere)
			}
		})
	}
}
