package allocator

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNewMultiSurvivesTheLossOfEitherServer(t *testing.T) {
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
					t.Fatalf("got %s twice, want distinct identifiers", id)
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
			t.Errorf("got no identifier of %s, want one; servers: %+v", which, a.Stats().Servers)
		}
		if id := take(1); id != "orders/NorthServer/1" {
			t.Errorf("got %s first, want orders/NorthServer/1", id)
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

// A server that was emptied, or that restarts empty, has no prefix. The other server serves until the prefix is set again.
func TestNewMultiAvoidsAServerThatLostItsPrefix(t *testing.T) {
	t.Parallel()
	lose := func(t *testing.T, s *redistest.Server) {
		t.Helper()
		if n, err := s.Client(t).Del(t.Context(), "{Raven}/ServerPrefixForHilo").Result(); n != 1 || err != nil {
			t.Fatalf("got %d keys deleted, %v, want 1", n, err)
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
						t.Fatalf("got %s, want a prefix", id)
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
					t.Errorf("server-side: got %q, %v, want one of south", id, err)
				}
				if _, err := a.NextIdentity(t.Context(), "companies"); err != nil { // which takes no prefix, and proves none
					t.Error(err)
				}
				if st := a.Stats(); st.Servers[0].Up || !st.Servers[1].Up || st.Collections[0].Failures != 0 {
					t.Errorf("got %+v, want north down, south up, and no failed refill", st)
				}
				if logs.FilterMessageSnippet("out of use for its settings").Len() == 0 {
					t.Errorf("got the log %v, want a line about the prefix", logs.All())
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

// One of several servers that never had a prefix is out of use, and the others serve.
func TestNewMultiAvoidsAPreferredServerThatNeverHadAPrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		setPrefix(t, north, "")
		log, logs := observed()
		a := mustMulti(t, Options{RefillTimeout: time.Minute, Logger: log}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		if id, err := a.Next(t.Context(), "orders"); id != "orders/SouthServer/1" || err != nil {
			t.Errorf("got %q, %v, want the first one of south", id, err)
		}
		if err := a.Stats().Servers[0].Err; !errors.Is(err, ErrPrefixMissing) || Retryable(err) {
			t.Errorf("got %v, want ErrPrefixMissing, not retryable", err)
		}
		if logs.FilterLevelExact(zapcore.ErrorLevel).FilterMessageSnippet("out of use").Len() != 1 {
			t.Errorf("got the log %v, want one error", logs.All())
		}
		both := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)})
		setPrefix(t, south, "")
		if id, err := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)}).
			Next(t.Context(), "orders"); !errors.Is(err, ErrPrefixMissing) {
			t.Errorf("without any prefix: got %q, %v, want ErrPrefixMissing", id, err)
		}
		if id, err := both.Next(t.Context(), "orders"); id != "orders/1" || err != nil {
			t.Errorf("a single server: got %q, %v, want orders/1", id, err)
		}
	})
}

// The other server serves until the prefix is corrected.
func TestNewMultiAvoidsAServerThatGetsThePrefixOfAnother(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{MaxCapacity: 32, Runway: time.Nanosecond, RefillTimeout: time.Minute},
			Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		if _, err := a.Resolve(t.Context(), "orders/"); err != nil { // of north
			t.Fatal(err)
		}
		verifyAll(t, a)
		setPrefix(t, north, "SouthServer/")
		for range 100 {
			if id, err := a.Next(t.Context(), "orders"); err != nil || !strings.HasPrefix(id, "orders/SouthServer/") {
				t.Fatalf("got %q, %v, want one of south", id, err)
			}
		}
		if north := a.Stats().Servers[0]; north.Up || !errors.Is(north.Err, ErrPrefixConflict) {
			t.Errorf("got %+v, want north down with ErrPrefixConflict", north)
		}
		if max := mustCounter(t, south, "orders"); max.Ranges < 2 {
			t.Errorf("south: got %+v, want 2 ranges or more", max)
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

func mustCounter(t *testing.T, s *redistest.Server, name string) admin.Counter {
	t.Helper()
	counter, err := mustAdmin(t, s).Counter(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return counter
}

func TestNewMultiIsUnavailableWithAllServersDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		north.Kill()
		south.Kill()
		_, err := a.Next(t.Context(), "orders")
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "north") || !strings.Contains(err.Error(), "south") {
			t.Errorf(`it does not name both: got %v, want ErrUnavailable, text with "north", text with "south"`, err)
		}
		for i, server := range a.Stats().Servers {
			if server.Up || server.Failures != 1 || server.Err == nil || server.Name != []string{"north", "south"}[i] {
				t.Errorf("got %+v, want server %d down after one failure", server, i+1)
			}
		}
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("identity: got %v, want ErrUnavailable", err)
		}
	})
}

// fakeMasters returns two fake masters and an allocator of them with a minimal stock, for use in a synctest bubble.
func fakeMasters(t *testing.T) (a *Allocator, north, south *fakeServer) {
	t.Helper()
	north, south = &fakeServer{adds: "N/", origin: "n"}, &fakeServer{adds: "S/", origin: "s"}
	a = newFakeAllocator(t, Options{Runway: time.Nanosecond, MaxCapacity: 32}, north, south)
	return a, north, south
}

// A server that hangs is avoided after one refill, probed with growing delays, and preferred again after its recovery.
func TestNewMultiAvoidsAHungServerUntilItRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := fakeMasters(t)
		c := mustCollection(t, a, "orders")
		north.set(func() { north.hangs = true })
		start := time.Now()
		if id, err := c.Next(t.Context()); err != nil || id != "orders/S/1" || time.Since(start) != 2*a.opts.RefillTimeout { // the second time for what it says
			t.Errorf("got %s, %v after %v, want <nil>, orders/S/1, %v", id, err, time.Since(start), 2*a.opts.RefillTimeout)
		}
		var tokens [2]string
		north.set(func() { tokens[0] = north.requests[0].Token })
		south.set(func() { tokens[1] = south.requests[0].Token })
		if tokens[0] == tokens[1] {
			t.Errorf("got the token %q at both servers, want two tokens", tokens[0])
		}
		for time.Since(start) < 5*time.Minute {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(100 * time.Millisecond)
		}
		if calls, probes := north.calls(), north.descriptions(); calls > 10 || probes < 20 || probes > 90 {
			t.Errorf("got %d requests and %d probes in 5 minutes, want at most 10 and 20 to 90", calls, probes)
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
		t.Error("got no identifier of north, want one")
	})
}

// A server that was down for long stays in back-off for up to half a minute. It is tried nevertheless when the other one fails.
func TestNewMultiUsesAServerInBackoffWhenTheOtherFails(t *testing.T) {
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
		for before := -1; before != north.descriptions()+north.calls(); <-time.After(a.opts.RefillTimeout) { // until none is in flight
			before = north.descriptions() + north.calls()
		}
		north.set(func() { north.hangs = false })
		south.set(func() { south.hangs = true })
		for range 1000 {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatalf("with north up: got %v, want <nil>", err)
			}
		}

		// When both are down for long, the first one to recover is found as soon as a single server would be.
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
		if took := time.Since(start); took > fleet.MaxBackoff+2*2*a.opts.RefillTimeout {
			t.Errorf("got the recovered server after %v, want it within %v", took, fleet.MaxBackoff+2*2*a.opts.RefillTimeout)
		}
	})
}

// Both servers get the same new prefix in turn, while the first is in back-off after an outage. No range of the second is used
// before the two were compared.
func TestNewMultiComparesAServerInBackoffWhenAnotherChangesItsPrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := fakeMasters(t)
		if id, err := a.Next(t.Context(), "orders"); err != nil || id != "orders/N/1" {
			t.Errorf("got %s, %v, want orders/N/1", id, err)
		}
		synctest.Wait() // south has reported S/
		north.set(func() { north.hangs = true })
		for a.Stats().Servers[0].RetryIn < 20*time.Second {
			_, _ = a.Next(t.Context(), "orders")
			<-time.After(20 * time.Millisecond)
		}
		north.set(func() { north.hangs, north.adds = false, "X/" })
		south.set(func() { south.adds = "X/" })
		if a.Stats().Servers[0].RetryIn == 0 {
			t.Error("got no back-off of north, want one")
		}
		var err error
		for range 10_000 { // what is in hand, and then nothing
			var id string
			if id, err = a.Next(t.Context(), "orders"); strings.Contains(id, "X/") {
				t.Fatalf("got %s, want none with X/, because north may issue it too", id)
			}
		}
		if !errors.Is(err, ErrPrefixConflict) {
			t.Error(err)
		}
	})
}
