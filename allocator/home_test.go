package allocator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// fleetOfTwoMasters returns one worker that prefers north, one that prefers south, and one that uses south alone.
func fleetOfTwoMasters(t *testing.T, opts Options, north, south *redistest.Server) []*Allocator {
	t.Helper()
	n, s := Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)}
	return []*Allocator{mustMulti(t, opts, n, s), mustMulti(t, opts, s, n), mustNew(t, impatient(t, south), opts)}
}

func nothingTaken(context.Context, string) (bool, error) { return false, nil }

func mustIdentity(t *testing.T, a *Allocator) int64 {
	t.Helper()
	n, err := a.NextIdentity(t.Context(), "companies")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wantFromOneOn checks that numbers are 1, 2, and so on.
func wantFromOneOn(t *testing.T, numbers []int64) {
	t.Helper()
	for i, n := range numbers {
		if n != 1+int64(i) {
			t.Fatalf("number %d: got %d, want %d: %d", i, n, 1+int64(i), numbers)
		}
	}
}

func TestNextIdentityUsesTheHomeWhateverTheOrderOfPreference(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		setHome(t, south, "SouthServer/")
		workers := fleetOfTwoMasters(t, Options{FreeIdentityAnywhere: true}, north, south)
		var numbers []int64
		for range 10 {
			for _, a := range workers {
				numbers = append(numbers, mustIdentity(t, a))
				free, _, err := a.NextFreeIdentity(t.Context(), "Companies", nothingTaken)
				if err != nil {
					t.Fatal(err)
				}
				numbers = append(numbers, free)
			}
		}
		wantFromOneOn(t, numbers)

		stranger := mustNew(t, impatient(t, north), Options{FreeIdentityAnywhere: true})
		if n, err := stranger.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrIdentitiesElsewhere) {
			t.Errorf("one that knows north alone got %d, %v, want ErrIdentitiesElsewhere", n, err)
		}
		if n, _, err := stranger.NextFreeIdentity(t.Context(), "companies", nothingTaken); !errors.Is(err, ErrIdentitiesElsewhere) {
			t.Errorf("its search got %d, %v, want ErrIdentitiesElsewhere", n, err)
		}
		if id, err := stranger.Resolve(t.Context(), "companies|"); !errors.Is(err, ErrIdentitiesElsewhere) {
			t.Errorf("got %q, %v, want ErrIdentitiesElsewhere", id, err)
		}
		if there := north.Client(t).Exists(t.Context(), "{Raven}/Identities/companies").Val(); there != 0 {
			t.Errorf("got %d identities at north, want none", there)
		}
	})
}

// An operator moves the home and its values while workers run. They follow without a restart.
func TestNextIdentityFollowsTheHomeToAnotherServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		setHome(t, south, "SouthServer/")
		workers := fleetOfTwoMasters(t, Options{}, north, south)[:2]
		var numbers []int64
		round := func() {
			t.Helper()
			for range 5 {
				for _, a := range workers {
					numbers = append(numbers, mustIdentity(t, a))
				}
			}
		}
		round()
		setPrefix(t, south, "SouthServer/")
		if n, err := workers[0].NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrIdentitiesElsewhere) {
			t.Errorf("without a home: got %d, %v, want ErrIdentitiesElsewhere", n, err)
		}
		if _, err := mustAdmin(t, north).SeedIdentity(t.Context(), "companies", numbers[len(numbers)-1], false); err != nil {
			t.Fatal(err)
		}
		setHome(t, north, "NorthServer/")
		round()
		wantFromOneOn(t, numbers)
		if stands := north.Client(t).HGet(t.Context(), "{Raven}/Identities/companies", "Value").Val(); stands != "20" {
			t.Errorf("north: got %q, want 20", stands)
		}
	})
}

func TestNextIdentityRefusesTwoHomes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		setHome(t, north, "NorthServer/")
		setHome(t, south, "SouthServer/")
		workers := fleetOfTwoMasters(t, Options{FreeIdentityAnywhere: true}, north, south)[:2]
		for _, a := range workers {
			for range 2 {
				if n, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrPrefixConflict) || !strings.Contains(err.Error(), "home") {
					t.Errorf(`got %d, %v, want ErrPrefixConflict, text with "home"`, n, err)
				}
				if n, _, err := a.NextFreeIdentity(t.Context(), "companies", nothingTaken); !errors.Is(err, ErrPrefixConflict) {
					t.Errorf("the search: got %d, %v, want ErrPrefixConflict", n, err)
				}
				if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrPrefixConflict) {
					t.Errorf("the first identifier: got %s, %v, want ErrPrefixConflict", id, err)
				}
			}
		}
		setPrefix(t, north, "NorthServer/")
		var numbers []int64
		for _, a := range workers {
			numbers = append(numbers, mustIdentity(t, a))
		}
		wantFromOneOn(t, numbers)
	})
}

func TestNextIdentityRequiresAHome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		for _, a := range fleetOfTwoMasters(t, Options{FreeIdentityAnywhere: true}, north, south) {
			if n, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrIdentitiesElsewhere) {
				t.Errorf("got %d, %v, want ErrIdentitiesElsewhere", n, err)
			}
			if n, _, err := a.NextFreeIdentity(t.Context(), "companies", nothingTaken); !errors.Is(err, ErrIdentitiesElsewhere) {
				t.Errorf("the search: got %d, %v, want ErrIdentitiesElsewhere", n, err)
			}
			if _, err := a.Next(t.Context(), "orders"); err != nil {
				t.Error(err)
			}
		}
		setHome(t, north, "NorthServer/")
		if n := mustIdentity(t, mustNew(t, redistest.NewClient(t, north), Options{})); n != 1 {
			t.Errorf("with a home: got %d, want 1", n)
		}
	})
}

// While the home is down no identity is issued, even if another server is up. With FreeIdentityAnywhere the search continues at
// the other servers. The last check shows the risk in its documentation, that the home may later issue the same number.
func TestFreeIdentityAnywhereContinuesWhileTheHomeIsDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		setHome(t, south, "SouthServer/")
		stay := fleetOfTwoMasters(t, Options{}, north, south)
		anywhere := fleetOfTwoMasters(t, Options{FreeIdentityAnywhere: true}, north, south)
		for _, a := range slices.Concat(stay, anywhere[:1]) { // the others were never issued a value of the home
			mustIdentity(t, a)
		}
		stands := south.Client(t).HGetAll(t.Context(), "{Raven}/Identities/companies").Val()
		south.Kill()
		asked := false
		taken := func(context.Context, string) (bool, error) { asked = true; return false, nil }
		for _, a := range stay {
			if n, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrUnavailable) {
				t.Errorf("got %d, %v, want ErrUnavailable", n, err)
			}
			if n, tries, err := a.NextFreeIdentity(t.Context(), "companies", taken); !errors.Is(err, ErrUnavailable) || tries != 0 || asked {
				t.Errorf("got %d after %d tries, %v, want ErrUnavailable without a try", n, tries, err)
			}
		}
		var found []int64
		for _, a := range anywhere[:2] {
			n, _, err := a.NextFreeIdentity(t.Context(), "companies", takenBy(t, "1..4"))
			if err != nil {
				t.Error(err)
			}
			found = append(found, n)
		}
		if !slices.Equal(found, []int64{5, 6}) {
			t.Errorf("with FreeIdentityAnywhere: got %d, want %v", found, []int64{5, 6})
		}

		south.Restart()
		setHome(t, south, "SouthServer/")
		south.Client(t).HSet(t.Context(), "{Raven}/Identities/companies", "Value", stands["Value"])
		if n := mustIdentity(t, mustNew(t, redistest.NewClient(t, south), Options{})); n != found[0] {
			t.Errorf("the home is back: got %d, want %v, as the search anywhere is for one writer", n, found[0])
		}
	})
}

func TestNextIdentityNamesTheHomeThatIsDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		setHome(t, north, "NorthServer/")
		a := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: redistest.NewClient(t, south)})
		mustIdentity(t, a)
		north.Kill()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{t.Context(), ended} {
			_, err := a.NextIdentity(ctx, "companies")
			const want = "north is the home of identities, by field Identities of its key {Raven}/ServerPrefixForHilo"
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want ErrUnavailable with %q", err, want)
			}
		}
	})
}
