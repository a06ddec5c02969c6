package allocator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// mustNew returns an allocator with a longer timeout than the default, for a busy machine.
func mustNew(t *testing.T, client redis.UniversalClient, opts Options) *Allocator {
	t.Helper()
	if opts.RefillTimeout == 0 {
		opts.RefillTimeout = time.Minute
	}
	a, err := New(client, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a
}

// patient returns an allocator with default options.
func patient(t *testing.T, s *redistest.Server) *Allocator {
	t.Helper()
	return mustNew(t, redistest.NewClient(t, s), Options{})
}

func mustAdmin(t *testing.T, s *redistest.Server) *admin.Admin {
	t.Helper()
	m, err := admin.New(redistest.NewClient(t, s), admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustNumber(t *testing.T, a *Allocator, collection string) int64 {
	t.Helper()
	n, err := a.NextNumber(t.Context(), collection)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustClose(t *testing.T, a *Allocator) {
	t.Helper()
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantMax compares the counter of "orders".
func wantMax(t *testing.T, client *redis.Client, want string) {
	t.Helper()
	if got := client.HGet(context.Background(), "{Raven}/HiLo/orders", "Max").Val(); got != want {
		t.Errorf("Max is %q, want %q", got, want)
	}
}

// runConcurrently takes n numbers with each of some goroutines and returns all of them.
func runConcurrently(t *testing.T, goroutines, n int, next func(i int) (int64, error)) []int64 {
	t.Helper()
	numbers := make([][]int64, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range n {
				number, err := next(g)
				if err != nil {
					t.Error(err)
					return
				}
				numbers[g] = append(numbers[g], number)
			}
		})
	}
	wg.Wait()
	return slices.Concat(numbers...)
}

// wantDistinct fails the test for every number that occurs twice.
func wantDistinct(t *testing.T, numbers []int64) {
	t.Helper()
	slices.Sort(numbers)
	for i := 1; i < len(numbers); i++ {
		if numbers[i] == numbers[i-1] {
			t.Errorf("got %d twice, want distinct numbers", numbers[i])
		}
	}
}

func TestNextNumberIssuesEachNumberOnceToManyGoroutines(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := patient(t, s)
		numbers := runConcurrently(t, 100, 20, func(int) (int64, error) { return a.NextNumber(t.Context(), "orders") })
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != int64(i+1) {
				t.Fatalf("number %d: got %d, want %v", i+1, n, int64(i+1))
			}
		}
		if len(numbers) != 2000 {
			t.Errorf("got %d numbers, want 2000", len(numbers))
		}
	})
}

func TestNextNumberOfManyAllocatorsNeverRepeats(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		var fleetOf [8]*Allocator
		for i := range fleetOf {
			fleetOf[i] = patient(t, s)
		}
		numbers := runConcurrently(t, 32, 1000, func(g int) (int64, error) {
			return fleetOf[g%len(fleetOf)].NextNumber(t.Context(), "orders")
		})
		wantDistinct(t, numbers)
		for _, a := range fleetOf {
			mustClose(t, a)
		}
		for _, a := range fleetOf {
			s := statsOf(a)
			if s.Reserved != s.Issued+s.Returned+s.Burnt || s.Held != 0 || s.Issued != 4000 || s.Burnt < 0 {
				t.Errorf("got %+v, want 4000 issued, none held, and all others returned or burnt", s)
			}
		}
	})
}

func TestCloseOfALoneClientLeavesMaxAtItsLastNumber(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		for _, used := range []int{1, 31, 32, 33, 100, 1000} {
			client.Del(t.Context(), "{Raven}/HiLo/orders")
			a := mustNew(t, client, Options{})
			for range used {
				mustNumber(t, a, "orders")
			}
			mustClose(t, a)
			wantMax(t, client, fmt.Sprint(used))
			b := mustNew(t, client, Options{})
			if got := mustNumber(t, b, "orders"); got != int64(used+1) {
				t.Errorf("the next client begins at %d, want %v", got, int64(used+1))
			}
			wantMax(t, client, fmt.Sprint(used+32))
			if got := client.HGet(t.Context(), "{Raven}/HiLo/orders", "Epoch").Val(); !strings.HasSuffix(got, "000000") {
				t.Errorf("got epoch %s, want one without jumps", got)
			}
		}
	})
}

func TestNextNumberFollowsTheClassicHiLoFormula(t *testing.T) {
	t.Parallel()
	type row struct{ Hi, Lo, Number int64 }
	rows := vectors[row](t, "classic.json")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{MinCapacity: 3, MaxCapacity: 3})
		for _, row := range rows {
			if got := mustNumber(t, a, "orders"); got != row.Number || got != (row.Hi-1)*3+row.Lo {
				t.Errorf("got %d, want %d", got, row.Number)
			}
		}
	})
}

func TestNextAddsTheServerPrefixAndNodeTag(t *testing.T) {
	t.Parallel()
	type row struct {
		Collection   string
		ServerPrefix string `json:"server_prefix"`
		Number       string
		NodeTag      string `json:"node_tag"`
		Separator    string
		Text         string
	}
	rows := vectors[row](t, "identifiers.json")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		operator, err := admin.New(client, admin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			var number int64
			if _, err := fmt.Sscan(row.Number, &number); err != nil {
				t.Fatal(err)
			}
			client.FlushAll(t.Context())
			s.Initialize("Raven")
			adds := prefix.Server{ServerPrefix: row.ServerPrefix, NodeTag: row.NodeTag}
			if err := operator.SetServerPrefix(t.Context(), adds); err != nil {
				t.Fatal(err)
			}
			if _, err := operator.Seed(t.Context(), row.Collection, number-1, true); err != nil {
				t.Fatal(err)
			}
			want := prefix.ID{Collection: row.Collection, ServerPrefix: row.ServerPrefix, Number: number, NodeTag: row.NodeTag}
			for name, next := range map[string]func(*Collection) (string, error){
				"Next": func(c *Collection) (string, error) { return c.Next(t.Context()) },
				"AppendNext": func(c *Collection) (string, error) {
					text, err := c.AppendNext(t.Context(), nil)
					return string(text), err
				},
				"TryNext": func(c *Collection) (string, error) {
					if _, ok := c.TryNext(); ok {
						t.Error("TryNext before the first range: got a number, want none")
					}
					for {
						if text, ok := c.TryNext(); ok {
							return text, nil
						}
					}
				},
				"NextID": func(c *Collection) (string, error) {
					id, err := c.NextID(t.Context())
					if id != want {
						t.Errorf("NextID: got %+v, want %+v", id, want)
					}
					return string(id.Append(nil, row.Separator)), err
				},
				"Take": func(c *Collection) (string, error) {
					batch, err := c.Take(t.Context(), 1)
					return strings.Join(batch.Strings(), " "), err
				},
			} {
				a := mustNew(t, client, Options{Separator: row.Separator})
				text, err := next(mustCollection(t, a, row.Collection))
				if err != nil || text != row.Text {
					t.Errorf("%s: got %q, %v, want %q", name, text, err, row.Text)
				}
				mustClose(t, a)
				if _, err := operator.Seed(t.Context(), row.Collection, number-1, true); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestTakeUsesAChangedPrefixFromTheNextRangeOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		operator, err := admin.New(client, admin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a := mustNew(t, client, Options{MinCapacity: 3, MaxCapacity: 3})
		var ids []string
		for _, adds := range []prefix.Server{{ServerPrefix: "NorthServer/"}, {NodeTag: "A"}} {
			if err := operator.SetServerPrefix(t.Context(), adds); err != nil {
				t.Fatal(err)
			}
			batch, err := mustCollection(t, a, "orders").Take(t.Context(), 3)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, batch.Strings()...)
		}
		const want = "orders/NorthServer/1 orders/NorthServer/2 orders/NorthServer/3 orders/4-A orders/5-A orders/6-A"
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestNextSharesACounterAmongSpellingsAndKeepsEachSpelling(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		a := mustNew(t, client, Options{})
		var got []string
		for _, name := range []string{"Orders", "orders", "ORDERS", "Orders"} {
			id, err := a.Next(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, id)
		}
		if text, want := strings.Join(got, " "), "Orders/1 orders/33 ORDERS/65 Orders/2"; text != want {
			t.Errorf("got %s, want %s", text, want)
		}
		if n := client.DBSize(t.Context()).Val(); n != 2 {
			t.Errorf("got %d keys, want 2, the counter and the settings", n)
		}
	})
}

func TestLimitIsTheLastNumberIssued(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		for _, limit := range []int64{1, 40, 1<<53 + 3, math.MaxInt64} {
			from := max(0, limit-40)
			client.Del(t.Context(), "{Raven}/HiLo/orders")
			client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", from)
			a := mustNew(t, client, Options{Limit: limit})
			for want := from + 1; ; want++ {
				if got := mustNumber(t, a, "orders"); got != want {
					t.Fatalf("got %d, want %d", got, want)
				}
				if want == limit {
					break
				}
			}
			if n, err := a.NextNumber(t.Context(), "orders"); !errors.Is(err, ErrExhausted) {
				t.Errorf("past the limit: got %d, %v, want ErrExhausted", n, err)
			}
			wantMax(t, client, fmt.Sprint(limit))
		}
	})
}

func TestNextRefusesACounterThatWasNeverSeededWhereOnlySeededOnesAreUsed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NewCounters", "no")
		a := mustNew(t, client, Options{})
		if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrNotSeeded) {
			t.Errorf("unseeded: got %v, want ErrNotSeeded", err)
		}
		client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 4000)
		if got := mustNumber(t, a, "orders"); got != 4001 {
			t.Errorf("seeded: got %d, want 4001", got)
		}
	})
}

func TestNewRefusesOptionsOutOfRangeAndNamesTheField(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never dialled
	defer client.Close()
	for field, opts := range map[string]Options{
		"Namespace":     {Namespace: "{a}"},
		"Separator":     {Separator: "|"},
		"MinCapacity":   {MinCapacity: -1},
		"MaxCapacity":   {MaxCapacity: -1},
		"MaxCapacity ":  {MaxCapacity: maxRange + 1},
		"MinCapacity ":  {MinCapacity: 100, MaxCapacity: 10},
		"Limit":         {Limit: -1},
		"Runway":        {Runway: -1},
		"RefillTimeout": {RefillTimeout: -1},
	} {
		_, err := New(client, opts)
		if !errors.Is(err, ErrInvalidOptions) || !strings.Contains(err.Error(), strings.TrimSpace(field)) {
			t.Errorf("%s: got %v, want ErrInvalidOptions, text with %q", field, err, strings.TrimSpace(field))
		}
	}
	if _, err := New(nil, Options{}); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no client: got %v, want ErrInvalidOptions", err)
	}
}

func TestCollectionRefusesInvalidNamesWithoutIO(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	a := mustNew(t, client, Options{})
	for _, name := range []string{"", "a/b", "a|b", "{a}", "a b", "a\n", strings.Repeat("a", 129), "\xff"} {
		if _, err := a.Collection(name); !errors.Is(err, ErrInvalidName) {
			t.Errorf("Collection %q: got %v, want ErrInvalidName", name, err)
		}
		if _, err := a.Next(t.Context(), name); !errors.Is(err, ErrInvalidName) {
			t.Errorf("Next %q: got %v, want ErrInvalidName", name, err)
		}
	}
	if stats := a.Stats(); len(stats.Collections) != 0 {
		t.Errorf("got figures %+v of nothing, want none", stats)
	}
}
