package allocator

import (
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestClusterServesLikeASingleServer(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 3, 0)
			client := redistest.NewClusterClient(t, cluster)
			m, err := admin.New(client, admin.Options{})
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
				t.Errorf("got %d, %v, want 1, <nil>", n, err)
			}
			mustClose(t, a)
			counters := 0
			for counter, err := range m.Counters(t.Context()) {
				if err != nil || counter.Max != 100 {
					t.Errorf("got %+v, %v, want <nil>, 100", counter, err)
				}
				counters++
			}
			if counters != 3 {
				t.Errorf("got %d counters, want 3", counters)
			}
		})
	}
}

// Without help go-redis keeps using a primary that is down for a minute.
func TestClusterFailoverIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 3, 1)
			a := mustNew(t, redistest.NewClusterClient(t, cluster), Options{MinCapacity: 1, MaxCapacity: 1, Runway: time.Nanosecond})
			mustNumber(t, a, "orders")
			owner := int(cluster.Slot("{Raven}")) * 3 / 16384
			cluster.Nodes[owner].Kill()
			cluster.AwaitTakeover(cluster.Nodes[3+owner])
			start := time.Now()
			for range 5 {
				untilServed(t, a)
			}
			if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
				t.Errorf("identity: got %v, want <nil>", err)
			}
			if took := time.Since(start); took > 40*time.Second {
				t.Errorf("got identifiers again after %v, want them within 40s, since it takes a minute without help", took)
			}
		})
	}
}
