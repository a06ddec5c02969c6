package allocator

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestTuneSetsWhatIsNotSet(t *testing.T) {
	t.Parallel()
	o := Tune(&redis.Options{})
	if o.MaxRetries != -1 || o.DialerRetries != 1 || o.DialTimeout != time.Second || !o.ContextTimeoutEnabled || !o.DisableIdentity ||
		o.Dialer == nil || o.MaintNotificationsConfig == nil || o.MaintNotificationsConfig.Mode != maintnotifications.ModeDisabled {
		t.Errorf("got %+v, want every recommendation", o)
	}
	f := TuneFailover(&redis.FailoverOptions{})
	if f.MaxRetries != -1 || f.DialerRetries != 1 || f.DialTimeout != time.Second || !f.ContextTimeoutEnabled || !f.DisableIdentity || f.Dialer == nil {
		t.Errorf("Sentinel: got %+v, want every recommendation", f)
	}
	c := TuneCluster(&redis.ClusterOptions{})
	if c.MaxRetries != -1 || c.DialerRetries != 1 || c.DialTimeout != time.Second || !c.ContextTimeoutEnabled || !c.DisableIdentity || c.Dialer == nil ||
		c.MaintNotificationsConfig == nil || c.MaxRedirects != 0 {
		t.Errorf("cluster: got %+v, want every recommendation, and MaxRedirects 0", c)
	}
	u := TuneUniversal(&redis.UniversalOptions{})
	if u.MaxRetries != -1 || u.DialerRetries != 1 || u.DialTimeout != time.Second || !u.ContextTimeoutEnabled || !u.DisableIdentity || u.Dialer == nil ||
		u.MaintNotificationsConfig == nil {
		t.Errorf("universal: got %+v, want every recommendation", u)
	}
}

func TestTuneKeepsWhatIsSet(t *testing.T) {
	t.Parallel()
	maintenance := &maintnotifications.Config{Mode: maintnotifications.ModeAuto}
	var dials atomic.Int64
	server := redistest.StartMini(t)
	o := redistest.Options(server)
	o.MaxRetries, o.DialerRetries, o.DialTimeout, o.IdentitySuffix, o.MaintNotificationsConfig = 2, 3, time.Minute, "shop", maintenance
	dial := redis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return dial(ctx, network, addr)
	}
	Tune(o)
	if o.MaxRetries != 2 || o.DialerRetries != 3 || o.DialTimeout != time.Minute || o.DisableIdentity || o.MaintNotificationsConfig != maintenance {
		t.Errorf("got %+v, want what was set", o)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Ping(t.Context()).Err(); err != nil || dials.Load() != 1 {
		t.Errorf("got %v and %d calls of the Dialer that was set, want <nil>, 1", err, dials.Load())
	}
	cache := Tune(&redis.Options{ClientSideCacheConfig: &redis.ClientSideCacheConfig{}})
	if cache.Dialer != nil {
		t.Error("with client-side caching: got a Dialer, want none")
	}
}

// A tuned client sends nothing that the rights of the README deny, and go-redis with its defaults does.
func TestTuneLeavesTheACLLogEmpty(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		operator := redistest.NewClient(t, s)
		rule := []any{"ACL", "SETUSER", "worker"}
		for _, word := range workerACL {
			rule = append(rule, word)
		}
		if err := operator.Do(t.Context(), rule...).Err(); err != nil {
			t.Fatal(err)
		}
		old := operator.Do(t.Context(), "CLIENT", "SETINFO", "LIB-NAME", "test").Err() != nil // Redis 7.0 logs no unknown commands
		for i, client := range []redis.UniversalClient{
			redis.NewClient(Tune(&redis.Options{Network: s.Network(), Addr: s.Addr(), Username: "worker", Password: "secret"})),
			redis.NewUniversalClient(TuneUniversal(&redis.UniversalOptions{Addrs: []string{s.Addr()}, Username: "worker", Password: "secret"})),
			redis.NewClient(&redis.Options{Network: s.Network(), Addr: s.Addr(), Username: "worker", Password: "secret"}),
		} {
			t.Cleanup(func() { _ = client.Close() })
			if _, err := mustNew(t, client, Options{}).Next(t.Context(), fmt.Sprintf("orders%c", 'a'+i)); err != nil {
				t.Fatal(err)
			}
			denied, err := operator.ACLLog(t.Context(), 10).Result()
			quiet := i < 2 || old
			if err != nil || quiet != (len(denied) == 0) {
				t.Errorf("client %d: got %+v, %v, want denied commands: %v", i, denied, err, !quiet)
			}
		}
	})
}

// failuresUntilServed returns the number of attempts that fail before one succeeds.
func failuresUntilServed(t *testing.T, a *Allocator) int {
	t.Helper()
	for failures := range 100 {
		if _, err := a.NextIdentity(t.Context(), "companies"); err == nil {
			return failures
		}
	}
	t.Fatal("got 100 failures, want success")
	return 0
}

func TestTunedClientRecoversWithOneAttempt(t *testing.T) {
	t.Parallel()
	const pool = 20
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s)
		opts := redistest.Options(proxy)
		opts.PoolSize = pool
		client := redis.NewClient(Tune(opts))
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{RefillTimeout: time.Second})
		redistest.OpenPool(t, client, pool)
		proxy.Freeze()
		if n := failuresUntilServed(t, a); n != 1 {
			t.Errorf("got %d failed attempts, want 1", n)
		}
	})
}

// Callers that wait at the same time fail together, and their late failures do not discard the connections that were opened
// meanwhile.
func TestTunedClientRecoversForManyCollections(t *testing.T) {
	t.Parallel()
	const pool = 20
	s := redistest.StartMini(t)
	proxy := redistest.NewProxy(t, s)
	opts := redistest.Options(proxy)
	opts.PoolSize = pool
	dials := redistest.CountDials(opts)
	client := redis.NewClient(Tune(opts))
	t.Cleanup(func() { _ = client.Close() })
	a := mustNew(t, client, Options{RefillTimeout: 300 * time.Millisecond})
	redistest.OpenPool(t, client, pool)
	proxy.Freeze()
	before := dials.Load()
	var callers sync.WaitGroup
	var failures atomic.Int64 // more than one for each caller on a slow machine
	for i := range pool {
		callers.Go(func() {
			for {
				if _, err := a.Next(t.Context(), fmt.Sprintf("orders%c", 'a'+i)); err == nil {
					return
				} else if failures.Add(1); t.Context().Err() != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	if n, most := dials.Load()-before, pool+failures.Load(); n > most {
		t.Errorf("got %d new connections, want at most %d", n, most)
	}
}

// Without Tune each attempt uses up one connection, so the test above shows something.
func TestUntunedClientRecoversWithAnAttemptForEachConnection(t *testing.T) {
	t.Parallel()
	const pool = 4
	s := redistest.StartMini(t)
	proxy := redistest.NewProxy(t, s)
	opts := redistest.Options(proxy)
	opts.MaxRetries = -1
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	a := mustNew(t, client, Options{RefillTimeout: 300 * time.Millisecond})
	redistest.OpenPool(t, client, pool)
	proxy.Freeze()
	if n := failuresUntilServed(t, a); n < pool {
		t.Errorf("got %d failed attempts, want at least %d", n, pool)
	}
}
