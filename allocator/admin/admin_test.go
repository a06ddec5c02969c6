package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func mustNew(t *testing.T, client redis.UniversalClient, opts Options) *Admin {
	t.Helper()
	m, err := New(client, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// mustAllocate returns an allocator and closes it with the test.
func mustAllocate(t *testing.T, client redis.UniversalClient, opts allocator.Options) *allocator.Allocator {
	t.Helper()
	a, err := allocator.New(client, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a
}

func TestSeedRaisesACounterAndLowersItByForceOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		if _, err := m.Counter(t.Context(), "orders"); !errors.Is(err, scripts.ErrNotSeeded) {
			t.Errorf("no counter: got %v, want ErrNotSeeded", err)
		}
		for _, step := range []struct {
			value int64
			force bool
			want  int64
		}{{4000, false, 4000}, {100, false, 4000}, {100, true, 100}, {math.MaxInt64, false, math.MaxInt64}, {0, true, 0}} {
			if got, err := m.Seed(t.Context(), "Orders", step.value, step.force); err != nil || got != step.want {
				t.Errorf("seed %d, force %v: got %d, %v, want <nil>, %v", step.value, step.force, got, err, step.want)
			}
		}
		if _, err := mustAllocate(t, redistest.NewClient(t, s), allocator.Options{}).Next(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		got, err := m.Counter(t.Context(), "ORDERS")
		if err != nil || got.Name != "Orders" || got.Max != 32 || got.Ranges != 1 || got.Jumps != 0 || got.Born == 0 || got.Ceiling != 32+16384 || len(got.Origin) != 40 {
			t.Errorf("got %+v, %v, want Orders, 32, one range, no jump, and a birth, a ceiling and an origin", got, err)
		}
	})
}

func TestAdminRefusesInvalidArgumentsAndCorruptKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		if _, err := m.Seed(t.Context(), "orders", -1, true); !errors.Is(err, failure.ErrInvalidOptions) {
			t.Errorf("a negative seed: got %v, want ErrInvalidOptions", err)
		}
		if _, err := m.Seed(t.Context(), "a/b", 1, false); !errors.Is(err, prefix.ErrInvalid) {
			t.Errorf("a bad name: got %v, want ErrInvalid", err)
		}
		if _, err := m.Counter(t.Context(), ""); !errors.Is(err, prefix.ErrInvalid) {
			t.Errorf("no name: got %v, want ErrInvalid", err)
		}
		if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "North1"}); !errors.Is(err, prefix.ErrInvalid) {
			t.Errorf("a prefix that ends in a digit: got %v, want ErrInvalid", err)
		}
		client.Set(t.Context(), "{Raven}/HiLo/orders", 5, 0)
		client.Set(t.Context(), "{Raven}/ServerPrefixForHilo", 5, 0)
		_, err1 := m.Counter(t.Context(), "orders")
		_, err2 := m.Seed(t.Context(), "orders", 1, true)
		_, err3 := m.ServerPrefix(t.Context())
		err4 := m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A"})
		for i, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, scripts.ErrCorrupt) {
				t.Errorf("%d: got %v, want ErrCorrupt", i+1, err)
			}
		}
		if n := client.DBSize(t.Context()).Val(); n != 2 {
			t.Errorf("got %d keys, want 2", n)
		}
		if _, err := New(client, Options{Namespace: "a}b"}); !errors.Is(err, failure.ErrInvalidOptions) {
			t.Errorf("a bad namespace: got %v, want ErrInvalidOptions", err)
		}
	})
}

// Admin refuses every counter that a script would refuse, so that an import of many fails before its first write.
func TestAdminIsAsStrictAsTheScripts(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client, m := redistest.NewClient(t, s), mustNew(t, redistest.NewClient(t, s), Options{})
		for _, field := range scripts.Fields {
			if field.Text || field.Name == scripts.FieldValue {
				continue
			}
			client.Del(t.Context(), "{Raven}/HiLo/orders")
			if err := client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 5, field.Name, "nonsense").Err(); err != nil {
				t.Fatal(err)
			}
			_, err1 := m.Counter(t.Context(), "orders")
			err2 := m.CheckImport(t.Context(), prefix.Server{}, []State{{Kind: KindHiLo, Counter: Counter{Name: "orders"}}})[0].Err
			next := func() error {
				_, err := mustAllocate(t, client, allocator.Options{}).Next(t.Context(), "orders")
				return err
			}
			if field.Name == "Lowered" || field.Name == "RaisedAt" { // which only import checks
				next = func() error {
					return m.Import(t.Context(), []State{{Kind: KindHiLo, Counter: Counter{Name: "orders"}}})[0].Err
				}
			}
			err3 := next()
			for i, err := range []error{err1, err2, err3} {
				if !errors.Is(err, scripts.ErrCorrupt) || !strings.Contains(err.Error(), "field "+field.Name+" holds") {
					t.Errorf("%s, %d: got %v, want ErrCorrupt, text with %q", field.Name, i+1, err, "field "+field.Name+" holds")
				}
			}
		}
		for _, field := range scripts.FieldNames() {
			if slices.Contains([]string{"Max", "Value", "Name", "Lowered", "RaisedAt", "Forced"}, field) {
				continue // which do not show that numbers were issued
			}
			client.Del(t.Context(), "{Raven}/HiLo/orders")
			client.HSet(t.Context(), "{Raven}/HiLo/orders", field, 5)
			_, err1 := m.Counter(t.Context(), "orders")
			_, err2 := mustAllocate(t, client, allocator.Options{}).Next(t.Context(), "orders")
			for i, err := range []error{err1, err2} {
				if !errors.Is(err, scripts.ErrCorrupt) || !strings.Contains(err.Error(), "has no Max, yet numbers were issued") {
					t.Errorf(`%s alone, %d: got %v, want ErrCorrupt, text with "has no Max, yet numbers were issued"`, field, i+1, err)
				}
			}
		}
	})
}

func TestCountersListsItsNamespaceOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const namespace = `a*b?[c]\` // as a pattern it would match more than itself
		client := redistest.NewClient(t, s)
		m := mustNew(t, redistest.NewClient(t, s), Options{Namespace: namespace})
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
			if errors.Is(err, scripts.ErrCorrupt) {
				corrupt++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if seen[counter.Name] || counter.Name != fmt.Sprintf("c%d", counter.Max) {
				t.Fatalf("got %+v, want each counter once, with its own Max", counter)
			}
			seen[counter.Name] = true
		}
		if len(seen) != n || corrupt != 1 {
			t.Errorf("got %d counters, %d corrupt, want %v, 1", len(seen), corrupt, n)
		}
		for _, err := range m.Counters(t.Context()) {
			if err != nil && !errors.Is(err, scripts.ErrCorrupt) {
				t.Error(err)
			}
			break // a consumer may stop
		}
		s.Kill()
		var last error
		for _, err := range m.Counters(t.Context()) {
			last = err
		}
		if !errors.Is(last, failure.ErrUnavailable) {
			t.Errorf("away: got %v, want ErrUnavailable", last)
		}
	})
}

func TestSetServerPrefixReplacesPrefixAndTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
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
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag", "1")
		if _, err := m.ServerPrefix(t.Context()); !errors.Is(err, scripts.ErrCorrupt) || !strings.Contains(err.Error(), "{Raven}/ServerPrefixForHilo") {
			t.Errorf(`by hand: got %v, want ErrCorrupt, text with "{Raven}/ServerPrefixForHilo"`, err)
		}
	})
}

func TestIdentitiesAndCountersAreListedSeparately(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		for name, seed := range map[string]func(context.Context, string, int64, bool) (int64, error){"orders": m.Seed, "Companies": m.SeedIdentity} {
			if _, err := seed(t.Context(), name, 7, false); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for c, err := range m.Identities(t.Context()) {
			got = append(got, fmt.Sprint(c.Name, c.Max, err))
		}
		for c, err := range m.Counters(t.Context()) {
			got = append(got, fmt.Sprint(c.Name, c.Max, err))
		}
		if fmt.Sprint(got) != "[Companies7 <nil> orders7 <nil>]" {
			t.Errorf("got %v, want Companies7 and orders7", got)
		}
		colons := mustNew(t, redistest.NewClient(t, s), Options{Separator: ":"})
		if _, err := colons.Seed(t.Context(), "a/b", 7, false); err != nil {
			t.Error(err)
		}
		if _, err := colons.Seed(t.Context(), "a:b", 7, false); !errors.Is(err, prefix.ErrInvalid) {
			t.Error(err)
		}
		if _, err := New(redistest.NewClient(t, s), Options{Separator: "|"}); !errors.Is(err, failure.ErrInvalidOptions) {
			t.Error(err)
		}
	})
}
