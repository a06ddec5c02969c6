package admin

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const settingsKey = "{Raven}/ServerPrefixForHilo"

func TestServerPrefixReadsTheStateOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		client.HSet(t.Context(), settingsKey, "NodeTag", "A", "Durable", "replicas:2")
		if got, err := m.ServerPrefix(t.Context()); got != (prefix.Server{NodeTag: "A"}) || err != nil {
			t.Errorf("got %+v and %v, want the tag alone", got, err)
		}
		if err := m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "B"}); err != nil {
			t.Error(err)
		}
		if got := client.HExists(t.Context(), settingsKey, "Durable").Val(); got {
			t.Error("got Durable of an older version, want it removed with a change")
		}
		for field, value := range map[string]string{"Durable": "yes", "NewCounters": "yes", "Identities": "there", "MinValue": "0", "MaxValue": "1e9"} {
			client.HSet(t.Context(), settingsKey, field, value)
			if _, err := m.ServerPrefix(t.Context()); !errors.Is(err, scripts.ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprintf("field %s holds %q", field, value)) {
				t.Errorf("%s %s: got %v, want ErrCorrupt that names them", field, value, err)
			}
			client.HDel(t.Context(), settingsKey, field)
		}
	})
}

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
			{"MaxValue below a counter", prefix.Server{MinValue: low, MaxValue: high - 6}, ErrInterval, "key {Raven}/Identities/companies has reserved numbers up to 1099511627771"},
			{"few numbers", prefix.Server{MinValue: high - 1<<24 + 2, MaxValue: high}, ErrNeedsTrust, "1099494850562 to 1099511627776 has fewer than 16,777,216 numbers"},
			{"enough numbers", prefix.Server{MinValue: high - 1<<24 + 1, MaxValue: high}, nil, ""},
			{"no MaxValue", prefix.Server{MinValue: high - 1<<24 + 1}, nil, ""},
		} {
			err := set(m, test.change)
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: got %v, want %v with %q", test.name, err, test.want, test.text)
			}
		}
		if err := set(m.With(Mode{Trust: true}), prefix.Server{MinValue: math.MaxInt64 - 1}); err != nil {
			t.Errorf("few numbers, confirmed: got %v, want <nil>", err)
		}
		redistest.NewClient(t, s).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "MinValue", "01")
		if _, err := m.ServerPrefix(t.Context()); !errors.Is(err, scripts.ErrCorrupt) || !strings.Contains(err.Error(), `MinValue holds "01"`) {
			t.Errorf("got %v, want ErrCorrupt that names field and value", err)
		}
	})
}
