package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// master starts a server with settings and saves them, as an operator would.
func master(t *testing.T, b redistest.Binary, settings prefix.Server, args ...string) *redistest.Server {
	t.Helper()
	s := redistest.Start(t, b, args...)
	operator, err := admin.New(redistest.NewClient(t, s), admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.SetServerPrefix(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	save(t, s)
	return s
}

func TestTwoMastersKilledInTurnRepeatNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			north := master(t, b, prefix.Server{ServerPrefix: "NorthServer/"}, "--appendonly", "yes")
			killInTurn(t, f, north, master(t, b, prefix.Server{ServerPrefix: "SouthServer/"}))
		})
	})
}

// Two masters issue plain numbers, each from an interval of its own.
func TestTwoMastersWithIntervalsKilledInTurnRepeatNoNumber(t *testing.T) {
	t.Parallel()
	const southFrom = 1_000_000_000_001
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		holds(t, func(t *testing.T, f *fleet) {
			north := master(t, b, prefix.Server{MaxValue: southFrom - 1}, "--appendonly", "yes")
			killInTurn(t, f, north, master(t, b, prefix.Server{MinValue: southFrom}))
		})
	})
}

// killInTurn kills two masters in turn and restarts them, never both at once, and does the same with the workers. north has an
// AOF. south loses what it did not save, which is some seconds of writes. While one master is up no worker gets an error.
func killInTurn(t *testing.T, f *fleet, north, south *redistest.Server) {
	t.Helper()
	const workers, round = 8, 1200 * time.Millisecond
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
}
