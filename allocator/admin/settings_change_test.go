package admin

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// Of two changes of settings at the same time one is refused, whichever fields they change.
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
