package allocator

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func mustAdmin(t *testing.T, s *redistest.Server, namespace string) *Admin {
	t.Helper()
	m, err := NewAdmin(s.Client(t), namespace)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAdminSeedsAndShowsACounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustAdmin(t, s, "")
		if _, err := m.Counter(t.Context(), "orders"); !errors.Is(err, ErrNotSeeded) {
			t.Errorf("no counter: %v", err)
		}
		for _, step := range []struct {
			value int64
			force bool
			want  int64
		}{{4000, false, 4000}, {100, false, 4000}, {100, true, 100}, {math.MaxInt64, false, math.MaxInt64}, {0, true, 0}} {
			if got, err := m.Seed(t.Context(), "Orders", step.value, step.force); err != nil || got != step.want {
				t.Errorf("seed %d, force %v: %d, %v", step.value, step.force, got, err)
			}
		}
		a := mustNew(t, s.Client(t), Options{})
		mustNumber(t, a, "orders")
		got, err := m.Counter(t.Context(), "ORDERS")
		if err != nil || got.Name != "Orders" || got.Max != 32 || got.Ranges != 1 || got.Epoch != 0 || len(got.Origin) != 40 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestAdminRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		m := mustAdmin(t, s, "")
		if _, err := m.Seed(t.Context(), "orders", -1, true); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("a negative seed: %v", err)
		}
		if _, err := m.Seed(t.Context(), "a/b", 1, false); !errors.Is(err, ErrInvalidName) {
			t.Errorf("a bad name: %v", err)
		}
		if _, err := m.Counter(t.Context(), ""); !errors.Is(err, ErrInvalidName) {
			t.Errorf("no name: %v", err)
		}
		if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "North1"}); !errors.Is(err, ErrInvalidName) {
			t.Errorf("a prefix that ends in a digit: %v", err)
		}
		client.Set(t.Context(), "{Raven}/HiLo/orders", 5, 0)
		client.Set(t.Context(), "{Raven}/ServerPrefixForHilo", 5, 0)
		_, err1 := m.Counter(t.Context(), "orders")
		_, err2 := m.Seed(t.Context(), "orders", 1, true)
		_, err3 := m.ServerPrefix(t.Context())
		err4 := m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A"})
		for i, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d: %v", i+1, err)
			}
		}
		if n := client.DBSize(t.Context()).Val(); n != 2 {
			t.Errorf("%d keys", n)
		}
		if _, err := NewAdmin(client, "a}b"); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("a bad namespace: %v", err)
		}
	})
}

// What a script would refuse a counter for, an Admin does too, before it writes any of many.
func TestAdminReadsACounterAsStrictlyAsTheScripts(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client, m := s.Client(t), mustAdmin(t, s, "")
		for _, field := range append([]string{"Max"}, bookkeeping...) {
			if field == "Lowered" { // an identity's
				continue
			}
			client.Del(t.Context(), "{Raven}/HiLo/orders")
			if err := client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 5, field, "nonsense").Err(); err != nil {
				t.Fatal(err)
			}
			_, err1 := m.Counter(t.Context(), "orders")
			err2 := m.CheckImport(t.Context(), prefix.Server{}, []State{{Kind: KindHiLo, Counter: Counter{Name: "orders"}}})[0].Err
			_, err3 := mustNew(t, client, Options{}).Next(t.Context(), "orders")
			for i, err := range []error{err1, err2, err3} {
				if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "field "+field+" holds") {
					t.Errorf("%s, %d: %v", field, i+1, err)
				}
			}
		}
		for _, field := range append([]string{"Lease", "Origin"}, bookkeeping...) {
			if field == "Lowered" {
				continue
			}
			client.Del(t.Context(), "{Raven}/HiLo/orders")
			client.HSet(t.Context(), "{Raven}/HiLo/orders", field, 5)
			_, err1 := m.Counter(t.Context(), "orders")
			_, err2 := mustNew(t, client, Options{}).Next(t.Context(), "orders")
			for i, err := range []error{err1, err2} {
				if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "has no Max, yet numbers were given out") {
					t.Errorf("%s alone, %d: %v", field, i+1, err)
				}
			}
		}
	})
}

func TestAdminListsTheCountersOfItsNamespaceOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const namespace = `a*b?[c]\` // as a pattern it would match more than itself
		client := s.Client(t)
		m := mustAdmin(t, s, namespace)
		const n = 1500 // more than one page of SCAN
		pipe := client.Pipeline()
		for i := range n {
			pipe.HSet(t.Context(), fmt.Sprintf("{%s}/HiLo/c%d", namespace, i), "Max", i)
		}
		pipe.HSet(t.Context(), "{a1b2c}/HiLo/other", "Max", 1)
		pipe.HSet(t.Context(), "{Raven}/HiLo/other", "Max", 1)
		pipe.HSet(t.Context(), "{"+namespace+"}/HiLo/bad", "Max", "abc")
		pipe.HSet(t.Context(), "{"+namespace+"}/Identities/other", "Value", 1)
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		corrupt := 0
		for counter, err := range m.Counters(t.Context()) {
			if errors.Is(err, ErrCorrupt) {
				corrupt++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if seen[counter.Name] || counter.Name != fmt.Sprintf("c%d", counter.Max) {
				t.Fatalf("%+v", counter)
			}
			seen[counter.Name] = true
		}
		if len(seen) != n || corrupt != 1 {
			t.Errorf("%d counters, %d corrupt", len(seen), corrupt)
		}
		for _, err := range m.Counters(t.Context()) {
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Error(err)
			}
			break // a consumer may stop
		}
		s.Kill()
		var last error
		for _, err := range m.Counters(t.Context()) {
			last = err
		}
		if !errors.Is(last, ErrUnavailable) {
			t.Errorf("away: %v", last)
		}
	})
}

func TestAdminSetsThePrefixWhole(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustAdmin(t, s, "")
		for _, want := range []prefix.Server{
			{}, {ServerPrefix: "NorthServer/"}, {ServerPrefix: "NorthServer/", NodeTag: "A"}, {NodeTag: "B"}, {},
		} {
			if err := m.SetServerPrefix(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			if got, err := m.ServerPrefix(t.Context()); err != nil || got != want {
				t.Errorf("%+v, %v, want %+v", got, err, want)
			}
		}
		client := s.Client(t)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag", "1")
		if _, err := m.ServerPrefix(t.Context()); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "{Raven}/ServerPrefixForHilo") {
			t.Errorf("by hand: %v", err)
		}
	})
}
