package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// master starts a server with a prefix, and with persistence as an operator would have it.
func master(t *testing.T, b redistest.Binary, text string, args ...string) *redistest.Server {
	t.Helper()
	s := redistest.Start(t, b, args...)
	operator, err := admin.New(redistest.NewClient(t, s), admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: text}); err != nil {
		t.Fatal(err)
	}
	save(t, s)
	return s
}

// Two masters are killed and started in turn, never both at once, and so are the workers. One master has an AOF; the other
// loses what it did not save, which is some seconds. While one is up no worker gets an error.
func TestTwoMastersAreKilledInTurnAndSoAreTheirWorkers(t *testing.T) {
	t.Parallel()
	const workers, round = 8, 1200 * time.Millisecond
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			north := master(t, b, "NorthServer/", "--appendonly", "yes")
			south := master(t, b, "SouthServer/")
			first, second := at(north), at(south)
			first.Name, second.Name = "north", "south"
			jobs := []job{steady(first, second), steady(second, first)}
			for i := range workers {
				f.start(1, jobs[i%2])
			}
			f.awaitEach(100)
			masters := []*redistest.Server{north, south}
			killed := 0
			for began := time.Now(); f.goesOn(began, 12*time.Second); killed++ {
				s := masters[killed%2]
				s.Kill()
				f.running()[rand.IntN(workers)].kill()
				pass(round / 2)
				s.Restart()
				f.start(1, jobs[rand.IntN(2)])
				pass(round)
				save(t, south)
			}
			f.awaitEach(100)
			if !f.bare {
				for _, w := range f.workers {
					w.read()
					if len(w.errors) > 0 {
						t.Errorf("%s: %d errors, the last: %s", w.name, len(w.errors), w.lastError())
					}
				}
			}
			t.Logf("masters killed %d times, workers as often", killed)
		})
	})
}
