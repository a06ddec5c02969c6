package admin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// operatorWrites are all writes of an operator.
var operatorWrites = map[string]func(t *testing.T, m *Admin) error{
	"seed": func(t *testing.T, m *Admin) error {
		_, err := m.Seed(t.Context(), "orders", 100, false)
		return err
	},
	"forced seed": func(t *testing.T, m *Admin) error {
		_, err := m.Seed(t.Context(), "orders", 50, true)
		return err
	},
	"identity seed": func(t *testing.T, m *Admin) error {
		_, err := m.SeedIdentity(t.Context(), "people", 7, false)
		return err
	},
	"import": func(t *testing.T, m *Admin) error {
		return m.Import(t.Context(), []State{hiloState("users", 7), hiloState("a/b", 1)})[0].Err
	},
	"prefix set":   func(t *testing.T, m *Admin) error { return m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A"}) },
	"prefix clear": func(t *testing.T, m *Admin) error { return m.SetServerPrefix(t.Context(), prefix.Server{}) },
}

func TestWritesAreConfirmedByEveryConnectedReplica(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, primary *redistest.Server) {
		replica := redistest.StartReplica(t, primary)
		m := mustNew(t, redistest.NewClient(t, primary), Options{}).WithTimeout(time.Minute) // at most half the read timeout
		for name, write := range operatorWrites {
			if err := write(t, m); err != nil {
				t.Errorf("%s: got %v, want <nil>", name, err)
			}
		}
		replica.Pause()
		// A second attempt changes nothing, and is not confirmed either, because WAIT on a connection that wrote nothing returns at
		// once.
		for range 2 {
			for name, write := range operatorWrites {
				m := mustNew(t, redistest.NewClient(t, primary), Options{}).WithTimeout(20 * time.Millisecond)
				err := write(t, m)
				if !errors.Is(err, ErrNotConfirmed) || !errors.Is(err, scripts.ErrNotDurable) || !strings.Contains(err.Error(), "0 of 1") {
					t.Errorf("%s with its replica paused: got %v, want ErrNotConfirmed with 0 of 1", name, err)
				}
			}
		}
		replica.Resume()
	})
}

// A failover to the replica that is away would lose the write.
func TestWritesNeedTheReplicasThatTheServerRequires(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", "replicas:1")
		m := mustNew(t, redistest.NewClient(t, s), Options{}).WithTimeout(20 * time.Millisecond)
		for name, write := range operatorWrites {
			if strings.HasPrefix(name, "prefix") {
				m = m.KeepDurable()
			}
			if err := write(t, m); !errors.Is(err, ErrNotConfirmed) || !strings.Contains(err.Error(), "0 of 1") {
				t.Errorf("%s without a replica: got %v, want ErrNotConfirmed with 0 of 1", name, err)
			}
		}
	})
}

func TestWritesAreNotConfirmedWithoutInfo(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		for _, rule := range []string{"+info", "-info"} {
			if err := s.Client(t).Do(t.Context(), "ACL", "SETUSER", "operator", "reset", "on", ">secret", "~*", "+@all", rule).Err(); err != nil {
				t.Fatal(err)
			}
			opts := redistest.Options(s)
			opts.Username, opts.Password = "operator", "secret"
			m := mustNew(t, newClient(t, opts), Options{Namespace: "with" + rule})
			for name, write := range operatorWrites {
				switch err := write(t, m); {
				case rule == "+info" && err != nil:
					t.Errorf("%s: got %v, want <nil>", name, err)
				case rule == "-info" && (!errors.Is(err, ErrNotConfirmed) || !strings.Contains(err.Error(), "permit +info")):
					t.Errorf("%s without +info: got %v, want ErrNotConfirmed", name, err)
				}
			}
		}
	})
}

func TestWritesDuringARestartAreNotConfirmed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		err := m.confirmed(t.Context(), "orders", 0, func(scripter) error {
			s.ChangeReplicationID()
			return nil
		})
		if !errors.Is(err, ErrNotConfirmed) || !strings.Contains(err.Error(), "restarted or replaced") {
			t.Errorf("got %v, want ErrNotConfirmed", err)
		}
		if err := m.confirmed(t.Context(), "orders", 0, func(scripter) error { return nil }); err != nil {
			t.Errorf("without a restart: got %v, want nil", err)
		}
	})
}

func TestExportMarksCountersThatMayHaveLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client, m := redistest.NewClient(t, s), mustNew(t, redistest.NewClient(t, s), Options{})
		for _, name := range []string{"orders", "old"} {
			if _, err := m.Seed(t.Context(), name, 32, false); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.SeedIdentity(t.Context(), "people", 7, false); err != nil {
			t.Fatal(err)
		}
		client.HSet(t.Context(), "{Raven}/HiLo/byhand", "Max", 5)
		client.HSet(t.Context(), "{Raven}/HiLo/old", "Issued", 40_000, "IssuedBefore", 10_000, "Top", 31)
		lost := func() map[string]State {
			t.Helper()
			all, err := m.Export(t.Context())
			if err != nil || all.Replication == "" {
				t.Fatalf("got %q and %v, want a replication id", all.Replication, err)
			}
			states := make(map[string]State)
			for _, state := range all.States {
				if state.Lost {
					states[state.Name] = state
				}
			}
			return states
		}
		if got := lost(); len(got) != 0 {
			t.Errorf("before a restart: got %v, want none", got)
		}
		s.ChangeReplicationID()
		states := lost()
		if len(states) != 3 || states["old"].Top != 31 || states["old"].Issued != 50_000 || states["old"].Written == 0 {
			t.Errorf("after a restart: got %+v, want orders, old and people", states)
		}

		// On another server each continues above all that may have been issued.
		other := redistest.StartMini(t)
		to := mustNew(t, redistest.NewClient(t, other), Options{})
		all := []State{states["orders"], states["old"], states["people"]}
		checked := to.CheckImport(t.Context(), prefix.Server{}, all)
		for range 2 { // the second time changes nothing
			for i, got := range to.Import(t.Context(), all) {
				want := []int64{32 + 65536, 32 + 100_000, 7 + 1024}[i]
				if got.Err != nil || got.Now != want || checked[i].Now != want {
					t.Errorf("%s: got %+v, and %+v without writing; want %d", all[i].Name, got, checked[i], want)
				}
			}
		}
		if got, err := to.one(t.Context(), KindHiLo, "orders"); got.Epoch != 1 || err != nil {
			t.Errorf("got %+v and %v, want epoch 1", got, err)
		}
	})
}

func TestExportRefusesAReplicaAndAServerThatRestarts(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		if _, err := m.Seed(t.Context(), "orders", 32, false); err != nil {
			t.Fatal(err)
		}
		if _, err := mustNew(t, redistest.NewClient(t, redistest.StartReplica(t, s)), Options{}).Export(t.Context()); !errors.Is(err, ErrReplica) {
			t.Errorf("a replica: got %v, want ErrReplica", err)
		}
	})
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		hook := &onCommand{s: s, name: "hmget", times: 2, do: s.ChangeReplicationID}
		client := redistest.NewClient(t, s)
		client.AddHook(hook)
		if _, err := mustNew(t, client, Options{}).Export(t.Context()); !errors.Is(err, ErrIncomplete) || !errors.Is(err, failure.ErrUnavailable) {
			t.Errorf("restarted meanwhile: got %v, want ErrIncomplete", err)
		}
	})
}
