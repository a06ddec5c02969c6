package allocator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// Order and Invoice are the entities that most tests use.
type (
	Order   struct{ ID string }
	Invoice struct{ ID *string }
)

// These are the types of the fields of entities.
type (
	OrderID  string
	orderPtr *Order
	base     struct{ ID string }
	Base     struct{ ID string }
	Keyed    struct {
		Key string `hilo:"id"`
	}
	Deep  struct{ Keyed }
	Chain struct{ *Chain }
	Line  struct{ Base }
)

func mustAssign(t *testing.T, a *Allocator, entity any) string {
	t.Helper()
	id, err := a.Assign(t.Context(), entity)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// tagged makes the server add the node tag A.
func tagged(t *testing.T, client *redis.Client) {
	t.Helper()
	operator, err := admin.New(client, admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A", Identities: true}); err != nil {
		t.Fatal(err)
	}
}

func TestAssignKeepsTheIdentifierOfAnEntity(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		tagged(t, client)
		a := mustNew(t, client, Options{})
		for _, want := range []string{"orders/1-A", "orders/2-A", "orders/3-A"} {
			var order Order
			if id := mustAssign(t, a, &order); id != want || order.ID != want {
				t.Errorf("got %s, the member is %s, want %s", id, order.ID, want)
			}
			if id := mustAssign(t, a, &order); id != want || order.ID != want {
				t.Errorf("stored again it got %s, the member is %s, want %v, %v", id, order.ID, want, want)
			}
		}
	})
}

func TestAssignPrefersTheTaggedMemberThenIDThenId(t *testing.T) {
	t.Parallel()
	type stringPtr *string
	rows := []struct {
		name   string
		entity any
		member string
	}{
		{"ID before Id", &struct{ Id, ID string }{}, "ID"},
		{"Id alone", &struct{ Id string }{}, "Id"},
		{"the tagged one", &struct {
			ID, Id string
			Key    string `hilo:"id"`
		}{}, "Key"},
		{"tags of others", &struct {
			ID string `json:"_id"`
		}{}, "ID"},
		{"a pointer", &struct{ ID *string }{}, "ID"},
		{"a defined string", &struct{ ID OrderID }{}, "ID"},
		{"a pointer to a defined string", &struct{ ID *OrderID }{}, "ID"},
		{"a defined pointer", &struct{ ID stringPtr }{}, "ID"},
		{"embedded", &struct{ Base }{}, "Base.ID"},
		{"embedded, not exported", &struct{ base }{}, "base.ID"},
		{"embedded by pointer", &struct{ *Base }{&Base{}}, "Base.ID"},
		{"embedded by pointer, not exported", &struct{ *base }{&base{}}, "base.ID"},
		{"embedded twice over", &struct{ Deep }{}, "Deep.Keyed.Key"},
		{"embedded and tagged before ID", &struct {
			ID string
			Keyed
		}{}, "Keyed.Key"},
		{"near before far", &struct {
			Base
			ID string
		}{}, "ID"},
		{"a tag that a nearer field hides", &struct {
			Keyed
			Key, ID string
		}{}, "ID"},
		{"an embedded text", &struct {
			OrderID `hilo:"id"`
		}{}, "OrderID"},
		{"beside what embeds itself", &struct {
			*Chain
			ID string
		}{}, "ID"},
		{"of a defined pointer", orderPtr(&Order{}), "ID"},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{CollectionOf: func(reflect.Type) string { return "orders" }})
		for _, row := range rows {
			v := reflect.New(reflect.TypeOf(row.entity).Elem()).Elem() // servers are tested concurrently
			v.Set(reflect.ValueOf(row.entity).Elem())
			id := mustAssign(t, a, v.Addr().Interface())
			for part := range strings.SplitSeq(row.member, ".") {
				v = reflect.Indirect(v).FieldByName(part)
			}
			if got := reflect.Indirect(v).String(); got != id || !strings.HasPrefix(id, "orders/") {
				t.Errorf("%s: got %s and the field %q, want an id of orders in both", row.name, id, got)
			}
		}
	})
}

func TestAssignRefusesEntitiesWithoutAMemberAndNamesTypeAndMember(t *testing.T) {
	t.Parallel()
	type (
		None      struct{ id, Name string }
		Number    struct{ ID int64 }
		Bytes     struct{ Id []byte }
		Twice     struct{ ID **string }
		Any       struct{ ID any }
		Hidden    struct{ *Base }
		HiddenToo struct{ *base }
		Private   struct {
			key string `hilo:"id"`
			ID  string
		}
		Blank struct {
			_  string `hilo:"id"`
			ID string
		}
		Two struct {
			Code string `hilo:"id"`
			Deep
		}
		Typo struct {
			Key string `hilo:"Id"`
			ID  string
		}
		Both struct {
			Base
			Other Base
			base
			Id string
		}
		Keyed2   struct{ Key string }
		BothKeys struct {
			Keyed
			Keyed2
			ID string
		}
	)
	order := &Order{}
	a := offline(t, Options{})
	for _, row := range []struct {
		entity any
		wants  []string
	}{
		{nil, []string{"nil", "pointer to a struct"}},
		{Order{}, []string{"allocator.Order", "pointer to a struct"}},
		{&order, []string{"**allocator.Order", "pointer to a struct"}},
		{"orders/", []string{"string", "pointer to a struct"}},
		{new(map[string]string), []string{"map", "pointer to a struct"}},
		{(*Order)(nil), []string{"nil *allocator.Order"}},
		{&struct{ ID string }{"orders/1"}, []string{"struct { ID string }", "CollectionOf"}},
		{&None{id: "a"}, []string{"allocator.None", "ID", "Id", `hilo:"id"`}},
		{&Number{}, []string{"allocator.Number", "member ID", "int64"}},
		{&Bytes{}, []string{"allocator.Bytes", "member Id", "[]uint8"}},
		{&Twice{}, []string{"allocator.Twice", "member ID", "**string"}},
		{&Any{}, []string{"allocator.Any", "member ID", "interface"}},
		{&Hidden{}, []string{"allocator.Hidden", "member ID", "nil"}},
		{&HiddenToo{}, []string{"allocator.HiddenToo", "member ID", "nil"}},
		{&Private{key: "a"}, []string{"allocator.Private", "member key", "not exported"}},
		{&Blank{}, []string{"allocator.Blank", "member _", "not exported"}},
		{&Two{}, []string{"allocator.Two", "Code and Key", "both"}},
		{&Typo{}, []string{"allocator.Typo", "member Key", `"Id"`}},
		{&Both{}, []string{"allocator.Both", "member ID", "more than one"}},
		{&BothKeys{}, []string{"allocator.BothKeys", "member Key", "more than one"}},
	} {
		for range 2 { // the type is cached the second time
			id, err := a.Assign(t.Context(), row.entity)
			if id != "" || !errors.Is(err, ErrInvalidOptions) {
				t.Errorf(`%T: got %q, %v, want "", ErrInvalidOptions`, row.entity, id, err)
				continue
			}
			for _, want := range row.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%T: got %v, want text with %q", row.entity, err, want)
				}
			}
		}
	}
}

func TestAssignIsSafeForConcurrentUseOfNewTypes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{CollectionOf: func(reflect.Type) string { return "things" }})
		var mu sync.Mutex
		got := make(map[string]bool)
		var wg sync.WaitGroup
		for g := range 64 {
			wg.Go(func() {
				for i := range 50 {
					entity := []any{&Order{}, &Invoice{}, &Box[int]{}, &Box[Order]{}, &struct{ ID string }{}}[(g+i)%5]
					id, err := a.Assign(t.Context(), entity)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					got[id] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for i := range 64 * 50 {
			if id := fmt.Sprintf("things/%d", i+1); !got[id] {
				t.Fatalf("got %v, want %s among them", slices.Sorted(maps.Keys(got)), id)
			}
		}
	})
}

//nolint:paralleltest // AllocsPerRun counts what other tests allocate, too
func TestAssignAllocatesNoMoreThanNext(t *testing.T) {
	a := mustNew(t, redistest.NewClient(t, redistest.StartMini(t)), Options{MinCapacity: maxRange, MaxCapacity: maxRange})
	var order Order
	var invoice Invoice
	mustAssign(t, a, &order)
	mustAssign(t, a, &invoice)
	allocs := func(f func() error) float64 {
		return testing.AllocsPerRun(1000, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		})
	}
	next := allocs(func() error { _, err := a.Next(t.Context(), "orders"); return err })
	for _, row := range []struct {
		name   string
		entity any
		clear  func()
		more   float64 // than Next
	}{
		{"a string", &order, func() { order.ID = "" }, 0},
		{"a *string", &invoice, func() { invoice.ID = nil }, 1}, // the string itself
		{"one that is kept", &order, func() { order.ID = "orders/1" }, -next},
	} {
		if got := allocs(func() error { row.clear(); _, err := a.Assign(t.Context(), row.entity); return err }); got > next+row.more {
			t.Errorf("%s: got %v allocations, want at most %v, %v more than Next", row.name, got, next+row.more, row.more)
		}
	}
}

// BenchmarkAssign compares Assign with Next, without refills. Next allocates once, for the text.
func BenchmarkAssign(b *testing.B) {
	a, err := New(redistest.NewClient(b, redistest.StartMini(b)), Options{MinCapacity: maxRange, MaxCapacity: maxRange})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Close(context.Background()) })
	c, err := a.Collection("orders")
	if err != nil {
		b.Fatal(err)
	}
	var order Order
	var invoice Invoice
	var line Line
	var named Named
	for _, row := range []struct {
		name string
		next func() (string, error)
	}{
		{"Collection.Next", func() (string, error) { return c.Next(b.Context()) }},
		{"Allocator.Next", func() (string, error) { return a.Next(b.Context(), "orders") }},
		{"string", func() (string, error) { order.ID = ""; return a.Assign(b.Context(), &order) }},
		{"pointer", func() (string, error) { invoice.ID = nil; return a.Assign(b.Context(), &invoice) }},
		{"embedded", func() (string, error) { line.ID = ""; return a.Assign(b.Context(), &line) }},
		{"method", func() (string, error) { named.ID = ""; return a.Assign(b.Context(), &named) }},
		{"kept", func() (string, error) { return a.Assign(b.Context(), &order) }},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := row.next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
