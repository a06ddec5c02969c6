package admin

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

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

// Two runs of hilo init at one server at the same time make its settings once.
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
