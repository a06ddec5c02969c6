package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// eachDurable runs a test on each real server with an append-only file, for both values of Durable.
func eachDurable(t *testing.T, test func(t *testing.T, b redistest.Binary, s *redistest.Server, durable string)) {
	t.Helper()
	for _, b := range redistest.Binaries(t) {
		for _, durable := range []string{prefix.DurableEverysec, prefix.DurableAlways} {
			t.Run(b.Name+" "+durable, func(t *testing.T) {
				t.Parallel()
				test(t, b, redistest.Start(t, b, durableArgs(durable)...), durable)
			})
		}
	}
}

func durableArgs(durable string) []string {
	return []string{"--appendonly", "yes", "--appendfsync", durable, "--no-appendfsync-on-rewrite", "no"}
}

// setDurable sets Durable of a server that passes the checks, and keeps it from rewriting its file meanwhile.
func setDurable(t *testing.T, m *Admin, durable string) {
	t.Helper()
	if err := m.CheckDurable(t.Context(), durable); err != nil {
		t.Fatal(err)
	}
	if err := m.SetServerPrefix(t.Context(), prefix.Server{Durable: durable}); err != nil {
		t.Fatal(err)
	}
}

// nextNumber returns the next number of a new worker, which returns what it does not need.
func nextNumber(t *testing.T, client redis.UniversalClient, collection string) int64 {
	t.Helper()
	a := mustAllocate(t, client, allocator.Options{})
	n, err := a.NextNumber(t.Context(), collection)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// A seed is covered before the first range, and so is an import.
func TestSeedAtADurableServerNeedsNoJumpAfterARestart(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server, durable string) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		setDurable(t, m, durable)
		if got, err := m.Seed(t.Context(), "orders", 1000, false); got != 1000 || err != nil {
			t.Fatalf("got %d and %v, want 1000", got, err)
		}
		if got := m.Import(t.Context(), []State{hiloState("users", 2000), {Kind: KindIdentity, Counter: Counter{Name: "people", Max: 7}, Raised: 23}}); got[0].Err != nil || got[1].Err != nil {
			t.Fatalf("got %+v, want no error", got)
		}
		for name, want := range map[string]int64{"orders": 1000, "users": 2000} {
			if got, err := m.Counter(t.Context(), name); err != nil || got.Max != want || got.Ceiling != want {
				t.Errorf("%s: got %+v and %v, want it and its ceiling at %d", name, got, err, want)
			}
		}
		s.Restart()
		for name, want := range map[string]int64{"orders": 1001, "users": 2001} {
			if got := nextNumber(t, client, name); got != want {
				t.Errorf("%s: got %d, want %d", name, got, want)
			}
		}
		if got, err := mustAllocate(t, client, allocator.Options{}).NextIdentity(t.Context(), "people"); got != 24 || err != nil {
			t.Errorf("people: got %d and %v, want 24, above what its source had reserved", got, err)
		}
		// An export tells what the server reserved from what it may have lost.
		s.Restart()
		all, err := m.Export(t.Context())
		if err != nil || len(all.States) != 3 || all.Server.Durable != durable {
			t.Fatalf("got %+v and %v, want three counters of a durable server", all, err)
		}
		for _, state := range all.States {
			if state.Margin != state.Raised-state.Max || state.Margin > 200 {
				t.Errorf("got %+v, want a margin of what is reserved, below 200", state)
			}
		}
	})
}

// A server that was restarted as a plain one may have lost more than it reserved. That it is durable now does not make it less.
func TestSeedAtADurableServerKeepsThePendingJumpOfAPlainOne(t *testing.T) {
	t.Parallel()
	s := startDurableMini(t)
	client := redistest.NewClient(t, s)
	m := mustNew(t, client, Options{})
	client.HSet(t.Context(), settingsKey, "Durable", "always")
	client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 32, "Raised", 16_416, "Block", 16_384, "Origin", strings.Repeat("0f", 20))
	if got, err := m.Seed(t.Context(), "orders", 10, false); got != 32 || err != nil {
		t.Fatalf("got %d and %v, want 32", got, err)
	}
	if got := m.Import(t.Context(), []State{hiloState("orders", 40)})[0]; got.Now != 40 || got.Err != nil {
		t.Fatalf("got %+v, want 40", got)
	}
	if got := nextNumber(t, client, "orders"); got < 16_416+4*16_384 {
		t.Errorf("got %d, want a margin above 16416", got)
	}
}

// A ceiling above what was ever reserved would look like lost writes to the clients that saw it.
func TestForcedSeedAfterASeedIsNoEvidenceAtADurableServer(t *testing.T) {
	t.Parallel()
	s := startDurableMini(t)
	client := redistest.NewClient(t, s)
	m := mustNew(t, client, Options{})
	client.HSet(t.Context(), settingsKey, "Durable", "always")
	if got, err := m.Seed(t.Context(), "orders", 1000, false); got != 1000 || err != nil {
		t.Fatalf("got %d and %v, want 1000", got, err)
	}
	if got, err := m.Seed(t.Context(), "orders", 50, true); got != 50 || err != nil {
		t.Fatalf("got %d and %v, want 50", got, err)
	}
	a := mustAllocate(t, client, allocator.Options{MinCapacity: 1, MaxCapacity: 1})
	for want := int64(51); want < 60; want++ {
		if got, err := a.NextNumber(t.Context(), "orders"); got != want || err != nil {
			t.Fatalf("got %d and %v, want %d", got, err, want)
		}
	}
	if got, err := m.ServerPrefix(t.Context()); got.Durable != prefix.DurableAlways || err != nil {
		t.Errorf("got %+v and %v, want the server durable still", got, err)
	}
}

// questions counts the questions about the disk, and the permits, that a miniredis is sent.
func questions(s *redistest.Server) func() (asked, permitted int) {
	var mu sync.Mutex
	var asked, permitted int
	s.Hook(func(cmd string, args []string) string {
		mu.Lock()
		defer mu.Unlock()
		if cmd == "EVALSHA" && len(args) == 7 && args[1] == "3" { // those with a replication id and a number
			if args[2] == settingsKey {
				asked++
			} else {
				permitted++
			}
		}
		return ""
	})
	return func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		defer func() { asked, permitted = 0, 0 }()
		return asked, permitted
	}
}

func TestWritesAtADurableServerAreConfirmedByQuestions(t *testing.T) {
	t.Parallel()
	for durable, want := range map[string][2]int{prefix.DurableEverysec: {2, 1}, prefix.DurableAlways: {0, 1}} {
		for name, write := range operatorWrites {
			if name == "prefix clear" { // takes Durable back, and is tested below
				continue
			}
			t.Run(durable+" "+name, func(t *testing.T) {
				t.Parallel()
				s := startDurableMini(t)
				m := mustNew(t, redistest.NewClient(t, s), Options{}).TrustSettings() // miniredis has no CONFIG
				counted := questions(s)
				if err := m.SetServerPrefix(t.Context(), prefix.Server{Durable: durable}); err != nil {
					t.Fatal(err)
				}
				if asked, permitted := counted(); asked != want[0]+1 || permitted != 0 {
					t.Errorf("Durable itself: got %d questions and %d permits, want %d and 0", asked, permitted, want[0]+1)
				}
				if name == "prefix set" {
					write = func(t *testing.T, m *Admin) error {
						return m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A", Durable: durable})
					}
				}
				if err := write(t, m); err != nil {
					t.Fatal(err)
				}
				asked, permitted := counted()
				if name == "prefix set" {
					asked, permitted = asked-1, permitted+1
				}
				if asked != want[0] || permitted != want[1] {
					t.Errorf("got %d questions and %d permits, want %d and %d", asked, permitted, want[0], want[1])
				}
			})
		}
	}
}

func TestWritesAtADurableServerAreNotConfirmedWhileItsFileIsNotKept(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ field, value, want string }{
		{"aof_enabled", "0", "the append-only file is off: CONFIG SET appendonly yes"},
		{"aof_last_write_status", "err", "could not be written: see to the disk"},
		{"aof_rewrite_in_progress", "1", "is being rewritten"},
		{"aof_rewrite_scheduled", "1", "is being rewritten"},
	} {
		for _, durable := range []string{prefix.DurableEverysec, prefix.DurableAlways} {
			t.Run(test.field+" "+durable, func(t *testing.T) {
				t.Parallel()
				s := startDurableMini(t)
				client := redistest.NewClient(t, s)
				client.HSet(t.Context(), settingsKey, "Durable", durable)
				s.SetInfo(test.field, test.value)
				m := mustNew(t, client, Options{}).WithTimeout(1)
				for name, write := range operatorWrites {
					if strings.HasPrefix(name, "prefix") {
						continue
					}
					for range 2 { // to repeat it does no harm
						if err := write(t, m); !errors.Is(err, ErrNotConfirmed) || !errors.Is(err, scripts.ErrNotDurable) || !strings.Contains(err.Error(), test.want) {
							t.Errorf("%s: got %v, want ErrNotConfirmed with %q", name, err, test.want)
						}
					}
				}
				if got, err := m.Counter(t.Context(), "users"); got.Max != 7 || err != nil {
					t.Errorf("got %+v and %v, want what was not confirmed written", got, err)
				}
				if got, err := m.Identity(t.Context(), "people"); got.Max != 7 || got.Ceiling != 0 || err != nil {
					t.Errorf("got %+v and %v, want no ceiling", got, err)
				}
				if err := m.SetServerPrefix(t.Context(), prefix.Server{}); err != nil {
					t.Errorf("without Durable: got %v, want <nil>", err)
				}
			})
		}
	}
}

func TestWritesAtADurableServerWaitForARewrite(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server, durable string) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		setDurable(t, m, durable)
		pipe := client.Pipeline()
		for i := range 3000 { // each takes the rewrite 1 ms
			pipe.Set(t.Context(), strconv.Itoa(i), strings.Repeat("x", 100), 0)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		client.ConfigSet(t.Context(), "rdb-key-save-delay", "1000")
		client.Do(t.Context(), "BGREWRITEAOF")
		if _, err := m.WithTimeout(1).Seed(t.Context(), "orders", 7, false); !errors.Is(err, ErrNotConfirmed) || !strings.Contains(err.Error(), "being rewritten") {
			t.Errorf("got %v, want ErrNotConfirmed", err)
		}
		if _, err := m.WithTimeout(1<<36).Seed(t.Context(), "orders", 7, false); err != nil {
			t.Errorf("got %v, want <nil> after the rewrite", err)
		}
		if got := info.Fields(client.Info(t.Context(), "persistence").Val())["aof_rewrite_in_progress"]; got != "0" {
			t.Errorf("aof_rewrite_in_progress is %s, want 0", got)
		}
	})
}

func TestDurableIsRefusedIfTheServerContradictsIt(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, b redistest.Binary, s *redistest.Server, durable string) {
		client := redistest.NewClient(t, s)
		wanted := prefix.Server{Durable: durable}
		refused := func(client redis.UniversalClient, want string) {
			t.Helper()
			m := mustNew(t, client, Options{})
			for _, m := range []*Admin{m, m.TrustSettings()} {
				fresh := mustNew(t, client, Options{Namespace: "Fresh"})
				if m.trusting {
					fresh = fresh.TrustSettings()
				}
				for _, err := range []error{m.CheckDurable(t.Context(), durable), m.SetServerPrefix(t.Context(), wanted), fresh.Init(t.Context(), wanted)} {
					if !errors.Is(err, ErrNotDurableServer) || !strings.Contains(err.Error(), want) {
						t.Errorf("got %v, want ErrNotDurableServer that names %q", err, want)
					}
				}
			}
			if got, err := m.ServerPrefix(t.Context()); got.Durable != "" || err != nil {
				t.Errorf("got %+v and %v, want no statement", got, err)
			}
		}
		for name, value := range map[string]string{"appendfsync": "no", "no-appendfsync-on-rewrite": "yes", "appendonly": "no"} {
			before := client.ConfigGet(t.Context(), name).Val()[name]
			client.ConfigSet(t.Context(), name, value)
			refused(client, name+" is "+value+": CONFIG SET "+name+" "+before)
			client.ConfigSet(t.Context(), name, before)
			s.Await("to have its AOF", func(ctx context.Context) bool {
				return info.Fields(client.Info(ctx, "persistence").Val())["aof_rewrite_in_progress"] == "0"
			})
		}
		// The weaker statement holds with the stronger setting, and not the other way round.
		always, everysec := prefix.DurableAlways, prefix.DurableEverysec
		if err := mustNew(t, client, Options{}).CheckDurable(t.Context(), always); durable == everysec && !errors.Is(err, ErrNotDurableServer) {
			t.Errorf("always with everysec: got %v, want ErrNotDurableServer", err)
		}
		if err := mustNew(t, client, Options{}).CheckDurable(t.Context(), everysec); err != nil {
			t.Errorf("everysec with %s: got %v, want <nil>", durable, err)
		}

		// A replica that connects after the checks is found by the script.
		late := redistest.Start(t, b)
		hooked := redistest.NewClient(t, s)
		hooked.AddHook(&onCommand{name: "evalsha", times: 1, do: func() { late.Follow(s) }})
		if err := mustNew(t, hooked, Options{}).SetServerPrefix(t.Context(), wanted); !errors.Is(err, scripts.ErrChanged) || !strings.Contains(err.Error(), "a replica is connected") {
			t.Errorf("a late replica: got %v, want ErrChanged", err)
		}
		refused(client, "a replica is connected")
		refused(redistest.NewClient(t, late), "it is a replica")
	})
}

// reporting is a server that keeps every write, except for what it is set to report.
type reporting struct {
	client
	changes map[string]string
}

func (r reporting) ConfigGet(ctx context.Context, name string) *redis.MapStringStringCmd {
	cmd := redis.NewMapStringStringCmd(ctx)
	if r.changes["config"] != "" {
		cmd.SetErr(redisError(r.changes["config"]))
		return cmd
	}
	cmd.SetVal(map[string]string{name: map[string]string{"appendfsync": "everysec", "appendonly": "yes", "no-appendfsync-on-rewrite": "no"}[name]})
	return cmd
}

// redisError is the error of a reply.
type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

func (r reporting) Info(ctx context.Context, _ ...string) *redis.StringCmd {
	fields := map[string]string{
		"role": "master", "connected_slaves": "0", "aof_enabled": "1", "aof_last_write_status": "ok", "aof_last_bgrewrite_status": "ok", "cluster_enabled": "0",
	}
	if r.changes["info"] != "" {
		cmd := redis.NewStringCmd(ctx)
		cmd.SetErr(redisError(r.changes["info"]))
		return cmd
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

func TestCheckDurableComparesEveryField(t *testing.T) {
	t.Parallel()
	type fields = map[string]string
	for _, test := range []struct {
		name    string
		changes fields
		want    error
		refused string // in the error
	}{
		{"as it is to be", fields{}, nil, ""},
		{"a replica", fields{"role": "slave"}, ErrNotDurableServer, "it is a replica: name its primary"},
		{"a connected replica", fields{"connected_slaves": "1", "slave0": "ip=::1,port=6380,state=online"}, ErrNotDurableServer, "a replica is connected, and may be promoted without the newest writes: detach it"},
		{"redis-cli --rdb", fields{"connected_slaves": "1", "slave0": "ip=::1,port=0,state=online"}, nil, ""},
		{"AOF off", fields{"aof_enabled": "0"}, ErrNotDurableServer, "its append-only file is off: CONFIG SET appendonly yes, also in its configuration file"},
		{"a full disk", fields{"aof_last_write_status": "err"}, ErrNotDurableServer, "could not write its append-only file: see to its disk"},
		{"a failed rewrite", fields{"aof_last_bgrewrite_status": "err"}, ErrNotDurableServer, "could not rewrite its append-only file"},
		{"a node of a cluster", fields{"cluster_enabled": "1"}, ErrNotDurableServer, "it is a node of a cluster"},
		{"CONFIG not permitted", fields{"config": "NOPERM no permissions to run the 'config|get' command"}, ErrNeedsTrust, "appendfsync, appendonly, no-appendfsync-on-rewrite"},
		{"both", fields{"config": "NOPERM", "aof_enabled": "0"}, ErrNotDurableServer, "append-only file is off"},
		{"a field that is not shown", fields{"aof_enabled": ""}, ErrSettingsUnknown, "aof_enabled"},
		{"INFO not permitted", fields{"info": "NOPERM no permissions to run the 'info' command"}, ErrNeedsTrust, "settings could not be seen: INFO"},
	} {
		err := (&Admin{client: reporting{changes: test.changes}}).CheckDurable(t.Context(), prefix.DurableEverysec)
		if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: got %v, want %v with %q", test.name, err, test.want, test.refused)
		}
	}
}

func TestDurableRequiresTrustInUnreadableSettings(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server, durable string) {
		if err := s.Client(t).Do(t.Context(), "ACL", "SETUSER", "operator", "on", ">secret", "~*", "+@all", "-config").Err(); err != nil {
			t.Fatal(err)
		}
		opts := redistest.Options(s)
		opts.Username, opts.Password = "operator", "secret"
		m := mustNew(t, newClient(t, opts), Options{})
		wanted := prefix.Server{Durable: durable}
		if err := m.SetServerPrefix(t.Context(), wanted); !errors.Is(err, ErrSettingsUnknown) || !errors.Is(err, ErrNeedsTrust) || !strings.Contains(err.Error(), "appendfsync") {
			t.Errorf("got %v, want ErrNeedsTrust that names appendfsync", err)
		}
		if err := m.TrustSettings().SetServerPrefix(t.Context(), wanted); err != nil {
			t.Error(err)
		}
		fresh := mustNew(t, newClient(t, opts), Options{Namespace: "Fresh"})
		if err := fresh.Init(t.Context(), wanted); !errors.Is(err, ErrNeedsTrust) {
			t.Errorf("init: got %v, want ErrNeedsTrust", err)
		}
		if err := fresh.TrustSettings().Init(t.Context(), wanted); err != nil {
			t.Error(err)
		}
		for _, m := range []*Admin{m, fresh} {
			if got, err := m.ServerPrefix(t.Context()); got != wanted || err != nil {
				t.Errorf("got %+v and %v, want %+v", got, err, wanted)
			}
		}
	})
}

// A statement that is set and taken back touches no counter.
func TestDurableLeavesCountersAlone(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ redistest.Binary, s *redistest.Server, durable string) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		if got := nextNumber(t, client, "orders"); got != 1 {
			t.Fatalf("got %d, want 1", got)
		}
		before := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val()
		setDurable(t, m, durable)
		if err := m.SetServerPrefix(t.Context(), prefix.Server{}); err != nil {
			t.Fatal(err)
		}
		if got := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val(); !maps.Equal(got, before) {
			t.Errorf("got %v, want %v", got, before)
		}
		if got := nextNumber(t, client, "orders"); got != 2 {
			t.Errorf("got %d, want 2", got)
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
				err := m.SetServerPrefix(t.Context(), prefix.Server{Durable: prefix.DurableEverysec})
				if !errors.Is(err, ErrNotDurableServer) || !strings.Contains(err.Error(), "a node of a cluster") {
					t.Errorf("got %v, want ErrNotDurableServer that names the cluster", err)
				}
				if got := strings.Contains(fmt.Sprint(err), about); got != want {
					t.Errorf("the error %v names %s: got %v, want %v", err, about, got, want)
				}
			}
			refused("appendonly is no", true)
			for setting := range slices.Chunk(durableArgs(prefix.DurableEverysec), 2) {
				owner.ConfigSet(t.Context(), strings.TrimPrefix(setting[0], "--"), setting[1])
			}
			refused("appendonly", false)
			if got, err := m.ServerPrefix(t.Context()); got.Durable != "" || err != nil {
				t.Errorf("got %+v and %v, want no statement", got, err)
			}
		})
	}
}
