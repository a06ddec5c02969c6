package allocator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// late is a fake server with delays. It describes itself after there, and sends every reply after trip, as it was when the
// request was served.
type late struct {
	fakeServer
	there, trip time.Duration
}

func (l *late) set(trip time.Duration, adds string) {
	l.fakeServer.set(func() { l.trip, l.adds = trip, adds })
}

func (l *late) wait() {
	l.mu.Lock()
	trip := l.trip
	l.mu.Unlock()
	<-time.After(trip)
}

func (l *late) Describe(ctx context.Context, key string, how fleet.How) (scripts.Description, error) {
	l.mu.Lock()
	there := l.there
	l.mu.Unlock()
	<-time.After(there)
	desc, err := l.fakeServer.Describe(ctx, key, how)
	l.wait()
	return desc, err
}

func (l *late) Next(ctx context.Context, keys scripts.Keys, r scripts.NextRequest) (scripts.Range, error) {
	got, err := l.fakeServer.Next(ctx, keys, r)
	l.wait()
	return got, err
}

// lateMasters returns two fake masters and an allocator of them with a minimal stock, for use in a synctest bubble.
func lateMasters(t *testing.T) (a *Allocator, north, south *late) {
	t.Helper()
	north, south = &late{fakeServer: fakeServer{adds: "N/", origin: "n"}}, &late{fakeServer: fakeServer{adds: "S/", origin: "s"}}
	a = newFakeAllocator(t, Options{Runway: time.Nanosecond, MaxCapacity: 32}, north, south)
	return a, north, south
}

// nextOf takes identifiers until one is of that server or an error occurs.
func nextOf(t *testing.T, a *Allocator, adds string) error {
	t.Helper()
	for range 1000 {
		id, err := a.Next(t.Context(), "orders")
		if err != nil || strings.HasPrefix(id, "orders/"+adds) {
			return err
		}
	}
	t.Fatalf("got no identifier of %s, want one; servers: %+v", adds, a.Stats().Servers)
	return nil
}

// A health check that started before the home moved may finish after the check that found the new home.
func TestCheckIgnoresAnOlderReplyAboutTheHome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		north.trip, south.trip, south.home = time.Second, time.Second, true
		var older sync.WaitGroup
		older.Go(func() { _ = a.Check(t.Context()) })
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.home, north.trip, south.home, south.trip = true, 0, false, 0
		_ = a.Check(t.Context())
		older.Wait()
		if servers := a.Stats().Servers; !servers[0].Settings.Identities || servers[1].Settings.Identities {
			t.Errorf("got home at north %v, at south %v, want north", servers[0].Settings.Identities, servers[1].Settings.Identities)
		}
	})
}

// An older reply does not hide the new prefix of a server that then hangs while another server gets the same prefix.
func TestCheckIgnoresAnOlderReplyAboutThePrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		if err := nextOf(t, a, "N/"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // south is known
		north.set(time.Second, "N/")
		var older sync.WaitGroup
		older.Go(func() { _ = a.Check(t.Context()) })
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.set(0, "X/")
		if err := nextOf(t, a, "X/"); err != nil {
			t.Error(err)
		}
		older.Wait()
		north.fakeServer.set(func() { north.hangs = true })
		south.set(0, "X/")
		var err error
		for range 100 { // what is in hand, and then nothing
			var id string
			if id, err = a.Next(t.Context(), "orders"); strings.HasPrefix(id, "orders/X/") && len(id) == len("orders/X/1") {
				t.Fatalf("got %s of south, want none, because north may issue it too", id)
			}
		}
		if !errors.Is(err, ErrPrefixConflict) {
			t.Error(err)
		}
	})
}

// The range itself is the older reply. The client learns the new prefix while the range is in flight.
func TestNextDiscardsARangeWithAnOlderPrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, _ := lateMasters(t)
		if err := nextOf(t, a, "N/"); err != nil {
			t.Error(err)
		}
		north.set(time.Second, "N/")
		var older sync.WaitGroup
		older.Go(func() {
			if id, err := a.Next(t.Context(), "users"); err != nil || id != "users/S/1" {
				t.Errorf("got %s, %v, want <nil>, users/S/1", id, err)
			}
		})
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.set(0, "W/")
		_ = a.Check(t.Context())
		older.Wait()
	})
}

// A server gets the prefix of another by mistake, and its range arrives after both were corrected.
func TestNextDiscardsALateRangeOfAPastConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		if err := nextOf(t, a, "N/"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // south is known
		north.fakeServer.set(func() { north.refuses = errHung })
		south.set(time.Second, "N/")
		var older sync.WaitGroup
		older.Go(func() {
			if id, err := a.Next(t.Context(), "users"); !errors.Is(err, ErrUnavailable) {
				t.Errorf("got %s, %v, want ErrUnavailable, because north issues it", id, err)
			}
		})
		synctest.Wait()
		<-time.After(time.Millisecond)
		south.set(0, "S/")
		north.fakeServer.set(func() { north.refuses, north.adds = nil, "W/" })
		older.Wait()
		if err := nextOf(t, a, "W/"); err != nil {
			t.Error(err)
		}
	})
}

// A server that was down at the start reports its prefix for the first time after the other one got the same prefix, hung, and
// went into back-off.
func TestNextComparesAServerInBackoffBeforeVerifyingAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		south.hangs = true
		if err := nextOf(t, a, "N/"); err != nil {
			t.Error(err)
		}
		<-time.After(time.Second)
		south.fakeServer.set(func() { south.hangs, south.adds = false, "X/" })
		north.fakeServer.set(func() { north.hangs = true })
		time.AfterFunc(a.opts.RefillTimeout+time.Millisecond, func() {
			north.fakeServer.set(func() { north.hangs, north.adds = false, "X/" })
		})
		south.set(10*time.Millisecond, "X/")
		if id, err := a.Next(t.Context(), "users"); !errors.Is(err, ErrPrefixConflict) {
			t.Errorf("got %s, %v, want ErrPrefixConflict, because north may issue it too", id, err)
		}
	})
}

// A check of all servers finds that a conflict is over once the other server replies. It must not verify the prefix of a range
// that was issued earlier and arrives late.
func TestCheckVerifiesNoPrefixReportedBeforeTheOthersReplied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		if err := nextOf(t, a, "N/"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // both are verified
		north.set(1500*time.Millisecond, "S/")
		var older sync.WaitGroup
		older.Go(func() {
			if id, err := a.Next(t.Context(), "users"); strings.HasPrefix(id, "users/S/") {
				t.Errorf("got %s, %v, want none with S/, because south may issue it too", id, err)
			}
		})
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.set(0, "S/")
		if id, err := a.Next(t.Context(), "third"); id != "third/S/1" || a.Stats().Servers[0].Up {
			t.Errorf("got %s, %v, want third/S/1 and north down", id, err)
		}
		south.fakeServer.set(func() { south.there = 500 * time.Millisecond })
		go func() { _ = a.Check(t.Context()) }()
		<-time.After(100 * time.Millisecond)
		north.set(0, "W/")
		<-time.After(100 * time.Millisecond)
		south.set(0, "Z/")
		older.Wait()
	})
}

// Two servers with one prefix recover after the first attempt at both. Whichever is tried first, the other one is contacted
// too, although it is in back-off and never replied.
func TestNextComparesServersThatRecoverTogether(t *testing.T) {
	t.Parallel()
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			a, north, south := lateMasters(t)
			both := func(refuses error) {
				north.fakeServer.set(func() { north.refuses = refuses })
				south.fakeServer.set(func() { south.refuses, south.adds = refuses, "N/" })
			}
			both(errHung)
			time.AfterFunc(20*time.Millisecond, func() { both(nil) })
			for a.fleet.Now() < 2*time.Second {
				if id, err := a.Next(t.Context(), "orders"); err == nil || a.fleet.Now() > time.Second && !errors.Is(err, ErrPrefixConflict) {
					t.Fatalf("got %s, %v, want ErrPrefixConflict, because both issue it", id, err)
				}
				<-time.After(time.Millisecond)
			}
		})
	}
}

// The prefix of a server changes while a pipeline of ranges with the old prefix is in flight. The client has seen the new
// prefix, so it need not contact the other server.
func TestWarmDiscardsLateRangesWithoutFurtherRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		if err := nextOf(t, a, "N/"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		north.set(time.Second, "N/")
		var warm sync.WaitGroup
		warm.Go(func() {
			if err := a.Warm(t.Context(), manyNames(100)...); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.set(0, "W/")
		_ = a.Check(t.Context())
		before := south.descriptions()
		warm.Wait()
		if asked := south.descriptions() - before; asked > 2 {
			t.Errorf("got %d descriptions of south, want at most 2", asked)
		}
	})
}

// Another server hangs. The search for the home continues after its caller cancels, so that the next caller finds the result.
func TestHomeSearchContinuesAfterItsCallerCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		north.hangs, south.home = true, true
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := a.fleet.Home(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		if asked := south.descriptions(); asked != 1 {
			t.Errorf("got %d searches, want 1", asked)
		}
		<-time.After(a.opts.RefillTimeout)
		if home, err := a.fleet.Home(t.Context()); err != nil || home.Name != "south" {
			t.Errorf("got %v, %v, want <nil>, south", home, err)
		}
	})
}

// A search that Close cancels reports ErrClosed, not a missing home.
func TestHomeSearchEndsWithErrClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		north.hangs, south.hangs = true, true
		time.AfterFunc(time.Millisecond, func() { _ = a.Close(context.Background()) })
		if _, err := a.fleet.Home(t.Context()); !errors.Is(err, ErrClosed) || a.fleet.Now() != time.Millisecond {
			t.Errorf("got %v after %v, want ErrClosed, %v", err, a.fleet.Now(), time.Millisecond)
		}
		if _, err := a.fleet.Home(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// A client may ignore the context, but the caller returns in time. The error does not claim that there is no home.
func TestNextIdentityEndsWithItsContextDuringTheHomeSearch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		north.trip, south.trip = time.Second, time.Second
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := a.NextIdentity(ctx, "companies")
		if took := time.Since(start); took != time.Millisecond {
			t.Errorf("got an answer after %v, want %v", took, time.Millisecond)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrIdentitiesElsewhere) {
			t.Error(err)
		}
		<-time.After(time.Second)
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrIdentitiesElsewhere) {
			t.Error(err)
		}
	})
}
