package allocator

import (
	"errors"
	"strconv"
	"testing"

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
