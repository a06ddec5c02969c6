package allocator

import (
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// issuedTexts is a set of identifiers, each of which may be issued once.
type issuedTexts map[string]bool

func (all issuedTexts) add(t *testing.T, id string) {
	t.Helper()
	if all[id] {
		t.Fatalf("got %s twice, want distinct identifiers", id)
	}
	all[id] = true
}

func (all issuedTexts) next(t *testing.T, a *Allocator) string {
	t.Helper()
	id, err := a.Next(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	all.add(t, id)
	return id
}

func (all issuedTexts) identity(t *testing.T, a *Allocator) int64 {
	t.Helper()
	n, err := a.NextIdentity(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	all.add(t, "orders/"+strconv.FormatInt(n, 10))
	return n
}

// A server that issued bare numbers gets a prefix. Clients still hold bare ranges, and use them up while others take
// identities of the same name.
func TestNextIdentityContinuesAboveBareNumbersThatAreStillInUse(t *testing.T) {
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
		client := redistest.NewClient(t, s)
		opts := Options{MinCapacity: 64, MaxCapacity: 64, Runway: time.Nanosecond}
		workers := []*Allocator{mustNew(t, client, opts), mustNew(t, client, opts)}
		issued := issuedTexts{}
		for range 40 {
			for _, a := range workers {
				issued.next(t, a)
			}
		}
		set(t, s)
		late := mustNew(t, client, opts)
		bare := 0
		for i := range 200 {
			n := issued.identity(t, late)
			if reserved, _ := client.HGet(t.Context(), "{Raven}/HiLo/orders", "Bare").Int64(); i == 0 && n != reserved+1 {
				t.Errorf("got the first identity %d, want %d, above the last bare range", n, reserved+1)
			}
			for _, a := range workers {
				if !strings.Contains(issued.next(t, a), "NorthServer") {
					bare++
				}
			}
		}
		if bare == 0 {
			t.Error("got no identifier of a bare range after the change, want some, or the test proves nothing")
		}

		// The counter's record of its bare numbers is what keeps them apart.
		client.HDel(t.Context(), "{Raven}/HiLo/orders", "Bare")
		client.Del(t.Context(), "{Raven}/Identities/orders")
		if n := mustNewIdentity(t, s, "orders"); !issued["orders/"+strconv.FormatInt(n, 10)] {
			t.Errorf("got identity %d without Bare, want a number that was issued before, or the test proves nothing", n)
		}
	})
}

func mustNewIdentity(t *testing.T, s *redistest.Server, name string) int64 {
	t.Helper()
	n, err := mustNew(t, redistest.NewClient(t, s), Options{}).NextIdentity(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Setting the prefix records as bare what an earlier version issued and what was written by hand.
func TestSetServerPrefixRecordsEarlierNumbersAsBare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want int64
		set  func(t *testing.T, client *redis.Client, m *admin.Admin)
	}{
		{"a prefix is set", 4001, func(t *testing.T, _ *redis.Client, m *admin.Admin) {
			if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "NorthServer/", Identities: true}); err != nil {
				t.Fatal(err)
			}
		}},
		{"a tag is set, and then the home", 4001, func(t *testing.T, _ *redis.Client, m *admin.Admin) {
			for _, home := range []bool{false, true} {
				if err := m.SetServerPrefix(t.Context(), prefix.Server{NodeTag: "A", Identities: home}); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"nothing notes it", 1, func(t *testing.T, client *redis.Client, _ *admin.Admin) {
			if err := client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag", "A", "Identities", "here").Err(); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := redistest.NewClient(t, s)
				client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 4000, "Name", "Orders", "Ranges", 125, "Epoch", 0)
				client.HSet(t.Context(), "{Raven}/HiLo/people", "Max", 4000)
				test.set(t, client, mustAdmin(t, s))
				for _, name := range []string{"orders", "people"} {
					if n := mustNewIdentity(t, s, name); n != test.want {
						t.Errorf("%s: got %d, want %d", name, n, test.want)
					}
				}
				if n := mustNewIdentity(t, s, "companies"); n != 1 {
					t.Errorf("a name without a counter: got %d, want 1", n)
				}
			})
		})
	}
}

// A restart loses the write of a bare range, and the prefix is set before the next request for a range.
func TestNextIdentityContinuesAboveBareNumbersThatWereLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		issued := issuedTexts{}
		issued.next(t, mustNew(t, client, Options{}))
		saved := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val()
		late := mustNew(t, client, Options{})
		for range 3 {
			issued.next(t, late)
		}
		s.Restart()
		if err := client.HSet(t.Context(), "{Raven}/HiLo/orders", saved).Err(); err != nil {
			t.Fatal(err)
		}
		setHome(t, s, "NorthServer/")
		lost, _ := strconv.ParseInt(saved["Max"], 10, 64)
		for range 3 {
			if n := issued.identity(t, late); n <= lost+1<<16 {
				t.Errorf("got identity %d, want it above %d", n, lost+1<<16)
			}
		}
	})
}

// A restart loses bare ranges of two clients. This client has seen the numbers of the other one in the tallies of its newest
// range, and nothing that survived shows them.
func TestNextIdentityContinuesAboveTwiceTheBareNumbersThatThisClientSaw(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const most = 300_000
		client := redistest.NewClient(t, s)
		opts := Options{Limit: 8 * most} // so little room is left that the offset of a jump is small
		a, b := mustNew(t, client, opts), mustNew(t, client, opts)
		take := func(a *Allocator, n int64) int64 {
			orders, err := a.Collection("orders")
			if err != nil {
				t.Fatal(err)
			}
			batch, err := orders.Take(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			return batch.Range().High
		}
		take(a, 32)
		saved := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val()
		take(a, most)
		lost := take(b, most)
		s.Restart()
		client.Del(t.Context(), "{Raven}/HiLo/orders")
		if err := client.HSet(t.Context(), "{Raven}/HiLo/orders", saved).Err(); err != nil {
			t.Fatal(err)
		}
		setHome(t, s, "NorthServer/")
		n, err := a.NextIdentity(t.Context(), "orders")
		if err != nil || n <= lost {
			t.Errorf("got identity %d, %v, want it above %d, which was issued bare", n, err, lost)
		}
	})
}

// A server loses the counter of a collection without prefix, and then gets a prefix by redis-cli, which records nothing as
// bare. The client therefore sends the greatest bare number that it was issued.
func TestNextIdentityContinuesAboveTheBareNumbersOfThisClient(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client, issued := redistest.NewClient(t, s), issuedTexts{}
		a := mustNew(t, client, Options{})
		for range 40 {
			issued.next(t, a)
		}
		client.Del(t.Context(), "{Raven}/HiLo/orders")
		if err := client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag", "A", "Identities", "here").Err(); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			issued.identity(t, a)
		}
	})
}

// The numbers of a counter that was set by hand may have been issued bare, even if the prefix is corrupt now.
func TestSetServerPrefixReplacesACorruptPrefixAndRecordsBareNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), "{Raven}/HiLo/companies", "Max", 5000)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North1")
		if _, err := mustNew(t, client, Options{}).Next(t.Context(), "companies"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with a prefix that ends in a digit: got %v, want ErrCorrupt", err)
		}
		setHome(t, s, "North/")
		if n := mustNewIdentity(t, s, "companies"); n != 5001 {
			t.Errorf("got identity %d, want 5001, because companies/1 may have been issued bare", n)
		}
		if left := client.Keys(t.Context(), "*").Val(); len(left) != 3 {
			t.Errorf("got keys %q, want 3", left)
		}
	})
}

// One field of the key may be corrupt while prefix and tag are valid. Numbers issued under them were not bare.
func TestSetServerPrefixRecordsNothingAsBareBesideAValidPrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client, m := redistest.NewClient(t, s), mustAdmin(t, s)
		setHome(t, s, "N/")
		if _, err := m.Seed(t.Context(), "orders", 5_000_000, false); err != nil {
			t.Fatal(err)
		}
		before := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val()
		wantsUnchanged := func() {
			t.Helper()
			if after := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val(); !maps.Equal(after, before) {
				t.Errorf("got %v, want %v as before", after, before)
			}
		}
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Identities", "yes")
		setHome(t, s, "N/")
		wantsUnchanged()
		client.Set(t.Context(), "{Raven}/ServerPrefixForHilo", "N/", 0)
		if err := m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: "N/"}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("where it is no hash: got %v, want ErrCorrupt", err)
		}
		wantsUnchanged()
	})
}

// The server loses the key of the first kind, and the same client then requests the name as the other kind.
func TestNextAndNextIdentityRefuseToMixKindsAfterALoss(t *testing.T) {
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
				a := mustNew(t, redistest.NewClient(t, s), Options{})
				issued := issuedTexts{}
				for _, next := range kinds {
					id, err := next(a)
					if len(issued) > 0 {
						if !errors.Is(err, ErrMixed) {
							t.Errorf("got %s, %v, want ErrMixed", id, err)
						}
						if n := s.Client(t).DBSize(t.Context()).Val(); n != 0 {
							t.Errorf("got %d keys after the refusal, want 0", n)
						}
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					issued.add(t, id)
					s.Client(t).FlushAll(t.Context())
				}
				setHome(t, s, "NorthServer/") // with a prefix the name may be of both
				a = mustNew(t, redistest.NewClient(t, s), Options{})
				for _, next := range kinds {
					if _, err := next(a); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
