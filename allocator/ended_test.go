package allocator

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// balancer passes connections on to a server, with or without TLS, and can close them while the server stays.
type balancer struct {
	addr   string
	client *tls.Config // nil without TLS

	mu    sync.Mutex
	links []net.Conn
}

func newBalancer(t *testing.T, s *redistest.Server, withTLS bool) *balancer {
	t.Helper()
	b := new(balancer)
	var config *tls.Config
	if withTLS {
		site := httptest.NewTLSServer(nil) // for its certificate
		t.Cleanup(site.Close)
		config, b.client = site.TLS, &tls.Config{RootCAs: site.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com"}
	}
	b.addr = redistest.Listen(t, func(client net.Conn) {
		if config != nil {
			client = tls.Server(client, config)
		}
		defer func() { _ = client.Close() }()
		server, err := (&net.Dialer{}).DialContext(t.Context(), s.Network(), s.Addr())
		if err != nil {
			return
		}
		b.mu.Lock()
		b.links = append(b.links, client, server)
		b.mu.Unlock()
		var both sync.WaitGroup
		both.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
		both.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
		both.Wait()
	})
	return b
}

// cut closes all connections.
func (b *balancer) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.links {
		_ = c.Close()
	}
	b.links = nil
}

// pooled returns a tuned client with connections that are open and idle.
func (b *balancer) pooled(t *testing.T, size int, hidden bool) *redis.Client {
	t.Helper()
	opts := &redis.Options{Addr: b.addr, PoolSize: size, TLSConfig: b.client, DialTimeout: time.Minute}
	if hidden {
		below := redis.NewDialer(opts)
		opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := below(ctx, network, addr)
			return struct{ net.Conn }{c}, err // which has no socket that could be tested
		}
	}
	client := redis.NewClient(Tune(opts))
	t.Cleanup(func() { _ = client.Close() })
	redistest.OpenPool(t, client, size)
	return client
}

// endings are the kinds of connections whose end shows, or does not, before a request is sent.
var endings = []struct {
	name          string
	tls, untested bool
}{
	{"TLS", true, false},
	{"TCP", false, false},
	{"TCP whose socket is not tested", false, true},
}

func TestConnectionsThatTheServerClosedFailNoCall(t *testing.T) {
	t.Parallel()
	const pool = 20
	for _, test := range endings {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBalancer(t, s, test.tls)
				client := b.pooled(t, pool, test.untested)
				a := mustNew(t, client, Options{RefillTimeout: time.Minute})
				b.cut()
				for range pool {
					if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
						t.Fatal(err)
					}
				}
				redistest.OpenPool(t, client, pool)
				b.cut()
				var callers sync.WaitGroup
				for i := range pool {
					callers.Go(func() {
						if _, err := a.Next(t.Context(), fmt.Sprintf("orders%c", 'a'+i)); err != nil {
							t.Error(err)
						}
					})
				}
				callers.Wait()
			})
		})
	}
}

func TestRestartFailsAtMostOneCall(t *testing.T) {
	t.Parallel()
	const pool = 20
	for _, test := range endings {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBalancer(t, s, test.tls)
				a := mustNew(t, b.pooled(t, pool, test.untested), Options{})
				if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
					t.Fatal(err)
				}
				s.Kill()
				b.cut()
				s.Restart()
				s.Initialize("Raven") // miniredis comes back empty
				if n := failuresUntilServed(t, a); n > 1 {
					t.Errorf("got %d failed calls, want at most 1", n)
				}
			})
		})
	}
}

// A range that the server issued while its connection ended is not lost: the request that goes again has its token.
func TestRequestThatGoesAgainReceivesTheSameRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s)
		client := redis.NewClient(Tune(redistest.Options(proxy)))
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{})
		if _, err := a.Next(t.Context(), "users"); err != nil { // loads the script
			t.Fatal(err)
		}
		dropped := proxy.DropReply("evalsha")
		if id, err := a.Next(t.Context(), "orders"); id != "orders/1" || err != nil {
			t.Errorf("got %s, %v, want orders/1", id, err)
		}
		<-dropped
	})
}
