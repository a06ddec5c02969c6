package allocator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// withReplica starts a replica of a server, and states replicas:1.
func withReplica(t *testing.T, s *redistest.Server) (replica *redistest.Server) {
	t.Helper()
	replica = redistest.StartReplica(t, s)
	configure(t, s, prefix.Server{ServerPrefix: "N/", Identities: true, Durable: prefix.DurableReplicas(1)})
	return replica
}

// Every client waits for as many replicas as the server states. It needs no option, its caller notices nothing, and it follows a
// lower number too.
func TestClientsWaitForTheReplicasThatTheServerStates(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		opts := redistest.Options(s)
		opts.ReadTimeout = 100 * time.Millisecond // shorter than WAIT takes
		client := redis.NewClient(opts)
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{Durability: Durability{Timeout: 300 * time.Millisecond}, MinCapacity: 1, MaxCapacity: 1})
		if id, err := a.Next(t.Context(), "orders"); err != nil {
			t.Fatalf("before: got %s, %v", id, err)
		}
		replica := withReplica(t, s)
		if id, err := a.Next(t.Context(), "users"); id != "users/N/1" || err != nil {
			t.Errorf("got %s, %v, want users/N/1", id, err)
		}
		if n, err := a.NextIdentity(t.Context(), "companies"); n != 1 || err != nil {
			t.Errorf("identity: got %d, %v, want 1", n, err)
		}
		if id, err := a.Resolve(t.Context(), "people/"); id != "people/N/0000000000000000001" && err != nil {
			t.Errorf("server-side: got %s, %v", id, err)
		}

		// Without the replica nothing is confirmed, so no number is used, not even by a client that sets no option.
		s.Client(t).ConfigSet(t.Context(), "repl-timeout", "1000")
		replica.Pause()
		defer replica.Resume()
		fresh := mustNew(t, client, Options{Durability: Durability{Timeout: 300 * time.Millisecond}})
		for name, do := range map[string]func() error{
			"Next":         func() error { _, err := a.Next(t.Context(), "items"); return err },
			"first Next":   func() error { _, err := fresh.Next(t.Context(), "things"); return err },
			"NextIdentity": func() error { _, err := a.NextIdentity(t.Context(), "companies"); return err },
			"Resolve":      func() error { _, err := a.Resolve(t.Context(), "people/"); return err },
		} {
			if err := do(); !errors.Is(err, ErrNotDurable) {
				t.Errorf("%s: got %v, want ErrNotDurable", name, err)
			}
		}

		// A disconnected replica would keep the statement, so its removal has to be confirmed while fewer replicas are connected.
		operator := mustAdmin(t, s)
		s.Client(t).Do(t.Context(), "CLIENT", "KILL", "TYPE", "replica")
		s.Await("to be without its replica", func(ctx context.Context) bool {
			return strings.Contains(s.Client(t).Info(ctx, "replication").Val(), "connected_slaves:0")
		})
		back := prefix.Server{ServerPrefix: "N/", Identities: true}
		if err := operator.SetServerPrefix(t.Context(), back); !errors.Is(err, admin.ErrNeedsTrust) {
			t.Errorf("taking the word back: got %v, want ErrNeedsTrust", err)
		}
		if err := operator.TrustSettings().SetServerPrefix(t.Context(), back); err != nil {
			t.Fatal(err)
		}
		if id, err := a.Next(t.Context(), "later"); err != nil {
			t.Errorf("once the word is taken back: got %s, %v, want no error", id, err)
		}
	})
}

// A discarded range is no evidence at the next failover, so the jump after it is small. If the client kept its floor, the counter
// would jump by the full gap.
func TestDiscardedRangesAreNoEvidenceUnderReplicas(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		replica := withReplica(t, s)
		replica.AwaitUptime(2)
		link := redistest.NewProxy(t, s)
		opts := redistest.Options(link)
		opts.MaxRetries, opts.DialerRetries = -1, 1
		client := redis.NewClient(opts)
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{Durability: Durability{Timeout: 200 * time.Millisecond}})
		numbers := map[int64]bool{}
		take := func(n int) (last int64) {
			t.Helper()
			for range n {
				id, err := a.NextID(t.Context(), "orders")
				if err != nil || numbers[id.Number] {
					t.Fatalf("got %+v, %v, want a new number", id, err)
				}
				numbers[id.Number], last = true, id.Number
			}
			return last
		}
		before := take(32)
		s.PauseReplica(replica, "filler")
		for range 3 {
			if id, err := a.NextID(t.Context(), "users"); !errors.Is(err, ErrNotDurable) {
				t.Fatalf("got %+v, %v, want ErrNotDurable", id, err)
			}
		}
		s.Kill()
		replica.Resume()
		replica.Promote()
		s.Restart()
		s.Follow(replica) // without which nothing is confirmed
		link.Redirect(replica)
		link.Cut()
		if after := untilNumber(t, a, "orders"); after > before+1000 {
			t.Errorf("got orders/%d after the failover, want at most %d", after, before+1000)
		}
		if after := untilNumber(t, a, "users"); after > 1000 {
			t.Errorf("got users/%d after the failover, want at most 1000: discarded ranges are no evidence", after)
		}
	})
}

// untilNumber takes a number, and retries while the server fails.
func untilNumber(t *testing.T, a *Allocator, collection string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		id, err := a.NextID(ctx, collection)
		if err == nil {
			return id.Number
		}
		if !Retryable(err) || ctx.Err() != nil {
			t.Fatalf("%s: got %v, want a number", collection, err)
		}
	}
}

// A client that cannot wait on the connection of its write is refused, and its server is not down.
func TestClientThatCannotWaitIsRefusedUnderReplicas(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		withReplica(t, s)
		a := mustNew(t, wrapped{redistest.NewClient(t, s)}, Options{})
		if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrInvalidOptions) || errors.Is(err, ErrUnavailable) || Retryable(err) {
			t.Errorf("got %s, %v, want ErrInvalidOptions that is not retryable", id, err)
		}
	})
}

// wrapped is a client of another type.
type wrapped struct{ redis.UniversalClient }
