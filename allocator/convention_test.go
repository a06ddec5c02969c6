package allocator

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Box, Pair and shop are generic types and their arguments.
type (
	Box[T any] struct {
		ID string
		Of *T
	}
	Pair[A, B any] struct {
		ID  string
		One *A
		Two *B
	}
	shop     struct{ ID string }
	Counter2 struct{ ID string }
)

func inFunction[T any]() reflect.Type {
	type Inner struct{ Of *T }
	return reflect.TypeFor[Box[Inner]]()
}

// offline returns an allocator whose server cannot be reached.
func offline(t *testing.T, opts Options) *Allocator {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	return mustNew(t, client, opts)
}

func TestCollectionOfATypeMatchesTheVectors(t *testing.T) {
	t.Parallel()
	type (
		Order       struct{}
		Company     struct{}
		Person      struct{}
		Category    struct{}
		UserGroup   struct{}
		OrderLine   struct{}
		Address     struct{}
		Child       struct{}
		Series      struct{}
		HTTPRequest struct{}
		Key         struct{}
		Leaf        struct{}
	)
	types := make(map[string]reflect.Type)
	for _, v := range []any{
		Order{}, Company{}, Person{}, Category{}, UserGroup{}, OrderLine{},
		Address{}, Child{}, Series{}, HTTPRequest{}, Key{}, Leaf{},
	} {
		types[reflect.TypeOf(v).Name()] = reflect.TypeOf(v)
	}
	a := offline(t, Options{})
	for _, row := range vectors[struct{ Type, Plural, Collection string }](t, "collections.json") {
		if types[row.Type] == nil {
			t.Errorf("got no type for the vector %s, want one in this test", row.Type)
			continue
		}
		if got, err := a.collectionOf(types[row.Type]); err != nil || got != row.Collection {
			t.Errorf("the collection of %s is %q, %v, want %s", row.Type, got, err, row.Collection)
		}
	}
}

func TestCollectionOfAGenericTypeNamesItsArguments(t *testing.T) {
	t.Parallel()
	type Order struct{}
	type Line[T any] struct{ Of *T }
	a := offline(t, Options{})
	for _, row := range []struct {
		t    reflect.Type
		want string
	}{
		{reflect.TypeFor[Box[Options]](), "BoxesOfOptions"},
		{reflect.TypeFor[Box[redis.Error]](), "BoxesOfErrors"}, // a path with dots in it
		{reflect.TypeFor[Box[shop]](), "BoxesOfShops"},
		{reflect.TypeFor[Box[int]](), "BoxesOfInts"},
		{reflect.TypeFor[Box[uint8]](), "BoxesOfUint8s"},
		{reflect.TypeFor[Box[error]](), "BoxesOfErrors"},
		{reflect.TypeFor[Box[Box[string]]](), "BoxesOfBoxesOfStrings"},
		{reflect.TypeFor[Pair[string, Box[shop]]](), "PairsOfStringsAndBoxesOfShops"},
		{reflect.TypeFor[Box[Pair[Box[int], shop]]](), "BoxesOfPairsOfBoxesOfIntsAndShops"},
		{reflect.TypeFor[Order](), "orders"}, // reflect tells local types apart as arguments only: Order·1
		{reflect.TypeFor[Box[Order]](), "BoxesOfOrders"},
		{reflect.TypeFor[Pair[Line[Order], int]](), "PairsOfLinesOfOrdersAndInts"},
		{inFunction[shop](), "BoxesOfInnersOfShops"},
		{reflect.TypeFor[Counter2](), "counter2s"},
	} {
		if got, err := a.collectionOf(row.t); err != nil || got != row.want {
			t.Errorf("the collection of %s is %q, %v, want %s", row.t, got, err, row.want)
		}
	}
}

func TestCollectionOfATypeWithoutAPluralIsAnErrorWithAdvice(t *testing.T) {
	t.Parallel()
	type (
		Under_score                                 struct{ ID string }
		VeryLongTypeNameThatIsRepeatedAgainAndAgain struct{ ID string }
	)
	type long = VeryLongTypeNameThatIsRepeatedAgainAndAgain
	for _, row := range []struct {
		name  string
		t     reflect.Type
		opts  Options
		is    error
		wants []string
	}{
		{"a slice as argument", reflect.TypeFor[Box[[]shop]](), Options{}, ErrInvalidName, []string{"HiLoCollection", "CollectionOf"}},
		{"an array", reflect.TypeFor[Box[[4]shop]](), Options{}, ErrInvalidName, nil},
		{"a pointer", reflect.TypeFor[Box[*shop]](), Options{}, ErrInvalidName, nil},
		{"a map", reflect.TypeFor[Box[map[string]shop]](), Options{}, ErrInvalidName, nil},
		{"a channel", reflect.TypeFor[Box[chan shop]](), Options{}, ErrInvalidName, nil},
		{"a channel to receive from", reflect.TypeFor[Box[<-chan Box[shop]]](), Options{}, ErrInvalidName, nil},
		{"a function", reflect.TypeFor[Box[func(shop) shop]](), Options{}, ErrInvalidName, nil},
		{"a function without arguments", reflect.TypeFor[Box[func() shop]](), Options{}, ErrInvalidName, nil},
		{"an interface", reflect.TypeFor[Box[any]](), Options{}, ErrInvalidName, nil},
		{"an interface with methods", reflect.TypeFor[Box[interface{ M(shop) Box[shop] }]](), Options{}, ErrInvalidName, nil},
		{"a struct", reflect.TypeFor[Box[struct{}]](), Options{}, ErrInvalidName, nil},
		{"a struct with a tag that looks like a name", reflect.TypeFor[Box[struct {
			A int `x:",Box],Box["`
		}]](), Options{}, ErrInvalidName, nil},
		{"a slice further in", reflect.TypeFor[Pair[int, Box[[]shop]]](), Options{}, ErrInvalidName, nil},
		{"a name with the separator", reflect.TypeFor[Under_score](), Options{Separator: "_"}, ErrInvalidName, []string{`"_"`, "plural"}},
		{"a name that is too long", reflect.TypeFor[Pair[long, Pair[long, long]]](), Options{}, ErrInvalidName, []string{"at most 128"}},
		{"no name", reflect.TypeFor[struct{ ID string }](), Options{}, ErrInvalidOptions, []string{"HiLoCollection", "CollectionOf"}},
		{
			"a name by option", reflect.TypeFor[shop](),
			Options{CollectionOf: func(reflect.Type) string { return "a/b" }},
			ErrInvalidName, []string{"CollectionOf", `"a/b"`, "separator"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := offline(t, row.opts).collectionOf(row.t)
			if !errors.Is(err, row.is) {
				t.Fatalf("%q, %v, want %v", got, err, row.is)
			}
			for _, want := range append(row.wants, row.t.String()) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want text with %q", err, want)
				}
			}
		})
	}
}

// Named and Chosen name their collections by a method, one with each kind of receiver.
type (
	Named  struct{ ID string }
	Chosen struct{ ID, Of string }
	Framed struct{ *Named }
	Rooted struct {
		ID string
		*Chosen
	}
	chosenPtr *Chosen
)

func (Named) HiLoCollection() string     { return "Fleet" }
func (c *Chosen) HiLoCollection() string { return c.Of }

func TestHiLoCollectionPrecedesTheOptionAndThePlural(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		var mu sync.Mutex
		asked := make(map[reflect.Type]int)
		a := mustNew(t, redistest.NewClient(t, s), Options{CollectionOf: func(of reflect.Type) string {
			mu.Lock()
			defer mu.Unlock()
			asked[of]++
			return map[string]string{"Order": "Bestellungen", "Named": "never", "": "nameless"}[of.Name()]
		}})
		for _, row := range []struct {
			entity any
			want   string
		}{
			{&Named{}, "Fleet/1"},
			{&Framed{&Named{}}, "Fleet/2"},
			{&Chosen{Of: "blue"}, "blue/1"},
			{&Chosen{Of: "red"}, "red/1"},
			{chosenPtr(&Chosen{Of: "red"}), "red/2"},
			{&Rooted{Chosen: &Chosen{Of: "red"}}, "red/3"},
			{&Order{}, "Bestellungen/1"},
			{&Order{}, "Bestellungen/2"},
			{&Invoice{}, "invoices/1"}, // the option does not say
			{&struct{ ID string }{}, "nameless/1"},
			{&Box[[]int]{ID: "boxes/1"}, "boxes/1"}, // nothing to name
		} {
			if id := mustAssign(t, a, row.entity); id != row.want {
				t.Errorf("%T got %s, want %s", row.entity, id, row.want)
			}
		}
		if n := asked[reflect.TypeFor[Order]()]; n != 1 {
			t.Errorf("got %d calls of CollectionOf for one type, want 1", n)
		}
	})
}

func TestHiLoCollectionWithAnInvalidNameIsAnError(t *testing.T) {
	t.Parallel()
	a := offline(t, Options{})
	for _, row := range []struct {
		entity any
		want   string
	}{
		{&Chosen{}, "empty"},
		{&Chosen{Of: "a/b"}, "separator"},
		{&Rooted{}, "nil pointer"},
	} {
		id, err := a.Assign(t.Context(), row.entity)
		if id != "" || !errors.Is(err, ErrInvalidName) {
			t.Errorf(`%T: got %q, %v, want "", ErrInvalidName`, row.entity, id, err)
			continue
		}
		for _, want := range []string{row.want, "HiLoCollection", reflect.TypeOf(row.entity).Elem().String()} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want text with %q", err, want)
			}
		}
	}
}
