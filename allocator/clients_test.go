package allocator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A Ring moves a counter to another shard while its own is down, and the counter restarts there. The second half shows that a
// Ring would repeat numbers.
func TestNewRefusesARing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		_, south := masters(t, s)
		shards := map[string]*redistest.Server{"north": s, "south": south}
		for _, shard := range shards {
			setPrefix(t, shard, "")
		}
		ring := redis.NewRing(&redis.RingOptions{
			Addrs: map[string]string{"north": s.HostPort(), "south": south.HostPort()}, MaxRetries: -1, HeartbeatFrequency: time.Millisecond,
		})
		t.Cleanup(func() { _ = ring.Close() })
		for name, refused := range map[string]func() error{
			"New":       func() error { _, err := New(ring, Options{}); return err },
			"NewMulti":  func() error { _, err := NewMulti([]Server{{Client: ring}}, Options{}); return err },
			"admin.New": func() error { _, err := admin.New(ring, admin.Options{}); return err },
		} {
			if err := refused(); !errors.Is(err, ErrInvalidOptions) || !strings.Contains(err.Error(), "Ring") {
				t.Errorf(`%s: got %v, want ErrInvalidOptions, text with "Ring"`, name, err)
			}
		}

		first := func() int64 {
			a := newFakeAllocator(t, Options{}, fleet.NewBackend(scripts.Prepare(ring, time.Second)))
			return untilServed(t, a)
		}
		if n := first(); n != 1 {
			t.Fatalf("got %d, want 1", n)
		}
		for _, shard := range shards {
			if shard.Client(t).Exists(t.Context(), "{Raven}/HiLo/orders").Val() == 1 {
				shard.Kill()
			}
		}
		if n := first(); n != 1 {
			t.Errorf("through the ring: got %d, want 1", n)
		}
	})
}

// The reply to a forced seed is lost, and another client without a floor takes a range before go-redis sends the seed again.
func TestSeedByForceActsOnceWhenItsReplyIsLost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		stood, max int64
	}{
		{"it lowers", 1000, 100},
		{"it raises", 100, 1000},
		{"it leaves the counter as it is", 100, 100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				for kind, of := range map[string]struct {
					seed func(m *admin.Admin) func(context.Context, string, int64, bool) (int64, error)
					take func(a *Allocator) (Range, error)
				}{
					"a collection": {func(m *admin.Admin) func(context.Context, string, int64, bool) (int64, error) { return m.Seed }, func(a *Allocator) (Range, error) {
						c, _ := a.Collection("orders")
						batch, err := c.Take(t.Context(), 32)
						return batch.Range(), err
					}},
					"an identity": {func(m *admin.Admin) func(context.Context, string, int64, bool) (int64, error) { return m.SeedIdentity }, func(a *Allocator) (Range, error) {
						return a.NextIdentities(t.Context(), "orders", 32)
					}},
				} {
					client := redistest.NewClient(t, s)
					client.FlushAll(t.Context())
					s.Initialize("Raven")
					if _, err := of.seed(mustAdmin(t, s))(t.Context(), "orders", test.stood, true); err != nil { // the script is known from here on
						t.Fatal(err)
					}
					proxy := redistest.NewProxy(t, s)
					taken := make(chan struct{}) // only then the request is sent again
					opts := redistest.Options(proxy)
					var connected atomic.Bool // as the seed needs it
					opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
						if connected.Load() {
							<-taken
						}
						return new(net.Dialer).DialContext(ctx, network, addr)
					}
					behind := redis.NewClient(opts)
					t.Cleanup(func() { _ = behind.Close() })
					m, err := admin.New(behind, admin.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := m.ServerPrefix(t.Context()); err != nil { // by a pipeline, which has connections of its own
						t.Fatal(err)
					}
					behind.Ping(t.Context())
					connected.Store(true)
					dropped := proxy.DropReply(fmt.Sprintf("\r\n%d\r\n", test.max)) // an argument of the seed alone
					done := make(chan error, 1)
					go func() {
						_, err := of.seed(m)(t.Context(), "orders", test.max, true)
						done <- err
					}()
					<-dropped
					first, err := of.take(mustNew(t, client, Options{}))
					if err != nil || first.Low != test.max+1 {
						t.Fatalf("%s: got %v, %v, want <nil>, %v", kind, first, err, test.max+1)
					}
					close(taken)
					if err := <-done; !errors.Is(err, admin.ErrChanged) {
						t.Errorf("%s: seed: got %v, want admin.ErrChanged", kind, err)
					}
					if second, err := of.take(mustNew(t, client, Options{})); err != nil || second.Low != first.High+1 {
						t.Errorf("%s: got %v and then %v, %v, want <nil>, %v", kind, first, second, err, first.High+1)
					}
				}
			})
		})
	}
}

// Without that an emptied server would issue bare numbers, and two of them the same.
func TestNextRefusesAServerThatLostItsPrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		var safe []*Allocator
		for _, one := range []*redistest.Server{north, south} {
			client := redistest.NewClient(t, one)
			safe = append(safe, mustNew(t, client, Options{}))
			if id, err := safe[len(safe)-1].Next(t.Context(), "users"); err != nil || !strings.HasSuffix(id, "Server/1") {
				t.Errorf("got %s, %v, want number 1 of a server", id, err)
			}
			client.FlushAll(t.Context())
			one.Initialize("Raven")
		}
		for _, a := range safe {
			for name, ask := range map[string]func() error{
				"Next":             func() error { _, err := a.Next(t.Context(), "orders"); return err },
				"NextNumber":       func() error { _, err := a.NextNumber(t.Context(), "orders"); return err },
				"Take":             func() error { _, err := mustCollection(t, a, "orders").Take(t.Context(), 7); return err },
				"NextIdentity":     func() error { _, err := a.NextIdentity(t.Context(), "companies"); return err },
				"NextFreeIdentity": func() error { _, _, err := a.NextFreeIdentity(t.Context(), "companies", nothingTaken); return err },
				"Resolve":          func() error { _, err := a.Resolve(t.Context(), "companies/"); return err },
			} {
				if err := ask(); !errors.Is(err, ErrPrefixMissing) {
					t.Errorf("%s: got %v, want ErrPrefixMissing", name, err)
				}
			}
		}
		m := mustAdmin(t, north)
		if err := m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A"}); err != nil {
			t.Fatal(err)
		}
		if id, err := safe[0].Next(t.Context(), "people"); id != "people/1-A" || err != nil {
			t.Errorf("with a tag: got %s, %v, want people/1-A, <nil>", id, err)
		}
	})
}

// Without INFO a client cannot detect that the server restarted since other clients used it.
func TestNextWithoutInfoIsUnguarded(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		operator := redistest.NewClient(t, s)
		rule := []any{"ACL", "SETUSER", "blind"}
		for _, word := range workerACL {
			if word != "+info" {
				rule = append(rule, word)
			}
		}
		if err := operator.Do(t.Context(), rule...).Err(); err != nil {
			t.Fatal(err)
		}
		opts := redistest.Options(s)
		opts.Username, opts.Password = "blind", "secret"
		client := redis.NewClient(opts)
		t.Cleanup(func() { _ = client.Close() })
		seeing, blind := mustNew(t, operator, Options{}), mustNew(t, client, Options{})
		for name, ask := range map[string]func(a *Allocator) error{
			"{Raven}/HiLo/orders":          func(a *Allocator) error { _, err := a.Next(t.Context(), "orders"); return err },
			"{Raven}/Identities/companies": func(a *Allocator) error { _, err := a.NextIdentity(t.Context(), "companies"); return err },
			"{Raven}/ServerSide":           func(a *Allocator) error { _, err := a.Resolve(t.Context(), "people/"); return err },
		} {
			if err := ask(seeing); err != nil {
				t.Fatal(err)
			}
			before := operator.HGetAll(t.Context(), name).Val()
			if err := ask(blind); !errors.Is(err, ErrUnguarded) || !strings.Contains(err.Error(), "+info") || !strings.Contains(err.Error(), "Origin") {
				t.Errorf(`%s: got %v, want ErrUnguarded, text with "+info", text with "Origin"`, name, err)
			}
			if after := operator.HGetAll(t.Context(), name).Val(); len(before) == 0 || before["Max"]+before["Value"] != after["Max"]+after["Value"] {
				t.Errorf("%s: got %v, want %v as before", name, after, before)
			}
			operator.HDel(t.Context(), name, "Origin") // the way out that the error names
			if err := ask(blind); err != nil {
				t.Errorf("%s, without its Origin: got %v, want <nil>", name, err)
			}
		}
	})
}
