package allocator

import (
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// givenTexts are identifiers, each of which may come once.
type givenTexts map[string]bool

func (all givenTexts) add(t *testing.T, id string) {
	t.Helper()
	if all[id] {
		t.Fatalf("%s was given twice", id)
	}
	all[id] = true
}

func (all givenTexts) next(t *testing.T, a *Allocator) string {
	t.Helper()
	id, err := a.Next(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	all.add(t, id)
	return id
}

func (all givenTexts) identity(t *testing.T, a *Allocator) int64 {
	t.Helper()
	n, err := a.NextIdentity(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	all.add(t, "orders/"+strconv.FormatInt(n, 10))
	return n
}

// A server that gave bare identifiers is given a prefix. Bare ranges are still in hand then, and are used up while the
// identity of the same name is.
func TestAnIdentityGoesOnAboveWhatWasGivenBare(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(t *testing.T, s *redistest.Server){
		"the prefix is set by an Admin": func(t *testing.T, s *redistest.Server) { setHome(t, s, "NorthServer/") },
		"the prefix is set by hand": func(t *testing.T, s *redistest.Server) {
			if err := s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "NorthServer/", "Identities", "here").Err(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goesOnAboveBare(t, set)
		})
	}
}

func goesOnAboveBare(t *testing.T, set func(t *testing.T, s *redistest.Server)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		opts := Options{MinCapacity: 64, MaxCapacity: 64, Runway: time.Nanosecond}
		workers := []*Allocator{mustNew(t, client, opts), mustNew(t, client, opts)}
		given := givenTexts{}
		for range 40 {
			for _, a := range workers {
				given.next(t, a)
			}
		}
		set(t, s)
		late := mustNew(t, client, opts)
		bare := 0
		for i := range 200 {
			n := given.identity(t, late)
			if reserved, _ := client.HGet(t.Context(), "{Raven}/HiLo/orders", "Bare").Int64(); i == 0 && n != reserved+1 {
				t.Errorf("the first identity is %d, and %d is the greatest number of a bare range", n, reserved)
			}
			for _, a := range workers {
				if !strings.Contains(given.next(t, a), "NorthServer") {
					bare++
				}
			}
		}
		if bare == 0 {
			t.Error("no bare range was still in hand: that proves less")
		}

		// The counter's note of what it gave bare is what keeps them apart.
		client.HDel(t.Context(), "{Raven}/HiLo/orders", "Bare")
		client.Del(t.Context(), "{Raven}/Identities/orders")
		if n := mustNewIdentity(t, s, "orders"); !given["orders/"+strconv.FormatInt(n, 10)] {
			t.Errorf("without the note it is %d, which nobody has", n)
		}
	})
}

func mustNewIdentity(t *testing.T, s *redistest.Server, name string) int64 {
	t.Helper()
	n, err := mustNew(t, s.Client(t), Options{}).NextIdentity(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What an earlier version gave bare, and what a hand set, is noted when the prefix is set.
func TestStateOfAnEarlierVersionIsTakenForBare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want int64
		set  func(t *testing.T, m *Admin)
	}{
		{"a prefix is set", 4001, func(t *testing.T, m *Admin) {
			if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "NorthServer/", Identities: true}); err != nil {
				t.Fatal(err)
			}
		}},
		{"a tag is set, and then the home", 4001, func(t *testing.T, m *Admin) {
			for _, home := range []bool{false, true} {
				if err := m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A", Identities: home}); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"nothing notes it", 1, func(t *testing.T, m *Admin) {
			if err := m.client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag", "A", "Identities", "here").Err(); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 4000, "Name", "Orders", "Ranges", 125, "Epoch", 0)
				client.HSet(t.Context(), "{Raven}/HiLo/people", "Max", 4000)
				test.set(t, mustAdmin(t, s, ""))
				for _, name := range []string{"orders", "people"} {
					if n := mustNewIdentity(t, s, name); n != test.want {
						t.Errorf("%s: %d, want %d", name, n, test.want)
					}
				}
				if n := mustNewIdentity(t, s, "companies"); n != 1 {
					t.Errorf("a name without a counter: %d", n)
				}
			})
		})
	}
}

// A range that was given bare is lost with a restart, and the prefix is set before anybody asks for another.
func TestAnIdentityGoesOnAboveWhatWasGivenBareAndIsLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		given := givenTexts{}
		given.next(t, mustNew(t, client, Options{}))
		saved := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val()
		late := mustNew(t, client, Options{})
		for range 3 {
			given.next(t, late)
		}
		s.Restart()
		if err := client.HSet(t.Context(), "{Raven}/HiLo/orders", saved).Err(); err != nil {
			t.Fatal(err)
		}
		setHome(t, s, "NorthServer/")
		lost, _ := strconv.ParseInt(saved["Max"], 10, 64)
		for i := range int64(3) {
			if n := given.identity(t, late); n != lost+1<<16+1+i {
				t.Errorf("identity %d, want %d", n, lost+1<<16+1+i)
			}
		}
	})
}

// A counter that was set by hand may be of numbers that were given bare, also where the prefix cannot be read any more.
func TestAPrefixThatCannotBeReadIsReplacedAndWhatWasBareIsNoted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), "{Raven}/HiLo/companies", "Max", 5000)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North1")
		if _, err := mustNew(t, client, Options{}).Next(t.Context(), "companies"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with a prefix that ends in a digit: %v", err)
		}
		setHome(t, s, "North/")
		if n := mustNewIdentity(t, s, "companies"); n != 5001 {
			t.Errorf("identity %d, want 5001: companies/1 may have been given bare", n)
		}
		if left := client.Keys(t.Context(), "*").Val(); len(left) != 3 {
			t.Errorf("there are %q", left)
		}
	})
}

// Of a key that cannot be read as a whole, prefix and tag may be good, and what was given not bare.
func TestWhatWasNotBareIsNotNotedForAPrefixThatCannotBeRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client, m := s.Client(t), mustAdmin(t, s, "")
		setHome(t, s, "N/")
		if _, err := m.Seed(t.Context(), "orders", 5_000_000, false); err != nil {
			t.Fatal(err)
		}
		before := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val()
		wantsUnchanged := func() {
			t.Helper()
			if after := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val(); !maps.Equal(after, before) {
				t.Errorf("%v became %v", before, after)
			}
		}
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Identities", "yes")
		setHome(t, s, "N/")
		wantsUnchanged()
		client.Set(t.Context(), "{Raven}/ServerPrefixForHilo", "N/", 0)
		if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "N/"}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("where it is no hash: %v", err)
		}
		wantsUnchanged()
	})
}

// One client is given numbers of a name by both kinds, since the server lost the key of the first.
func TestANameIsOfOneKindAlsoWhereItsKeyIsLost(t *testing.T) {
	t.Parallel()
	collection := func(a *Allocator) (string, error) { return a.Next(t.Context(), "orders") }
	identity := func(a *Allocator) (string, error) {
		n, err := a.NextIdentity(t.Context(), "Orders")
		return "orders/" + strconv.FormatInt(n, 10), err
	}
	for name, kinds := range map[string][2]func(*Allocator) (string, error){
		"a collection first": {collection, identity},
		"an identity first":  {identity, collection},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				a := mustNew(t, s.Client(t), Options{})
				given := givenTexts{}
				for _, next := range kinds {
					id, err := next(a)
					if len(given) > 0 {
						if !errors.Is(err, ErrMixed) {
							t.Errorf("%s, %v", id, err)
						}
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					given.add(t, id)
					s.Client(t).FlushAll(t.Context())
				}
				setHome(t, s, "NorthServer/") // with a prefix the name may be of both
				a = mustNew(t, s.Client(t), Options{})
				for _, next := range kinds {
					if _, err := next(a); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
