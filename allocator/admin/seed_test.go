package admin

import (
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A forced seed whose outcome is unknown is sent again, by this process or another.
func TestForcedSeedWithARequestIDTakesEffectOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		if _, err := m.Seed(t.Context(), "orders", 4000, false); err != nil {
			t.Fatal(err)
		}
		for _, process := range []*Admin{m.With(Mode{RequestID: "one"}), mustNew(t, redistest.NewClient(t, s), Options{}).With(Mode{RequestID: "one"})} {
			if got, err := process.Seed(t.Context(), "orders", 100, true); got != 100 || err != nil {
				t.Errorf("got %d and %v, want 100", got, err)
			}
		}
		if got := nextNumber(t, client, "orders"); got != 101 {
			t.Fatalf("got %d, want 101", got)
		}
		if _, err := m.With(Mode{RequestID: "one"}).Seed(t.Context(), "orders", 100, true); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), `stands at "101"`) {
			t.Errorf("after a number was issued: got %v, want ErrChanged that names it", err)
		}
		if got, err := m.Counter(t.Context(), "orders"); got.Max != 101 || err != nil {
			t.Errorf("got %+v and %v, want 101", got, err)
		}
		if got, err := m.With(Mode{RequestID: "two"}).Seed(t.Context(), "orders", 100, true); got != 100 || err != nil {
			t.Errorf("another id: got %d and %v, want 100", got, err)
		}
	})
}

// Numbers that are issued while an operator decides are not issued again without a notice.
func TestForcedSeedWithoutARequestIDExpectsWhatItRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		if got := nextNumber(t, client, "orders"); got != 1 {
			t.Fatalf("got %d, want 1", got)
		}
		between := redistest.NewClient(t, s)
		between.AddHook(&onCommand{s: s, name: "evalsha", times: 1, do: func() { nextNumber(t, client, "orders") }})
		if _, err := mustNew(t, between, Options{}).Seed(t.Context(), "orders", 0, true); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), `stands at "2"`) {
			t.Errorf("got %v, want ErrChanged that names 2", err)
		}
		if got := nextNumber(t, client, "orders"); got != 3 {
			t.Errorf("got %d, want 3", got)
		}
	})
}

// A running worker goes on above what it was issued, and counts the jump that this takes.
func TestForcedSeedBelowARunningWorkerIsAJump(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		worker, err := mustAllocate(t, client, allocator.Options{MinCapacity: 1, MaxCapacity: 1}).Collection("orders")
		if err != nil {
			t.Fatal(err)
		}
		take := func() int64 { // as many as a range has, so that nothing is fetched ahead
			t.Helper()
			batch, err := worker.Take(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			return batch.Range().Low
		}
		if got := take(); got != 1 {
			t.Fatalf("got %d, want 1", got)
		}
		born, err := m.Counter(t.Context(), "orders")
		if err != nil || born.Jumps != 0 || born.Born == 0 {
			t.Fatalf("got %+v and %v, want a birth and no jump", born, err)
		}
		if _, err := m.Seed(t.Context(), "orders", 0, true); err != nil {
			t.Fatal(err)
		}
		if got := take(); got <= born.Ceiling {
			t.Errorf("got %d, want it above the ceiling, %d", got, born.Ceiling)
		}
		if got, err := m.Counter(t.Context(), "orders"); err != nil || got.Jumps != 1 || got.Born != born.Born {
			t.Errorf("got %+v and %v, want one jump, and born as before", got, err)
		}
	})
}

func TestImportReadsTheStateOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		old := hiloState("orders", 4000)
		old.Ranges, old.Epoch, old.Written = 12, 3, 1_700_000_000_000_000 // jumps alone, and microseconds
		for _, state := range []State{old, hiloState("plain", 7)} {
			if got := m.Import(t.Context(), []State{state})[0]; got.Err != nil || got.Now != state.Max {
				t.Errorf("%s: got %+v, want %d", state.Name, got, state.Max)
			}
		}
		if got := nextNumber(t, client, "orders"); got != 4001 {
			t.Errorf("got %d, want 4001", got)
		}
		got, err := m.one(t.Context(), KindHiLo, "orders")
		if err != nil || got.Jumps != 0 || got.Born == 0 || got.Ranges != 13 {
			t.Errorf("got %+v and %v, want a birth with the first range", got, err)
		}
		if written := client.HGet(t.Context(), "{Raven}/HiLo/orders", "Written").Val(); len(written) != len("1700000000000") {
			t.Errorf("got Written %s, want milliseconds", written)
		}
	})
}

// A tool finds out whether a server counts before its settings are made, and whatever its interval is.
func TestProbeCountsApartFromTheSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, client, Options{})
		if err := m.SetServerPrefix(t.Context(), prefix.Server{MinValue: 1 << 40, SeededOnly: true}); err != nil {
			t.Fatal(err)
		}
		const key = "{Raven}/probe"
		probe := m.Probe(key)
		if err := probe.Raise(t.Context(), 1<<53); err != nil {
			t.Fatal(err)
		}
		for _, want := range []Range{{1<<53 + 1, 1<<53 + 3}, {1<<53 + 4, 1<<53 + 6}} {
			if got, guarded, err := probe.Next(t.Context(), 3); got != want || !guarded || err != nil {
				t.Errorf("got %+v, guarded %v, and %v, want %+v", got, guarded, err, want)
			}
		}
		if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > probeStays {
			t.Errorf("got a key that stays %v, want up to %v", ttl, probeStays)
		}
		if n := client.DBSize(t.Context()).Val(); n != 2 {
			t.Errorf("got %d keys, want the settings and the probe", n)
		}
	})
}
