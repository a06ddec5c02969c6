package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDurableIsRefusedIfTheServerContradictsIt(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, b redistest.Binary, s *redistest.Server, durable string) {
		client := redistest.NewClient(t, s)
		wanted := prefix.Server{Durable: durable}
		refused := func(client redis.UniversalClient, want string) {
			t.Helper()
			m := mustNew(t, client, Options{})
			for _, m := range []*Admin{m, m.With(Mode{Trust: true})} {
				fresh := mustNew(t, client, Options{Namespace: "Fresh"})
				if m.mode.Trust {
					fresh = fresh.With(Mode{Trust: true})
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
	redis.UniversalClient
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
		if err := m.With(Mode{Trust: true}).SetServerPrefix(t.Context(), wanted); err != nil {
			t.Error(err)
		}
		fresh := mustNew(t, newClient(t, opts), Options{Namespace: "Fresh"})
		if err := fresh.Init(t.Context(), wanted); !errors.Is(err, ErrNeedsTrust) {
			t.Errorf("init: got %v, want ErrNeedsTrust", err)
		}
		if err := fresh.With(Mode{Trust: true}).Init(t.Context(), wanted); err != nil {
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
