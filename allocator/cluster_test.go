package allocator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestAClusterServesWhatOneServerDoes(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 3, 0)
			client := cluster.Client(t)
			m, err := NewAdmin(client, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "N/", Identities: true}); err != nil {
				t.Fatal(err)
			}
			a := mustNew(t, client, Options{RefillTimeout: time.Minute})
			for _, name := range []string{"orders", "users", "people"} {
				for range 100 {
					if _, err := a.NextNumber(t.Context(), name); err != nil {
						t.Fatal(err)
					}
				}
			}
			if n, err := a.NextIdentity(t.Context(), "companies"); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			mustClose(t, a)
			counters := 0
			for counter, err := range m.Counters(t.Context()) {
				if err != nil || counter.Max != 100 {
					t.Errorf("%+v, %v", counter, err)
				}
				counters++
			}
			if counters != 3 {
				t.Errorf("%d counters", counters)
			}
			// A node that does not hold the namespace scans too, and finds nothing.
			for _, node := range cluster.Nodes {
				found, refused := 0, false
				for _, err := range mustAdmin(t, node, "").Counters(t.Context()) {
					refused = redis.HasErrorPrefix(err, "MOVED")
					found++
				}
				if found != counters && !refused {
					t.Errorf("a node shows %d counters", found)
				}
			}
			// The confirmation is asked of the key's own node, where no replica is.
			durable := mustNew(t, client, Options{RefillTimeout: time.Minute, Durability: Durability{Replicas: 1, Timeout: 20 * time.Millisecond}})
			if _, err := durable.Next(t.Context(), "orders"); !errors.Is(err, ErrNotDurable) {
				t.Errorf("without replicas: %v", err)
			}
			_ = durable.Close(context.Background())
		})
	}
}

// By itself go-redis goes on asking a primary that is gone for a minute.
func TestTheSuccessorOfAPrimaryOfAClusterIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 3, 1)
			a := mustNew(t, cluster.Client(t), Options{MinCapacity: 1, MaxCapacity: 1, Runway: time.Nanosecond})
			mustNumber(t, a, "orders")
			owner := int(cluster.Slot("{Raven}")) * 3 / 16384
			cluster.Nodes[owner].Kill()
			cluster.AwaitTakeover(cluster.Nodes[3+owner])
			start := time.Now()
			for range 5 {
				untilServed(t, a)
			}
			if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
				t.Errorf("identity: %v", err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
