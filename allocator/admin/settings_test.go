package admin

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const settingsKey = "{Raven}/ServerPrefixForHilo"

func TestInitMakesSettingsOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		client.Del(t.Context(), settingsKey)
		if there, err := m.Initialized(t.Context()); there || err != nil {
			t.Errorf("a new server: got initialized %v and %v, want false", there, err)
		}
		want := prefix.Server{ServerPrefix: "North/", NodeTag: "A", Identities: true, MinValue: 1000, MaxValue: 1 << 40, SeededOnly: true}
		if err := m.Init(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if got, err := m.ServerPrefix(t.Context()); got != want || err != nil {
			t.Errorf("got %+v and %v, want %+v", got, err, want)
		}
		stored := client.HGetAll(t.Context(), settingsKey).Val()
		if _, err := time.Parse(time.RFC3339, stored["Initialized"]); err != nil || stored["NewCounters"] != "no" || stored["Identities"] != "here" {
			t.Errorf("got %v, want the settings and the time", stored)
		}
		if _, err := mustAllocate(t, client, allocator.Options{}).Next(t.Context(), "orders"); !errors.Is(err, allocator.ErrNotSeeded) {
			t.Errorf("a counter that is not there, with seeded only: got %v, want ErrNotSeeded", err)
		}
		// Not even what it could not be set to changes the error.
		for _, other := range []prefix.Server{want, {}, {NodeTag: "B"}, {MinValue: 1, MaxValue: 5}, {Durable: prefix.DurableAlways}} {
			if err := m.Init(t.Context(), other); !errors.Is(err, ErrInitialized) {
				t.Errorf("%+v where settings are: got %v, want ErrInitialized", other, err)
			}
		}
		if got, err := m.ServerPrefix(t.Context()); got != want || err != nil {
			t.Errorf("afterwards: got %+v and %v, want %+v", got, err, want)
		}
		if there, err := m.Initialized(t.Context()); !there || err != nil {
			t.Errorf("got initialized %v and %v, want true", there, err)
		}

		client.Del(t.Context(), settingsKey)
		if err := m.Init(t.Context(), prefix.Server{ServerPrefix: "North1"}); !errors.Is(err, prefix.ErrInvalid) {
			t.Errorf("a prefix that ends in a digit: got %v, want ErrInvalid", err)
		}
		if err := m.Init(t.Context(), prefix.Server{}); err != nil {
			t.Errorf("no settings but the time: got %v, want <nil>", err)
		}
		if got := client.HLen(t.Context(), settingsKey).Val(); got != 1 {
			t.Errorf("got %d fields, want Initialized alone", got)
		}
	})
}

// Whoever runs hilo init at one server from two terminals makes its settings once.
func TestInitOfManyAtOnceSucceedsOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		client.Del(t.Context(), settingsKey)
		var all sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			all.Go(func() { errs[i] = m.Init(t.Context(), prefix.Server{ServerPrefix: string(rune('A'+i)) + "/"}) })
		}
		all.Wait()
		made := -1
		for i, err := range errs {
			switch {
			case err == nil && made < 0:
				made = i
			case !errors.Is(err, ErrInitialized):
				t.Errorf("%d: got %v, want ErrInitialized", i, err)
			}
		}
		if got, err := m.ServerPrefix(t.Context()); made < 0 || err != nil || got.ServerPrefix != string(rune('A'+made))+"/" {
			t.Errorf("got %+v and %v, want the settings of %d", got, err, made)
		}
	})
}

func TestWritesAreRefusedWithoutSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		client.Del(t.Context(), settingsKey)
		for name, write := range operatorWrites {
			err := write(t, m)
			if !errors.Is(err, scripts.ErrNotSeeded) || !strings.Contains(err.Error(), "hilo init if it is new; hilo help recover if it lost its data") {
				t.Errorf("%s: got %v, want ErrNotSeeded with both ways out", name, err)
			}
		}
		if n := client.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("got %d keys, want none", n)
		}
	})
}

// Of two who change settings at the same time, one is refused, whichever fields they change.
func TestSetServerPrefixComparesWhatItRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		read, proceed := make(chan bool), make(chan bool)
		slow := make(chan error)
		go func() {
			first := true
			slow <- m.ChangeServerPrefix(t.Context(), func(now prefix.Server, _ error) (prefix.Server, error) {
				if first {
					first = false
					read <- true
					<-proceed
				}
				now.NodeTag = "S"
				return now, nil
			})
		}()
		<-read
		if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "North/"}); err != nil {
			t.Error(err)
		}
		close(proceed)
		if err := <-slow; !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), `ServerPrefix holds "North/": it was absent`) {
			t.Errorf("the slower one: got %v, want ErrChanged that names the field", err)
		}
		if got, err := m.ServerPrefix(t.Context()); got != (prefix.Server{ServerPrefix: "North/"}) || err != nil {
			t.Errorf("got %+v and %v, want the settings of the faster one", got, err)
		}
	})
}

// Each of many adds one to a number. None is lost.
func TestChangeServerPrefixLosesNoChange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		const each, writers = 5, 4
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for made := 0; made < each; {
					switch err := m.ChangeServerPrefix(t.Context(), func(now prefix.Server, _ error) (prefix.Server, error) {
						now.MinValue = max(now.MinValue, 1) + 1
						return now, nil
					}); {
					case err == nil:
						made++
					case !errors.Is(err, ErrChanged):
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if got, err := m.ServerPrefix(t.Context()); got.MinValue != 1+each*writers || err != nil {
			t.Errorf("got %+v and %v, want MinValue %d", got, err, 1+each*writers)
		}
	})
}

// What a decision was made on may change before the settings stand. Here a client takes numbers between the two.
func TestSettingsAreTakenBackIfACounterPassedThem(t *testing.T) {
	t.Parallel()
	const high = 1 << 30
	for _, test := range []struct {
		name   string
		before prefix.Server // zero for none
		change func(m *Admin) error
	}{
		{"of settings set", prefix.Server{NodeTag: "A"}, func(m *Admin) error {
			return m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "B", MaxValue: high})
		}},
		{"of init", prefix.Server{}, func(m *Admin) error { return m.Init(t.Context(), prefix.Server{NodeTag: "B", MaxValue: high}) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := redistest.NewClient(t, s)
				client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", high-20)
				switch test.before {
				case prefix.Server{}:
					client.Del(t.Context(), settingsKey)
				default:
					client.HSet(t.Context(), settingsKey, "NodeTag", test.before.NodeTag, "Durable", "replicas:1") // of hilo 0.1
				}
				between := redistest.NewClient(t, s)
				between.AddHook(&onCommand{s: s, name: "evalsha", times: 1, do: func() {
					if _, err := mustAllocate(t, client, allocator.Options{}).Next(t.Context(), "orders"); err != nil {
						t.Error(err)
					}
				}})
				if err := test.change(mustNew(t, between, Options{})); !errors.Is(err, ErrInterval) || !strings.Contains(err.Error(), "taken back") ||
					!strings.Contains(err.Error(), "key {Raven}/HiLo/orders has reserved") {
					t.Errorf("got %v, want ErrInterval, taken back", err)
				}
				if got, err := mustNew(t, client, Options{}).ServerPrefix(t.Context()); got != test.before || err != nil {
					t.Errorf("got %+v and %v, want %+v as before", got, err, test.before)
				}
			})
		})
	}
}

// A caller decides by what it looks at itself, such as whether there are identities.
func TestChangeServerPrefixAsksAgainWhenTheChangeStands(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		errIdentities := errors.New("there are identities")
		for name, test := range map[string]struct {
			again func(now prefix.Server) (prefix.Server, error)
			want  error
		}{
			"it is refused now":        {func(now prefix.Server) (prefix.Server, error) { return now, errIdentities }, errIdentities},
			"it is something else now": {func(now prefix.Server) (prefix.Server, error) { now.Identities = true; return now, nil }, ErrChanged},
		} {
			calls := 0
			err := m.ChangeServerPrefix(t.Context(), func(now prefix.Server, _ error) (prefix.Server, error) {
				calls++
				if got := client.HGet(t.Context(), settingsKey, "ServerPrefix").Val(); got != []string{"", "North/"}[calls-1] {
					t.Errorf("%s, call %d: got the prefix %q stored", name, calls, got)
				}
				if now != (prefix.Server{}) {
					t.Errorf("%s, call %d: got %+v, want the settings from before", name, calls, now)
				}
				now.ServerPrefix = "North/"
				if calls == 1 {
					return now, nil
				}
				return test.again(now)
			})
			if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), "taken back") || calls != 2 {
				t.Errorf("%s: got %v after %d calls, want %v, taken back", name, err, calls, test.want)
			}
			if got, err := m.ServerPrefix(t.Context()); got != (prefix.Server{}) || err != nil {
				t.Errorf("%s: got %+v and %v, want none", name, got, err)
			}
		}
	})
}

func TestTakingBackReportsThatItFailed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		refused := errors.New("refused")
		calls := 0
		err := m.ChangeServerPrefix(t.Context(), func(now prefix.Server, _ error) (prefix.Server, error) {
			if calls++; calls == 1 {
				now.NodeTag = "B"
				return now, nil
			}
			client.HSet(t.Context(), settingsKey, "NodeTag", "C") // another operator
			return now, refused
		})
		if !errors.Is(err, refused) || !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "taking the change back failed") {
			t.Errorf("got %v, want the refusal and ErrChanged", err)
		}
		if got, err := m.ServerPrefix(t.Context()); got.NodeTag != "C" || err != nil {
			t.Errorf("got %+v and %v, want what the other one wrote", got, err)
		}
	})
}

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
