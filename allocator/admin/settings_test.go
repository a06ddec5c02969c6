package admin

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestChangeServerPrefixChangesThePresentSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		change := func(to func(now *prefix.Server, corrupt error) error) error {
			return m.ChangeServerPrefix(t.Context(), func(now prefix.Server, corrupt error) (prefix.Server, error) {
				err := to(&now, corrupt)
				return now, err
			})
		}
		want := prefix.Server{NodeTag: "A", MaxValue: 1 << 40}
		for _, to := range []func(*prefix.Server){
			func(now *prefix.Server) { now.NodeTag = "A" }, func(now *prefix.Server) { now.MaxValue = 1 << 40 },
		} {
			if err := change(func(now *prefix.Server, corrupt error) error { to(now); return corrupt }); err != nil {
				t.Fatal(err)
			}
		}
		refused := errors.New("refused")
		if err := change(func(now *prefix.Server, _ error) error { now.NodeTag = "B"; return refused }); !errors.Is(err, refused) {
			t.Errorf("got %v, want the error of change", err)
		}
		if err := change(func(now *prefix.Server, _ error) error { now.NodeTag = "1"; return nil }); !errors.Is(err, prefix.ErrInvalid) {
			t.Errorf("got %v, want ErrInvalid", err)
		}
		if got, err := m.ServerPrefix(t.Context()); got != want || err != nil {
			t.Errorf("got %+v and %v, want %+v", got, err, want)
		}
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag", "1")
		if err := change(func(_ *prefix.Server, corrupt error) error { return corrupt }); !errors.Is(err, scripts.ErrCorrupt) {
			t.Errorf("got %v, want ErrCorrupt", err)
		}
		if err := change(func(now *prefix.Server, _ error) error { now.NodeTag = "A"; return nil }); err != nil {
			t.Errorf("got %v, want the tag corrected", err)
		}
	})
}

func TestSetServerPrefixKeepsTheIntervalOfItsServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		const low, high = 1 << 30, 1 << 40
		set := func(m *Admin, s prefix.Server) error { return m.SetServerPrefix(t.Context(), s) }
		if err := set(m, prefix.Server{MinValue: low, MaxValue: high}); err != nil {
			t.Fatal(err)
		}
		if got, err := m.ServerPrefix(t.Context()); err != nil || got.MinValue != low || got.MaxValue != high {
			t.Errorf("got %+v and %v, want the interval", got, err)
		}
		if got, err := m.Seed(t.Context(), "orders", 7, false); got != low-1 || err != nil {
			t.Errorf("a seed below MinValue: got %d and %v, want %d", got, err, low-1)
		}
		for _, force := range []bool{false, true} {
			if _, err := m.Seed(t.Context(), "orders", high+1, force); !errors.Is(err, scripts.ErrExhausted) || !strings.Contains(err.Error(), "MaxValue") {
				t.Errorf("a seed above MaxValue, force %v: got %v, want ErrExhausted that names it", force, err)
			}
		}
		state := State{Kind: KindIdentity, Counter: Counter{Name: "people", Max: high + 1}}
		checked := m.CheckImport(t.Context(), prefix.Server{MaxValue: high}, []State{state})[0].Err
		if imported := m.Import(t.Context(), []State{state})[0].Err; !errors.Is(imported, scripts.ErrExhausted) || !errors.Is(checked, scripts.ErrExhausted) {
			t.Errorf("an import above MaxValue: got %v, and %v before, want ErrExhausted", imported, checked)
		}
		if _, err := m.SeedIdentity(t.Context(), "companies", high-5, false); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			name   string
			change prefix.Server
			want   error
			text   string
		}{
			{"MinValue falls", prefix.Server{MinValue: low - 1, MaxValue: high}, ErrInterval, "may only rise, not become 1073741823; where"},
			{"no MinValue", prefix.Server{MaxValue: high}, ErrInterval, "may only rise, not be removed; where"},
			{"MaxValue below a counter", prefix.Server{MinValue: low, MaxValue: high - 6}, ErrInterval, "identity companies stands at"},
			{"few numbers", prefix.Server{MinValue: high - 1<<24 + 2, MaxValue: high}, ErrNeedsTrust, "1099494850562 to 1099511627776 has fewer than 16,777,216 numbers"},
			{"enough numbers", prefix.Server{MinValue: high - 1<<24 + 1, MaxValue: high}, nil, ""},
			{"no MaxValue", prefix.Server{MinValue: high - 1<<24 + 1}, nil, ""},
		} {
			err := set(m, test.change)
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: got %v, want %v with %q", test.name, err, test.want, test.text)
			}
		}
		if err := set(m.TrustSettings(), prefix.Server{MinValue: math.MaxInt64 - 1}); err != nil {
			t.Errorf("few numbers, confirmed: got %v, want <nil>", err)
		}
		redistest.NewClient(t, s).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "MinValue", "01")
		if _, err := m.ServerPrefix(t.Context()); !errors.Is(err, scripts.ErrCorrupt) || !strings.Contains(err.Error(), `MinValue holds "01"`) {
			t.Errorf("got %v, want ErrCorrupt that names field and value", err)
		}
	})
}

func TestReplicasAreRequiredOfAServerThatHasThem(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		one, two := prefix.Server{Durable: prefix.DurableReplicas(1)}, prefix.Server{Durable: prefix.DurableReplicas(2)}
		if err := m.SetServerPrefix(t.Context(), one); !errors.Is(err, ErrNotDurableServer) || !strings.Contains(err.Error(), "replicas is 0: Durable of replicas:1 needs 1 or more; start them") {
			t.Errorf("without replicas: got %v, want ErrNotDurableServer", err)
		}
		if _, err := m.Seed(t.Context(), "orders", 32, false); err != nil {
			t.Fatal(err)
		}
		s.ChangeReplicationID()
		replica := redistest.StartReplica(t, s)
		if err := m.SetServerPrefix(t.Context(), two); !errors.Is(err, ErrNotDurableServer) {
			t.Errorf("two of one: got %v, want ErrNotDurableServer", err)
		}
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", "always")
		if err := m.SetServerPrefix(t.Context(), one); !errors.Is(err, ErrNotDurableServer) || !strings.Contains(err.Error(), "take that back first") {
			t.Errorf("beside always: got %v, want ErrNotDurableServer", err)
		}
		client.HDel(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable")
		if err := m.SetServerPrefix(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		if got, err := m.Counter(t.Context(), "orders"); err != nil || got.Max != 32+65536+1 {
			t.Errorf("got %+v and %v, want a counter that was settled by the full gap", got, err)
		}
		if got, err := mustNew(t, redistest.NewClient(t, replica), Options{}).ServerPrefix(t.Context()); err != nil || got.Replicas() != 1 {
			t.Errorf("the replica: got %+v and %v, want the word", got, err)
		}

		// After a promotion replicas:N is stated again. Counters that were written under the old statement are settled by the full gap
		// too.
		replica.AwaitUptime(2)
		s.Kill()
		replica.Promote()
		other := redistest.StartReplica(t, replica)
		m = mustNew(t, redistest.NewClient(t, replica), Options{})
		before, err := m.Counter(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SetServerPrefix(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		if got, err := m.Counter(t.Context(), "orders"); err != nil || got.Max != before.Max+65536+1 {
			t.Errorf("got %+v and %v, want %d", got, err, before.Max+65536+1)
		}
		if err := m.SetServerPrefix(t.Context(), prefix.Server{}); err != nil {
			t.Errorf("taking it back with all connected: got %v, want <nil>", err)
		}
		_ = other
	})
}
