package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// movable returns a cluster of two primaries with some counters, and the primaries from and to which their slot is to
// move.
func movable(t *testing.T, b redistest.Binary, counters int) (cluster *redistest.Cluster, m *Admin, slot int64, from, to *redistest.Server) {
	t.Helper()
	cluster = redistest.StartCluster(t, b, 2, 0)
	m = mustNew(t, redistest.NewClusterClient(t, cluster), Options{})
	for i := range counters {
		if _, err := m.Seed(t.Context(), fmt.Sprintf("c%d", i), 7, false); err != nil {
			t.Fatal(err)
		}
	}
	slot = cluster.Slot("{Raven}")
	from, to = cluster.Nodes[0], cluster.Nodes[1]
	if slot >= 8192 {
		from, to = to, from
	}
	return cluster, m, slot, from, to
}

// countAll counts the counters of the namespace, unless they could not all be read.
func countAll(t *testing.T, m *Admin) (n int, err error) {
	t.Helper()
	for _, err := range m.Counters(t.Context()) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func TestCountersReturnsAllOrAnErrorWhileASlotMoves(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			const want = 4
			cluster, m, slot, from, to := movable(t, b, want)
			refused := 0
			cluster.Move(slot, from, to, func() {
				switch n, err := countAll(t, m); {
				case errors.Is(err, ErrIncomplete) && errors.Is(err, failure.ErrUnavailable):
					if refused++; refused > 1 {
						break
					}
					if err := m.SetServerPrefix(t.Context(), prefix.Server{MaxValue: 1 << 40}); !errors.Is(err, ErrIncomplete) {
						t.Errorf("MaxValue, which has to be compared with all counters: got %v, want ErrIncomplete", err)
					}
					if _, err := m.Export(t.Context()); !errors.Is(err, ErrIncomplete) {
						t.Errorf("an export: got %v, want ErrIncomplete", err)
					}
				case err != nil || n != want:
					t.Errorf("got %d counters and %v, want %d or ErrIncomplete", n, err, want)
				}
			})
			if refused < want {
				t.Errorf("got %d refusals, want %d or more", refused, want)
			}
			if n, err := countAll(t, m); n != want || err != nil {
				t.Errorf("at the new owner: got %d counters and %v, want %d", n, err, want)
			}

			// A failover of the source may lose its record of the migration. The target still has one.
			owner := from.Client(t).Do(t.Context(), "CLUSTER", "MYID").Val()
			from.Client(t).Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", to.Client(t).Do(t.Context(), "CLUSTER", "MYID").Val())
			if _, err := countAll(t, m); !errors.Is(err, ErrIncomplete) {
				t.Errorf("importing at %v only: got %v, want ErrIncomplete", owner, err)
			}
		})
	}
}

func TestCountersDetectsASlotThatMovedAwayAndBack(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster, m, slot, from, to := movable(t, b, 2)
			var last error
			first := true
			for _, last = range m.Counters(t.Context()) {
				if first {
					cluster.Move(slot, from, to, func() {})
					cluster.Move(slot, to, from, func() {})
				}
				first = false
			}
			if !errors.Is(last, failure.ErrUnavailable) || !strings.Contains(last.Error(), "during the scan") {
				t.Errorf("got %v, want ErrUnavailable", last)
			}
		})
	}
}

func TestCountersRequiresAClusterClientOnACluster(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster, _, _, from, to := movable(t, b, 1)
			resp2 := redistest.Options(from)
			resp2.Protocol = 2
			old := redis.NewClient(resp2)
			t.Cleanup(func() { _ = old.Close() })
			for name, client := range map[string]redis.UniversalClient{
				"wrapped": struct{ redis.UniversalClient }{redistest.NewClusterClient(t, cluster)}, "the holder": redistest.NewClient(t, from), "the holder by RESP2": old,
			} {
				if n, err := countAll(t, mustNew(t, client, Options{})); !errors.Is(err, failure.ErrInvalidOptions) || errors.Is(err, failure.ErrUnavailable) {
					t.Errorf("%s: got %d counters and %v, want ErrInvalidOptions alone", name, n, err)
				}
			}
			if _, err := countAll(t, mustNew(t, redistest.NewClient(t, to), Options{})); err == nil || !strings.Contains(err.Error(), "MOVED") {
				t.Errorf("another node: got %v, want MOVED", err)
			}
		})
	}
}

// Both nodes report every slot, as after a move whose end has not reached both.
func TestCountersRefusesASlotOfTwoOwners(t *testing.T) {
	t.Parallel()
	var nodes [2]*redistest.Server
	slots := make([]redis.ClusterSlot, 2)
	for i := range nodes {
		nodes[i] = redistest.StartMini(t)
		slots[i] = redis.ClusterSlot{Start: i * 8192, End: i*8192 + 8191, Nodes: []redis.ClusterNode{{Addr: nodes[i].Addr()}}}
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return slots, nil }})
	t.Cleanup(func() { _ = client.Close() })
	if _, err := countAll(t, mustNew(t, client, Options{})); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "2 nodes own slot") {
		t.Errorf("got %v, want ErrIncomplete that names 2 nodes", err)
	}
}

// A script names three keys. Usually one of them does not exist, that of the other kind of the name. A node of a moving slot that has some keys of a request and lacks others cannot determine whether those
// are at the other node, so it refuses the request. The source refuses until all existing keys are moved, and the target until
// the move is complete.
func TestSeedIsUnavailableWhileASlotMoves(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster, m, slot, from, to := movable(t, b, 1)
			served, refused := 0, 0
			cluster.Move(slot, from, to, func() {
				switch _, err := m.Seed(t.Context(), "c0", 8, false); {
				case err == nil || errors.Is(err, ErrNotConfirmed): // if the client found the new owner only by a redirection
					served++
				case errors.Is(err, failure.ErrUnavailable) && redis.IsTryAgainError(err):
					refused++
				default:
					t.Errorf("got %v, want TRYAGAIN", err)
				}
			})
			if served != 1 || refused != 3 { // at the end, when the target owns the slot
				t.Errorf("got %d served and %d refused, want 1 and 3", served, refused)
			}
			now, err := m.Seed(t.Context(), "c0", 9, false)
			for errors.Is(err, ErrNotConfirmed) { // as above, until the client has read the slots again
				now, err = m.Seed(t.Context(), "c0", 9, false)
			}
			if now != 9 || err != nil {
				t.Errorf("after the move: got %d and %v, want 9", now, err)
			}
		})
	}
}

func TestCountersDetectsARestartDuringTheScan(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		if _, err := m.Seed(t.Context(), "orders", 7, false); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, last = range m.Counters(t.Context()) {
			s.ChangeReplicationID()
		}
		if !errors.Is(last, failure.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", last)
		}
		if n, err := countAll(t, m); n != 1 || err != nil {
			t.Errorf("got %d counters and %v, want 1", n, err)
		}
	})
}

func TestParseNodeFindsOwnSlots(t *testing.T) {
	t.Parallel()
	const other = "1f host:1@2 master - 0 0 9 connected 0-16383 [5->-2f]\n"
	for _, test := range []struct {
		name, text string
		owns       bool
		err        error
	}{
		{"a range", other + "2f host:3@4,name,shard-id=x myself,master - 0 0 3 connected 1 4-6 9\n", true, nil},
		{"one slot", "2f host:3@4 myself,master - 0 0 3 connected 5\n", true, nil},
		{"others", "2f host:3@4 myself,master - 0 0 3 connected 0-4 6\n", false, nil},
		{"none", "2f host:3@4 myself,master - 0 0 3 connected\n", false, nil},
		{"another is moving", "2f host:3@4 myself,master - 0 0 3 connected 0-9 [55->-1f] [6-<-1f]\n", true, nil},
		{"migrating", "2f host:3@4 myself,master - 0 0 3 connected 0-9 [6->-1f] [5->-1f]\n", false, ErrIncomplete},
		{"importing", "2f host:3@4 myself,master - 0 0 3 connected [5-<-1f]\n", false, ErrIncomplete},
		{"no line of its own", other, false, scripts.ErrReply},
	} {
		state, owns, err := parseNode(test.text, 5)
		if !errors.Is(err, test.err) || err == nil && (state != "2f 3" || owns != test.owns) {
			t.Errorf("%s: got %q, %t, %v, want 2f 3, %t, %v", test.name, state, owns, err, test.owns, test.err)
		}
	}
}
