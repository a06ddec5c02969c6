package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

var durableArgs = []string{"--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "no"}

// eachDurable runs a test on each real server, with settings that keep every write.
func eachDurable(t *testing.T, test func(t *testing.T, b redistest.Binary, s *redistest.Server)) {
	t.Helper()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			test(t, b, redistest.Start(t, b, durableArgs...))
		})
	}
}

var always = prefix.Server{Durable: prefix.DurableAlways}

func TestDurableServerContinuesWithoutAJump(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		if err := m.CheckDurable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := m.SetServerPrefix(t.Context(), always); err != nil {
			t.Fatal(err)
		}
		next := func() int64 {
			t.Helper()
			a := mustAllocate(t, redistest.NewClient(t, s), allocator.Options{})
			n, err := a.NextNumber(t.Context(), "orders")
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for want := int64(1); want <= 3; want++ {
			if got := next(); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
			s.Restart()
		}
		// An export does not mark counters that lost nothing, and a change of the tag keeps the statement.
		if all, err := m.Export(t.Context()); err != nil || len(all.States) != 1 || all.States[0].Lost || all.Server != always {
			t.Errorf("export: got %+v and %v, want nothing lost", all, err)
		}
		tagged := prefix.Server{NodeTag: "A", Durable: prefix.DurableAlways}
		if err := m.KeepDurable().SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A"}); err != nil {
			t.Error(err)
		}
		if got, err := m.ServerPrefix(t.Context()); got != tagged || err != nil {
			t.Errorf("got %+v and %v, want %+v", got, err, tagged)
		}
		if err := m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A"}); err != nil {
			t.Error(err)
		}
		if got, err := m.ServerPrefix(t.Context()); got.Durable != "" || err != nil {
			t.Errorf(`taken back: got %+v and %v, want "", <nil>`, got, err)
		}
	})
}

func TestDurableIsRefusedIfTheServerContradictsIt(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		refused := func(m *Admin, want string) {
			t.Helper()
			for _, m := range []*Admin{m, m.TrustSettings()} {
				err1, err2 := m.CheckDurable(t.Context()), m.SetServerPrefix(t.Context(), always)
				for _, err := range []error{err1, err2} {
					if !errors.Is(err, ErrNotDurableServer) || !strings.Contains(err.Error(), want) {
						t.Errorf("got %v, want ErrNotDurableServer that names %q", err, want)
					}
				}
			}
			if n := client.Exists(t.Context(), "{Raven}/ServerPrefixForHilo").Val(); n != 0 {
				t.Errorf("got %d keys, want none", n)
			}
		}
		for name, value := range map[string]string{"appendfsync": "everysec", "no-appendfsync-on-rewrite": "yes", "appendonly": "no"} {
			before := client.ConfigGet(t.Context(), name).Val()[name]
			client.ConfigSet(t.Context(), name, value)
			refused(m, name+" is "+value+": CONFIG SET "+name+" "+before)
			client.ConfigSet(t.Context(), name, before)
			s.Await("to have its AOF", func(ctx context.Context) bool {
				return info.Fields(client.Info(ctx, "persistence").Val())["aof_rewrite_in_progress"] == "0"
			})
		}
		replica := redistest.StartReplica(t, s, durableArgs...)
		refused(m, "a replica is connected")
		refused(mustNew(t, redistest.NewClient(t, replica), Options{}), "it is a replica")
	})
}

// A promoted replica may have inherited a statement that was not checked for it, and counters whose loss the statement would
// hide.
func TestDurableChecksAndSettlesWhereItIsSetAlready(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		const counter = "{Raven}/HiLo/orders"
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", "always")
		client.HSet(t.Context(), counter, "Max", 32, "Origin", "00000000000000000000000000000000000000ff")
		client.ConfigSet(t.Context(), "appendfsync", "everysec")
		if err := m.SetServerPrefix(t.Context(), always); !errors.Is(err, ErrNotDurableServer) {
			t.Errorf("with everysec: got %v, want ErrNotDurableServer", err)
		}
		if err := m.KeepDurable().SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A"}); err != nil {
			t.Errorf("a tag alone: got %v, want nil", err)
		}
		client.ConfigSet(t.Context(), "appendfsync", "always")
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", "always")
		if err := m.SetServerPrefix(t.Context(), always); err != nil {
			t.Fatal(err)
		}
		if got, err := m.Counter(t.Context(), "orders"); err != nil || got.Max < 32+65536 {
			t.Errorf("got %+v and %v, want a counter that jumped", got, err)
		}
	})
}

func TestDurableRequiresTrustInUnreadableSettings(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server) {
		if err := s.Client(t).Do(t.Context(), "ACL", "SETUSER", "operator", "on", ">secret", "~*", "+@all", "-config").Err(); err != nil {
			t.Fatal(err)
		}
		opts := redistest.Options(s)
		opts.Username, opts.Password = "operator", "secret"
		m := mustNew(t, newClient(t, opts), Options{})
		if err := m.SetServerPrefix(t.Context(), always); !errors.Is(err, ErrSettingsUnknown) || !strings.Contains(err.Error(), "appendfsync") {
			t.Errorf("got %v, want ErrSettingsUnknown that names appendfsync", err)
		}
		if err := m.TrustSettings().SetServerPrefix(t.Context(), always); err != nil {
			t.Error(err)
		}
	})
}

// The statement would hide an earlier loss, so each counter jumps before the statement is written.
func TestDurableSettlesCountersFirst(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		for name, seed := range map[string]func() error{
			"orders": func() error { _, err := m.Seed(t.Context(), "orders", 32, false); return err },
			"people": func() error { _, err := m.SeedIdentity(t.Context(), "people", 7, false); return err },
			"side": func() error {
				return m.Import(t.Context(), []State{{Kind: KindServerSide, Counter: Counter{Max: 7}}})[0].Err
			},
		} {
			if err := seed(); err != nil {
				t.Fatalf("%s: got %v, want <nil>", name, err)
			}
		}
		s.ChangeReplicationID()
		// A failure in between leaves no statement behind.
		failing := redistest.NewClient(t, s)
		failing.AddHook(&onCommand{name: "evalsha", times: 2, fail: errors.New("cut off")})
		if err := mustNew(t, failing, Options{}).SetServerPrefix(t.Context(), always); err == nil {
			t.Error("got nil, want the error of a counter")
		}
		if got, err := m.ServerPrefix(t.Context()); got.Durable != "" || err != nil {
			t.Errorf("got %+v and %v, want no statement", got, err)
		}
		if err := m.SetServerPrefix(t.Context(), always); err != nil {
			t.Fatal(err)
		}
		for state, err := range m.States(t.Context()) {
			least := map[Kind]int64{KindHiLo: 32 + 65536, KindIdentity: 7 + 1024, KindServerSide: 7 + 1024}[state.Kind]
			if err != nil || state.Max != least+1 || state.Epoch != 2 {
				t.Errorf("got %+v and %v, want %d, by the gap alone, in epoch 2", state, err, least+1)
			}
		}
	})
}

// A counter without room for the gap is raised to the limit, which issues nothing more and does not fail the statement.
func TestDurableSettlesCountersWithinTheLimit(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		for name, at := range map[string]int64{"orders": 32, "users": 99_990, "items": 100_000} {
			if _, err := m.Seed(t.Context(), name, at, false); err != nil {
				t.Fatal(err)
			}
		}
		s.ChangeReplicationID()
		var full []string
		limited := m.WithLimit(100_000, func(k Kind, name string, limit int64) { full = append(full, fmt.Sprint(k, " ", name, " ", limit)) })
		if err := limited.SetServerPrefix(t.Context(), always); err != nil {
			t.Fatal(err)
		}
		if slices.Sort(full); !slices.Equal(full, []string{"hilo items 100000", "hilo users 100000"}) {
			t.Errorf("got %q reported, want items and users", full)
		}
		for name, want := range map[string]int64{"orders": 65_569, "users": 100_000, "items": 100_000} {
			if got, err := m.Counter(t.Context(), name); err != nil || got.Max != want {
				t.Errorf("%s: got %+v and %v, want %d", name, got, err, want)
			}
		}
		if _, err := mustAllocate(t, client, allocator.Options{Limit: 100_000}).Next(t.Context(), "users"); !errors.Is(err, allocator.ErrExhausted) {
			t.Errorf("users: got %v, want ErrExhausted", err)
		}
	})
}

func TestDurableIsRefusedIfAReplicaConnectsMeanwhile(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, b redistest.Binary, s *redistest.Server) {
		replica := redistest.Start(t, b)
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		// The script checks again.
		origin, err := m.awaitDurable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		replica.Follow(s)
		request := scripts.ConfigureRequest{Durable: scripts.DurableSet, Origin: origin}
		if err := m.stateDurable(t.Context(), request); !errors.Is(err, scripts.ErrChanged) {
			t.Errorf("got %v, want ErrChanged", err)
		}
	})
}

func TestDurableWaitsForARewriteOfTheAOF(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		pipe := client.Pipeline()
		for i := range 2000 { // each takes the rewrite 1 ms
			pipe.Set(t.Context(), strconv.Itoa(i), strings.Repeat("x", 100), 0)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		client.ConfigSet(t.Context(), "rdb-key-save-delay", "1000")
		client.Do(t.Context(), "BGREWRITEAOF")
		if err := mustNew(t, client, Options{}).WithTimeout(1).SetServerPrefix(t.Context(), always); !errors.Is(err, ErrNotDurableServer) ||
			!strings.Contains(err.Error(), "being rewritten") {
			t.Errorf("got %v, want ErrNotDurableServer", err)
		}
		if err := mustNew(t, client, Options{}).WithTimeout(1<<36).SetServerPrefix(t.Context(), always); err != nil {
			t.Errorf("got %v, want nil after the rewrite", err)
		}
		if got := info.Fields(client.Info(t.Context(), "persistence").Val())["aof_rewrite_in_progress"]; got != "0" {
			t.Errorf("aof_rewrite_in_progress is %s, want 0", got)
		}
	})
}

func TestDurableOfAClusterChecksThePrimaryThatOwnsTheKey(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 2, 0)
			owner := redistest.NewClient(t, cluster.Nodes[cluster.Slot("{Raven}")*2/16384])
			m := mustNew(t, redistest.NewClusterClient(t, cluster), Options{})
			refused := func(about string, want bool) {
				t.Helper()
				err := m.SetServerPrefix(t.Context(), always)
				if !errors.Is(err, ErrNotDurableServer) || !strings.Contains(err.Error(), "a node of a cluster") {
					t.Errorf("got %v, want ErrNotDurableServer that names the cluster", err)
				}
				if got := strings.Contains(fmt.Sprint(err), about); got != want {
					t.Errorf("the error %v names %s: got %v, want %v", err, about, got, want)
				}
			}
			refused("appendonly is no", true)
			for _, setting := range durableSettings {
				owner.ConfigSet(t.Context(), setting.name, setting.want)
			}
			refused("appendonly", false)
			if got := owner.Exists(t.Context(), "{Raven}/ServerPrefixForHilo").Val(); got != 0 {
				t.Errorf("got %d keys, want none", got)
			}
		})
	}
}

var _ redis.Hook = (*onCommand)(nil)
