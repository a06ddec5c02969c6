package allocator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestOneOfTwoMastersMayBeLostAtAnyTime(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{MaxCapacity: 32, Runway: time.Nanosecond},
			Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		seen := map[string]bool{}
		take := func(n int) (last string) {
			t.Helper()
			for range n {
				id, err := a.Next(t.Context(), "orders")
				if err != nil {
					t.Fatal(err)
				}
				if seen[id] {
					t.Fatalf("%s was given twice", id)
				}
				seen[id] = true
				last = id
			}
			return last
		}
		wants := func(which string) {
			t.Helper()
			for range 2000 {
				if strings.Contains(take(1), which) {
					return
				}
			}
			t.Errorf("no identifier of %s: %+v", which, a.Stats().Servers)
		}
		if id := take(1); id != "orders/NorthServer/1" {
			t.Errorf("the first is %s", id)
		}
		north.Kill()
		wants("SouthServer")
		north.Restart() // empty
		setPrefix(t, north, "NorthServer/")
		for a.Stats().Servers[0].RetryIn > 0 {
			<-time.After(time.Millisecond)
		}
		wants("NorthServer")
		south.Kill()
		take(500)
		if err := a.Close(t.Context()); err != nil && !strings.Contains(err.Error(), "orders on south") {
			t.Error(err)
		}
	})
}

// A master that was emptied, or that comes back empty, has no prefix. No identifier is made with it, and the other one
// serves, until it has its prefix again.
func TestAMasterWithoutItsPrefixIsLeftForTheOther(t *testing.T) {
	t.Parallel()
	lose := func(t *testing.T, s *redistest.Server) {
		t.Helper()
		if n, err := s.Client(t).Del(t.Context(), "{Raven}/ServerPrefixForHilo").Result(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	tests := []struct {
		name          string
		before, after func(t *testing.T, north *redistest.Server) // the first identifier
	}{
		{"the preferred one, which gave all so far", nil, lose},
		{"the preferred one, that was away", func(_ *testing.T, north *redistest.Server) {
			north.Kill()
		}, func(_ *testing.T, north *redistest.Server) { north.Restart() }}, // empty
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
				north, south := masters(t, s)
				setHome(t, south, "SouthServer/")
				log, logs := observed()
				a := mustMulti(t, Options{MaxCapacity: 32, Runway: time.Nanosecond, RefillTimeout: time.Minute, Logger: log},
					Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
				if test.before != nil {
					test.before(t, north)
				}
				next := func() string {
					t.Helper()
					id, err := a.Next(t.Context(), "orders")
					if err != nil {
						t.Fatal(err)
					}
					if !strings.HasPrefix(id, "orders/NorthServer/") && !strings.HasPrefix(id, "orders/SouthServer/") {
						t.Fatalf("%s has no prefix", id)
					}
					return id
				}
				next()
				test.after(t, north)
				for !errors.Is(a.Stats().Servers[0].Err, ErrPrefixMissing) {
					next()
				}
				for range 200 {
					next()
				}
				if id, err := a.Resolve(t.Context(), "orders/"); err != nil || !strings.HasPrefix(id, "orders/SouthServer/") {
					t.Errorf("server-side: %q, %v", id, err)
				}
				if _, err := a.NextIdentity(t.Context(), "companies"); err != nil { // which takes no prefix, and proves none
					t.Error(err)
				}
				if st := a.Stats(); st.Servers[0].Up || !st.Servers[1].Up || st.Collections[0].Failures != 0 {
					t.Errorf("%+v", st)
				}
				if logs.FilterMessageSnippet("left for its prefix").Len() == 0 {
					t.Errorf("logged %v", logs.All())
				}
				setPrefix(t, north, "NorthServer/")
				for a.Stats().Servers[0].RetryIn > 0 {
					<-time.After(time.Millisecond)
				}
				for !strings.HasPrefix(next(), "orders/NorthServer/") {
				}
			})
		})
	}
}

// Settings that were never right are told at once, and as long as they are not.
func TestAPreferredMasterThatNeverHadAPrefixIsAnError(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		setPrefix(t, north, "")
		a := mustMulti(t, Options{RefillTimeout: time.Minute}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		for range 3 {
			if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrPrefixMissing) || !strings.Contains(err.Error(), "north") {
				t.Errorf("%q, %v", id, err)
			}
		}
		setPrefix(t, north, "NorthServer/")
		if id, err := a.Next(t.Context(), "orders"); err != nil || !strings.HasPrefix(id, "orders/NorthServer/") {
			t.Errorf("%q, %v", id, err)
		}
	})
}

// One that is given the other's prefix is left for it, until it is set right.
func TestAMasterThatIsGivenTheOthersPrefixIsLeftForIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{MaxCapacity: 32, Runway: time.Nanosecond, RefillTimeout: time.Minute},
			Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		if _, err := a.Resolve(t.Context(), "orders/"); err != nil { // of north
			t.Fatal(err)
		}
		for !a.servers[1].word().accepted { // both are known
			<-time.After(time.Millisecond)
		}
		setPrefix(t, north, "SouthServer/")
		for range 100 {
			if id, err := a.Next(t.Context(), "orders"); err != nil || !strings.HasPrefix(id, "orders/SouthServer/") {
				t.Fatalf("%q, %v", id, err)
			}
		}
		if north := a.Stats().Servers[0]; north.Up || !errors.Is(north.Err, ErrPrefixConflict) {
			t.Errorf("%+v", north)
		}
		if max := mustCounter(t, south, "orders"); max.Ranges < 2 {
			t.Errorf("south gave %+v", max)
		}
		setPrefix(t, north, "WestServer/")
		for id := ""; !strings.HasPrefix(id, "orders/WestServer/"); {
			var err error
			if id, err = a.Next(t.Context(), "orders"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func mustCounter(t *testing.T, s *redistest.Server, name string) Counter {
	t.Helper()
	counter, err := mustAdmin(t, s, "").Counter(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return counter
}

func TestWithAllMastersDownItIsUnavailable(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		north.Kill()
		south.Kill()
		_, err := a.Next(t.Context(), "orders")
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "north") || !strings.Contains(err.Error(), "south") {
			t.Errorf("it does not name both: %v", err)
		}
		for i, server := range a.Stats().Servers {
			if server.Up || server.Failures != 1 || server.Err == nil || server.Name != []string{"north", "south"}[i] {
				t.Errorf("%+v", server)
			}
		}
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("identity: %v", err)
		}
	})
}

// fakeMasters are two for a bubble, and an allocator that holds next to nothing ahead.
func fakeMasters(t *testing.T) (a *Allocator, north, south *fakeServer) {
	t.Helper()
	opts, err := Options{Runway: time.Nanosecond, MaxCapacity: 32}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	north, south = &fakeServer{adds: "N/", origin: "n"}, &fakeServer{adds: "S/", origin: "s"}
	a = newAllocator(opts,
		&server{name: "north", backend: north, namespace: "Raven", longest: longestBackoffOfMany},
		&server{name: "south", backend: south, namespace: "Raven", longest: longestBackoffOfMany})
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a, north, south
}

// In a bubble, where time is exact: a master that hangs is left within one
// refill, asked again ever more seldom, and preferred again when it is back.
func TestAMasterThatHangsIsLeftAndComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := fakeMasters(t)
		c := mustCollection(t, a, "orders")
		north.set(func() { north.hangs = true })
		start := time.Now()
		if id, err := c.Next(t.Context()); err != nil || id != "orders/S/1" || time.Since(start) != 2*a.opts.RefillTimeout { // the second time for what it says
			t.Errorf("%s, %v after %v", id, err, time.Since(start))
		}
		var tokens [2]string
		north.set(func() { tokens[0] = north.requests[0].Token })
		south.set(func() { tokens[1] = south.requests[0].Token })
		if tokens[0] == tokens[1] {
			t.Errorf("the other one is asked with the same token %q", tokens[0])
		}
		for time.Since(start) < 5*time.Minute {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(100 * time.Millisecond)
		}
		if calls := north.calls(); calls < 10 || calls > 30 {
			t.Errorf("the one that hangs was asked %d times in 5 minutes", calls)
		}
		north.set(func() { north.hangs = false })
		for range 1000 {
			id, err := c.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(id, "orders/N/") {
				return
			}
			<-time.After(100 * time.Millisecond)
		}
		t.Error("it was not preferred again")
	})
}

// A master that has been away for long is left alone for up to half a minute. It
// is asked nevertheless when the other one goes away too.
func TestOneMasterUpIsEnoughHoweverLongItWasAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := fakeMasters(t)
		c := mustCollection(t, a, "orders")
		north.set(func() { north.hangs = true })
		for start := time.Now(); time.Since(start) < 5*time.Minute || a.Stats().Servers[0].RetryIn < 10*time.Second; {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(100 * time.Millisecond)
		}
		<-time.After(a.opts.RefillTimeout) // an attempt that was under way is over
		north.set(func() { north.hangs = false })
		south.set(func() { south.hangs = true })
		for range 1000 {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatalf("north is up: %v", err)
			}
		}

		// With both away for long, the first that is back is found as soon as that of one server.
		north.set(func() { north.hangs = true })
		for start := time.Now(); time.Since(start) < 5*time.Minute; {
			_, _ = c.Next(t.Context())
		}
		south.set(func() { south.hangs = false })
		start := time.Now()
		for {
			if _, err := c.Next(t.Context()); err == nil {
				break
			}
		}
		if took := time.Since(start); took > longestBackoff+2*2*a.opts.RefillTimeout {
			t.Errorf("it took %v to find the one that is back", took)
		}
	})
}

// Both get one prefix, one after the other, while this program leaves the first alone after an outage: whoever takes from
// that one has compared it with what the other was before.
func TestAMasterThatIsLeftIsAskedWhenAnotherChangesItsPrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := fakeMasters(t)
		if id, err := a.Next(t.Context(), "orders"); err != nil || id != "orders/N/1" {
			t.Error(id, err)
		}
		synctest.Wait() // south has said S/
		north.set(func() { north.hangs = true })
		for a.Stats().Servers[0].RetryIn < 20*time.Second {
			_, _ = a.Next(t.Context(), "orders")
			<-time.After(time.Millisecond)
		}
		north.set(func() { north.hangs, north.adds = false, "X/" })
		south.set(func() { south.adds = "X/" })
		if a.Stats().Servers[0].RetryIn == 0 {
			t.Error("north is not left any more")
		}
		var err error
		for range 10_000 { // what is in hand, and then nothing
			var id string
			if id, err = a.Next(t.Context(), "orders"); strings.Contains(id, "X/") {
				t.Fatalf("%s may be north's too", id)
			}
		}
		if !errors.Is(err, ErrPrefixConflict) {
			t.Error(err)
		}
	})
}
