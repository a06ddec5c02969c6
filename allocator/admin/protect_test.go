package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// reporting is a server that keeps every write, except for what it is set to report.
type reporting struct {
	client
	changes map[string]string
}

func (reporting) ConfigGet(ctx context.Context, name string) *redis.MapStringStringCmd {
	cmd := redis.NewMapStringStringCmd(ctx)
	for _, setting := range durableSettings {
		if setting.name == name {
			cmd.SetVal(map[string]string{name: setting.want})
		}
	}
	return cmd
}

func (r reporting) Info(ctx context.Context, _ ...string) *redis.StringCmd {
	fields := map[string]string{
		"role": "master", "connected_slaves": "0", "aof_enabled": "1", "aof_last_write_status": "ok", "aof_last_bgrewrite_status": "ok",
		"aof_rewrite_in_progress": "0", "aof_rewrite_scheduled": "0", "cluster_enabled": "0",
	}
	maps.Copy(fields, r.changes)
	var text strings.Builder
	for name, value := range fields {
		text.WriteString(name + ":" + value + "\r\n")
	}
	cmd := redis.NewStringCmd(ctx)
	cmd.SetVal(text.String())
	return cmd
}

func TestDurabilityComparesEveryField(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, value string
		refused     string // in the error, "" for none
		rewriting   bool
	}{
		{"role", "master", "", false},
		{"role", "slave", "it is a replica", false},
		{"connected_slaves", "1", "a replica is connected", false},
		{"aof_enabled", "0", "its AOF is off", false},
		{"aof_last_write_status", "err", "could not write its AOF", false},
		{"aof_last_bgrewrite_status", "err", "could not rewrite its AOF", false},
		{"cluster_enabled", "1", "a node of a cluster", false},
		{"aof_rewrite_in_progress", "1", "", true},
		{"aof_rewrite_scheduled", "1", "", true},
	} {
		_, rewriting, err := (&Admin{client: reporting{changes: map[string]string{test.name: test.value}}}).durability(t.Context())
		if rewriting != test.rewriting {
			t.Errorf("%s:%s: got rewriting %v, want %v", test.name, test.value, rewriting, test.rewriting)
		}
		if (err != nil) != (test.refused != "") || err != nil && (!errors.Is(err, ErrNotDurableServer) || !strings.Contains(err.Error(), test.refused)) {
			t.Errorf("%s:%s: got %v, want ErrNotDurableServer that names %q", test.name, test.value, err, test.refused)
		}
	}
}

// The server has copies of identities from the time when it was their home.
func TestDurableSettlesIdentitiesOfAServerThatIsNotTheirHome(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North/")
		client.HSet(t.Context(), "{Raven}/Identities/people", "Value", 7, "Origin", "00000000000000000000000000000000000000ff")
		m := mustNew(t, client, Options{})
		if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "North/", Durable: prefix.DurableAlways}); err != nil {
			t.Fatal(err)
		}
		if got, err := m.Identity(t.Context(), "people"); err != nil || got.Max <= 7+1024 {
			t.Errorf("got %+v, %v, want more than %d", got, err, 7+1024)
		}
	})
}

// pipelined counts the commands of a name that are sent in pipelines.
type pipelined struct {
	name string
	n    atomic.Int64
}

func (*pipelined) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*pipelined) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (p *pipelined) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if strings.EqualFold(cmd.Name(), p.name) {
				p.n.Add(1)
			}
		}
		return next(ctx, cmds)
	}
}

func TestDurableIsOnDiskBeforeItIsRelied(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server) {
		client, sent := redistest.NewClient(t, s), &pipelined{name: "waitaof"}
		client.AddHook(sent)
		if err := mustNew(t, client, Options{}).SetServerPrefix(t.Context(), always); err != nil {
			t.Fatal(err)
		}
		if sent.n.Load() == 0 {
			t.Error("got no WAITAOF, want one")
		}
	})
}

func TestSetServerPrefixRecordsBareNumbersOfAnUnusablePrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for i, test := range []struct{ name, field, value, want string }{
			{"no prefix", "", "", "5"},
			{"an unusable prefix", "ServerPrefix", "{}", "5"},
			{"a prefix", "ServerPrefix", "South/", ""},
			{"a prefix beside an unusable home", "Identities", "there", ""},
		} {
			client := s.Client(t)
			namespace := fmt.Sprint("Raven", i)
			keys := prefix.NewKeys(namespace)
			if test.field == "Identities" {
				client.HSet(t.Context(), keys.Server(), "ServerPrefix", "South/")
			}
			if test.field != "" {
				client.HSet(t.Context(), keys.Server(), test.field, test.value)
			}
			client.HSet(t.Context(), keys.HiLo("orders"), "Max", 5) // by hand, and so without Bare
			_ = mustNew(t, redistest.NewClient(t, s), Options{Namespace: namespace}).SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "North/"})
			if got := client.HGet(t.Context(), keys.HiLo("orders"), "Bare").Val(); got != test.want {
				t.Errorf("%s: got Bare %q, want %q", test.name, got, test.want)
			}
		}
	})
}

func TestSetServerPrefixFailsIfABareNumberCannotBeRecorded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 5)
		client.AddHook(&onCommand{name: "evalsha", times: 1, fail: errors.New("cut off")})
		m := mustNew(t, client, Options{})
		if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "North/"}); !errors.Is(err, failure.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		if got, err := m.ServerPrefix(t.Context()); err != nil || !got.IsZero() {
			t.Errorf("got %+v, %v, want no prefix", got, err)
		}
	})
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
