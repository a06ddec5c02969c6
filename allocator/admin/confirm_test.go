package admin

import (
	"errors"
	"strings"
	"testing"
	"time"

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
		m := mustNew(t, redistest.NewClient(t, primary), Options{}).With(Mode{Timeout: time.Minute}) // at most half the read timeout
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
				m := mustNew(t, redistest.NewClient(t, primary), Options{}).With(Mode{Timeout: 20 * time.Millisecond})
				err := write(t, m)
				if !errors.Is(err, ErrNotConfirmed) || !errors.Is(err, scripts.ErrNotDurable) || !strings.Contains(err.Error(), "0 of 1") {
					t.Errorf("%s with its replica paused: got %v, want ErrNotConfirmed with 0 of 1", name, err)
				}
			}
		}
		replica.Resume()
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
			s.Initialize("with" + rule)
			for name, write := range operatorWrites {
				switch err := write(t, m); {
				case rule == "+info" && err != nil:
					t.Errorf("%s: got %v, want <nil>", name, err)
				case rule == "-info" && (!errors.Is(err, ErrNotConfirmed) || !strings.Contains(err.Error(), "permit +info")):
					t.Errorf("%s without +info: got %v, want ErrNotConfirmed", name, err)
				}
				if err := write(t, m.With(Mode{NoReplicas: true})); err != nil {
					t.Errorf("%s with %s and no replicas, as stated: got %v, want <nil>", name, rule, err)
				}
			}
		}
	})
}

func TestWritesDuringARestartAreNotConfirmed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		err := m.confirmed(t.Context(), "orders", "", nil, func(scripter) error {
			s.ChangeReplicationID()
			return nil
		})
		if !errors.Is(err, ErrNotConfirmed) || !strings.Contains(err.Error(), "restarted or replaced") {
			t.Errorf("got %v, want ErrNotConfirmed", err)
		}
		if err := m.confirmed(t.Context(), "orders", "", nil, func(scripter) error { return nil }); err != nil {
			t.Errorf("without a restart: got %v, want nil", err)
		}
	})
}
