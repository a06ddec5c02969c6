package allocator

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// opposite is two workers, each of which prefers another master, and asks for ranges all the time.
func opposite(t *testing.T, north, south *redistest.Server) []*Allocator {
	t.Helper()
	return fleetOfTwoMasters(t, Options{MaxCapacity: 32, Runway: time.Nanosecond, RefillTimeout: time.Minute}, north, south)[:2]
}

// Each of two workers is served by the master that it prefers, and never needs the other: so it is by asking both that
// they learn that their identifiers would be the same.
func TestWorkersInOppositeOrderOnMastersWithEqualPrefixesGetNothing(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"NorthServer/", "NORTHSERVER/"} {
		t.Run(other, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				north, south := masters(t, s)
				setPrefix(t, south, other)
				var wg sync.WaitGroup
				workers := opposite(t, north, south)
				for _, a := range workers {
					for range 8 {
						wg.Go(func() {
							for range 5 {
								if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrPrefixConflict) {
									t.Errorf("%s, %v", id, err)
								}
								if id, err := a.Resolve(t.Context(), "orders/"); !errors.Is(err, ErrPrefixConflict) {
									t.Errorf("server-side: %s, %v", id, err)
								}
							}
						})
					}
				}
				wg.Wait()

				setPrefix(t, south, "SouthServer/")
				given := givenTexts{}
				for _, a := range workers {
					given.next(t, a)
				}
			})
		})
	}
}

// While both workers run, one master is given the other's prefix. No range is used with it, and both go on at the other
// master, whose identifiers they are.
func TestAPrefixThatBecomesAnotherMastersIsNeverUsed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		workers := opposite(t, north, south)
		given := givenTexts{}
		round := func() {
			t.Helper()
			for _, a := range workers {
				given.next(t, a)
			}
		}
		round()
		until := func(what string, so func() bool) {
			t.Helper()
			for range 20_000 {
				if so() {
					return
				}
				round()
			}
			t.Fatal(what)
		}
		for _, a := range workers {
			until("it did not learn in the background that the other master is set right", func() bool {
				return a.servers[0].word().accepted && a.servers[1].word().accepted
			})
		}
		setPrefix(t, north, "southserver/")
		until("the one that was changed is not left", func() bool {
			return errors.Is(workers[0].Stats().Servers[0].Err, ErrPrefixConflict)
		})
		for range 1000 {
			round()
		}
		for id := range given {
			if !strings.HasPrefix(id, "orders/NorthServer/") && !strings.HasPrefix(id, "orders/SouthServer/") {
				t.Fatalf("%s was given", id)
			}
		}
		if st := workers[1].Stats().Servers[0]; !st.Up {
			t.Errorf("the one that prefers the other is disturbed: %+v", st)
		}
	})
}

// All spellings that somebody could take for the same name share their numbers.
func TestSpellingsThatAreEqualWithoutCaseShareTheirNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, spellings := range [][]string{
			{"ΠΕΛΆΤΗΣ", "πελάτης", "πελάτησ", "Πελάτης"},
			{"orders", "Orders", "ORDERS", "orderſ"},
			{"kelvin", "\u212Aelvin", "Kelvin"},
		} {
			for i, name := range spellings {
				if !strings.EqualFold(name, spellings[0]) {
					t.Fatalf("%s is not %s", name, spellings[0])
				}
				a := mustNew(t, client, Options{})
				if n := mustNumber(t, a, name); n != int64(i+1) {
					t.Errorf("%s/%d, want %d", name, n, i+1)
				}
				mustClose(t, a) // it returns what it did not use
			}
		}
		if keys := client.Keys(t.Context(), "{Raven}/HiLo/*").Val(); len(keys) != 3 {
			t.Errorf("counters %q", keys)
		}
		client.FlushAll(t.Context())
		for i, name := range []string{"ΠΕΛΆΤΗΣ", "πελάτης", "πελάτησ"} {
			if n, err := mustNew(t, client, Options{}).NextIdentity(t.Context(), name); n != int64(i+1) || err != nil {
				t.Errorf("identity %s: %d, %v", name, n, err)
			}
		}
	})
}

// The server forgets everything, again and again, while many ask for an identity side by side.
func TestIdentitiesSideBySideOutliveAFlush(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a, client := patient(t, s), s.Client(t)
		const callers, each, flushes = 16, 100, 20
		var numbers []int64
		mustIdentity(t, a) // who was given nothing does not know of a loss
		done := make(chan struct{})
		go func() {
			defer close(done)
			numbers = fleet(t, callers, each, func(g int) (int64, error) {
				if g%4 == 0 {
					r, err := a.NextIdentities(t.Context(), "Companies", 3)
					return r.High, err
				}
				return a.NextIdentity(t.Context(), "companies")
			})
		}()
		for range flushes {
			for before := identityRequests(a); identityRequests(a) < before+3 && !over(done); {
				<-time.After(100 * time.Microsecond)
			}
			client.FlushAll(t.Context())
		}
		<-done
		wantDistinct(t, numbers)
		if jumps := a.Stats().Servers[0].Jumps[EvidenceMissing]; jumps == 0 {
			t.Error("no loss was noticed: that proves nothing")
		}
	})
}

func identityRequests(a *Allocator) int64 { return a.Stats().Servers[0].Identities.Took.Count }
