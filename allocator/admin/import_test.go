package admin

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func hiloState(name string, max int64) State {
	return State{Kind: KindHiLo, Counter: Counter{Name: name, Max: max}}
}

func TestCheckImportReportsWhatImportDoesAndWritesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		if _, err := m.Seed(t.Context(), "orders", 100, false); err != nil {
			t.Fatal(err)
		}
		if _, err := m.SeedIdentity(t.Context(), "people", 5, false); err != nil {
			t.Fatal(err)
		}
		client.HSet(t.Context(), "{Raven}/HiLo/bad", "Max", "x")
		client.HSet(t.Context(), "{Raven}/HiLo/lost", "Ranges", "5") // Max went, and an import mends it
		states := []State{
			hiloState("Orders", 90), hiloState("orders", 110), hiloState("new", 7), hiloState("people", 1), hiloState("bad", 1),
			hiloState("lost", 1000), hiloState("a/b", 1), hiloState("minus", -1), {Kind: "none", Counter: Counter{Name: "none"}},
			{Kind: KindIdentity, Counter: Counter{Name: "people", Max: 8}},
			{Kind: KindServerSide, Counter: Counter{Max: 27}},
			{Kind: KindServerSide, Counter: Counter{Max: math.MaxInt64}},
		}
		want := []struct {
			Imported
			err error
		}{
			{Imported{Existed: true, Before: 100, Now: 100}, nil}, {Imported{Existed: true, Before: 100, Now: 110}, nil},
			{Imported{Now: 7}, nil}, {Imported{}, scripts.ErrMixed}, {Imported{}, scripts.ErrCorrupt},
			{Imported{Now: 1000}, nil}, {Imported{}, prefix.ErrInvalid}, {Imported{}, failure.ErrInvalidOptions}, {Imported{}, failure.ErrInvalidOptions},
			{Imported{Existed: true, Before: 5, Now: 8}, nil}, {Imported{Now: 27}, nil}, {Imported{}, failure.ErrInvalidOptions},
		}
		before := client.DBSize(t.Context()).Val()
		checked := m.CheckImport(t.Context(), prefix.Server{}, states)
		if after := client.DBSize(t.Context()).Val(); after != before {
			t.Errorf("the check wrote: got %d keys, want %d as before", after, before)
		}
		imported := m.Import(t.Context(), states)
		for i := range states {
			for what, got := range map[string]Imported{"check": checked[i], "import": imported[i]} {
				if !errors.Is(got.Err, want[i].err) || got.Existed != want[i].Existed || got.Before != want[i].Before || got.Now != want[i].Now {
					t.Errorf("%s of %s %s: %+v, want %+v", what, states[i].Kind, states[i].Name, got, want[i])
				}
			}
		}
		if got := m.CheckImport(t.Context(), prefix.Server{NodeTag: "A"}, states[3:4])[0]; got.Err != nil || got.Now != 1 {
			t.Errorf("with a tag both kinds are fine: got %+v, want <nil>, 1", got)
		}
		if got, err := m.ServerSide(t.Context()); err != nil || got.Max != 27 {
			t.Errorf("got %+v, %v, want <nil>, 27", got, err)
		}
		if got, err := m.Identity(t.Context(), "People|"); err != nil || got.Max != 8 || got.Name != "people" {
			t.Errorf("got %+v, %v, want <nil>, 8, people", got, err)
		}
	})
}

func TestImportOfManyReturnsAnErrorForEachWhenTheServerIsLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		opts := redistest.Options(s)
		opts.MaxRetries, opts.DialerRetries = -1, 1
		opts.ReadTimeout = time.Minute // miniredis is slow under -race
		client := redis.NewClient(opts)
		defer func() { _ = client.Close() }()
		m, err := New(client, Options{})
		if err != nil {
			t.Fatal(err)
		}
		states := make([]State, 1100) // more than one pipeline
		for i := range states {
			states[i] = hiloState(fmt.Sprintf("c%d", i), int64(i))
		}
		for i, got := range m.Import(t.Context(), states) {
			if got.Err != nil || got.Now != int64(i) {
				t.Fatalf("%d: got %+v, want <nil>, %v", i, got, int64(i))
			}
		}
		s.Kill()
		for _, got := range append(m.Import(t.Context(), states), m.CheckImport(t.Context(), prefix.Server{}, states)...) {
			if !errors.Is(got.Err, failure.ErrUnavailable) {
				t.Fatalf("got %+v, want ErrUnavailable", got)
			}
		}
	})
}

func TestWithFilterListsMatchingCountersOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{Namespace: "a*b"})
		s.Initialize("a*b")
		for _, name := range []string{"Orders", "orders-old", "people"} {
			if _, err := m.Seed(t.Context(), name, 1, false); err != nil {
				t.Fatal(err)
			}
		}
		for glob, want := range map[string]int{"ORD*": 2, "orders": 1, "*": 3, "peopl[a-f]": 1, "x*": 0, "?eople": 1} {
			got := 0
			for _, err := range m.With(Mode{Filter: glob}).Counters(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got++
			}
			if got != want {
				t.Errorf("%s: %d counters, want %d", glob, got, want)
			}
		}
	})
}

// An export that omitted such a counter would make it start at 1 on the other server.
func TestCountersReportsACounterWithoutMax(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Ranges", "5")
		n := 0
		for _, err := range m.Counters(t.Context()) {
			if !errors.Is(err, scripts.ErrCorrupt) {
				t.Errorf("got %v, want ErrCorrupt", err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("got %d counters, want 1", n)
		}
	})
}
