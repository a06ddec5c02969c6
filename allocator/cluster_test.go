package allocator

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// cluster is one of some primaries that share the slots.
func cluster(t *testing.T, b redistest.Binary, nodes int) *redis.ClusterClient {
	t.Helper()
	var addrs []string
	var clients []*redis.Client
	for i := range nodes {
		s := redistest.Start(t, b, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1")
		client := s.Client(t)
		if err := client.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", i*16384/nodes, (i+1)*16384/nodes-1).Err(); err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, strings.TrimSuffix(strings.TrimPrefix(s.URL(), "redis://"), "/0"))
		clients = append(clients, client)
	}
	host, port, err := net.SplitHostPort(addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range clients[1:] {
		if err := client.ClusterMeet(t.Context(), host, port).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, client := range clients {
		for {
			info := client.ClusterInfo(t.Context()).Val()
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") {
				break
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestAClusterServesWhatOneServerDoes(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			client := cluster(t, b, 3)
			m, err := NewAdmin(client, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "N/"}); err != nil {
				t.Fatal(err)
			}
			a := mustNew(t, client, Options{})
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
			// The confirmation is asked of the key's own node, where no replica is.
			durable := mustNew(t, client, Options{Durability: Durability{Replicas: 1, Timeout: 20 * time.Millisecond}})
			if _, err := durable.Next(t.Context(), "orders"); !errors.Is(err, ErrNotDurable) {
				t.Errorf("without replicas: %v", err)
			}
			_ = durable.Close(context.Background())
		})
	}
}
