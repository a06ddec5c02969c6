package allocator

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// opposite returns two workers, each of which prefers another master, and which request ranges all the time.
func opposite(t *testing.T, north, south *redistest.Server) []*Allocator {
	t.Helper()
	return fleetOfTwoMasters(t, Options{MaxCapacity: 32, Runway: time.Nanosecond, RefillTimeout: time.Minute}, north, south)[:2]
}

// Each of two workers is served by the server that it prefers and never needs the other one. Only by contacting both does it
// detect that their identifiers would be equal.
func TestNewMultiRefusesEqualPrefixesInEitherOrder(t *testing.T) {
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
									t.Errorf("got %s, %v, want ErrPrefixConflict", id, err)
								}
								if id, err := a.Resolve(t.Context(), "orders/"); !errors.Is(err, ErrPrefixConflict) {
									t.Errorf("server-side: got %s, %v, want ErrPrefixConflict", id, err)
								}
							}
						})
					}
				}
				wg.Wait()

				setPrefix(t, south, "SouthServer/")
				issued := issuedTexts{}
				for _, a := range workers {
					issued.next(t, a)
				}
			})
		})
	}
}

// While both workers run, one server gets the prefix of the other. No range with that prefix is used, and both workers continue
// at the server whose prefix it was first.
func TestNewMultiNeverUsesAPrefixThatBecomesAnotherServers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		workers := opposite(t, north, south)
		issued := issuedTexts{}
		round := func() {
			t.Helper()
			for _, a := range workers {
				issued.next(t, a)
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
			t.Fatalf("got 20,000 rounds, want that %s", what)
		}
		for _, a := range workers {
			verifyAll(t, a)
		}
		setPrefix(t, north, "southserver/")
		until("the master that was changed is down", func() bool {
			return errors.Is(workers[0].Stats().Servers[0].Err, ErrPrefixConflict)
		})
		for range 1000 {
			round()
		}
		for id := range issued {
			if !strings.HasPrefix(id, "orders/NorthServer/") && !strings.HasPrefix(id, "orders/SouthServer/") {
				t.Fatalf("got %s, want one of north or south", id)
			}
		}
		if st := workers[1].Stats().Servers[0]; !st.Up {
			t.Errorf("got %+v, want it up for the worker that prefers it", st)
		}
	})
}

func TestCollectionSpellingsEqualWithoutCaseShareNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		for _, spellings := range [][]string{
			{"ΠΕΛΆΤΗΣ", "πελάτης", "πελάτησ", "Πελάτης"},
			{"orders", "Orders", "ORDERS", "orderſ"},
			{"seite", "\u017Feite", "Seite"},
		} {
			for i, name := range spellings {
				if !strings.EqualFold(name, spellings[0]) {
					t.Fatalf("got the spelling %s, want one of %s", name, spellings[0])
				}
				a := mustNew(t, client, Options{})
				if n := mustNumber(t, a, name); n != int64(i+1) {
					t.Errorf("%s: got %d, want %d", name, n, i+1)
				}
				mustClose(t, a) // returns what it did not use
			}
		}
		if keys := client.Keys(t.Context(), "{Raven}/HiLo/*").Val(); len(keys) != 3 {
			t.Errorf("got counters %q, want 3", keys)
		}
		client.FlushAll(t.Context())
		s.Initialize("Raven")
		for i, name := range []string{"ΠΕΛΆΤΗΣ", "πελάτης", "πελάτησ"} {
			if n, err := mustNew(t, client, Options{}).NextIdentity(t.Context(), name); n != int64(i+1) || err != nil {
				t.Errorf("identity %s: got %d, %v, want %v, <nil>", name, n, err, int64(i+1))
			}
		}
	})
}

// The server is flushed again and again while many callers request identities concurrently.
func TestNextIdentityNeverRepeatsAcrossFlushes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a, client := patient(t, s), redistest.NewClient(t, s)
		const callers, each, flushes = 16, 100, 20
		var numbers []int64
		mustIdentity(t, a) // only a client that was issued a value can detect a loss
		done := make(chan struct{})
		go func() {
			defer close(done)
			numbers = runConcurrently(t, callers, each, func(g int) (int64, error) {
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
			s.Initialize("Raven")
		}
		<-done
		wantDistinct(t, numbers)
		if jumps := a.Stats().Servers[0].Jumps[EvidenceMissing]; jumps == 0 {
			t.Error("got no jump, want some, or the test proves nothing")
		}
	})
}

func identityRequests(a *Allocator) int64 { return a.Stats().Servers[0].Identities.Took.Count }
