package admin

import (
	"errors"
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
				m := mustNew(t, redistest.NewClient(t, s), Options{}).With(Mode{Trust: true}) // miniredis has no CONFIG
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
				m := mustNew(t, client, Options{}).With(Mode{Timeout: 1})
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
		if _, err := m.With(Mode{Timeout: 1}).Seed(t.Context(), "orders", 7, false); !errors.Is(err, ErrNotConfirmed) || !strings.Contains(err.Error(), "being rewritten") {
			t.Errorf("got %v, want ErrNotConfirmed", err)
		}
		if _, err := m.With(Mode{Timeout: 1 << 36}).Seed(t.Context(), "orders", 7, false); err != nil {
			t.Errorf("got %v, want <nil> after the rewrite", err)
		}
		if got := info.Fields(client.Info(t.Context(), "persistence").Val())["aof_rewrite_in_progress"]; got != "0" {
			t.Errorf("aof_rewrite_in_progress is %s, want 0", got)
		}
	})
}
