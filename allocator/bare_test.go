package allocator

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

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

// A name is of one kind for ever where texts could be equal, whatever prefix the server gets later.
func TestNextIdentityIsRefusedForANameThatIssuedBareNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		old := mustNew(t, redistest.NewClient(t, s), Options{})
		mustNumber(t, old, "orders")
		setHome(t, s, "NorthServer/")
		for name, a := range map[string]*Allocator{"the same client": old, "a new client": mustNew(t, redistest.NewClient(t, s), Options{})} {
			if n, err := a.NextIdentity(t.Context(), "orders"); !errors.Is(err, ErrMixed) {
				t.Errorf("%s: got %d, %v, want ErrMixed", name, n, err)
			}
			if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		mustNumber(t, old, "companies") // with a prefix from the first number on, a name may be both
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
						if n := s.Client(t).DBSize(t.Context()).Val(); n != 1 {
							t.Errorf("got %d keys after the refusal, want the settings alone", n)
						}
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					issued.add(t, id)
					s.Client(t).FlushAll(t.Context())
					s.Initialize("Raven")
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
