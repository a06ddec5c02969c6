package allocator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// late is a fake server that is asked something after there, if that is what it says of itself, and answers it in the time
// that trip says then.
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

func (l *late) describe(ctx context.Context, key string) (scripts.Description, error) {
	l.mu.Lock()
	there := l.there
	l.mu.Unlock()
	<-time.After(there)
	said, err := l.fakeServer.describe(ctx, key)
	l.wait()
	return said, err
}

func (l *late) next(ctx context.Context, keys scripts.Keys, r scripts.NextRequest) (scripts.Range, error) {
	got, err := l.fakeServer.next(ctx, keys, r)
	l.wait()
	return got, err
}

func (l *late) nextAll(ctx context.Context, keys []scripts.Keys, requests []scripts.NextRequest) ([]scripts.Range, []error) {
	got, errs := l.fakeServer.nextAll(ctx, keys, requests)
	l.wait()
	return got, errs
}

// lateMasters are two for a bubble, and an allocator that holds next to nothing ahead.
func lateMasters(t *testing.T) (a *Allocator, north, south *late) {
	t.Helper()
	opts, err := Options{Runway: time.Nanosecond, MaxCapacity: 32}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	north, south = &late{fakeServer: fakeServer{adds: "N/", origin: "n"}}, &late{fakeServer: fakeServer{adds: "S/", origin: "s"}}
	a = newAllocator(opts,
		&server{name: "north", backend: north, namespace: "Raven", longest: longestBackoffOfMany},
		&server{name: "south", backend: south, namespace: "Raven", longest: longestBackoffOfMany})
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a, north, south
}

// nextOf takes identifiers until one is of that server, or none is given.
func nextOf(t *testing.T, a *Allocator, adds string) error {
	t.Helper()
	for range 1000 {
		id, err := a.Next(t.Context(), "orders")
		if err != nil || strings.HasPrefix(id, "orders/"+adds) {
			return err
		}
	}
	t.Fatalf("no identifier of %s: %+v", adds, a.Stats().Servers)
	return nil
}

// A stand-by's question that was asked before the home moved may be answered after the one that found the new home.
func TestAnOlderAnswerHidesNoNewHome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		north.trip, south.trip, south.home = time.Second, time.Second, true
		var older sync.WaitGroup
		older.Go(func() { a.askAll(t.Context(), a.servers) })
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.home, north.trip, south.home, south.trip = true, 0, false, 0
		a.askAll(t.Context(), a.servers)
		older.Wait()
		if home, err := a.knownHome(); err != nil || home.name != "north" {
			t.Errorf("the home is %v, %v", home, err)
		}
	})
}

// Nor does it hide the new prefix of a master that hangs when the other one is given the same.
func TestAnOlderAnswerHidesNoNewPrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		if err := nextOf(t, a, "N/"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // south is known
		north.set(time.Second, "N/")
		var older sync.WaitGroup
		older.Go(func() { a.askAll(t.Context(), a.servers) })
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
				t.Fatalf("%s is south's, and may be north's too", id)
			}
		}
		if !errors.Is(err, ErrPrefixConflict) {
			t.Error(err)
		}
	})
}

// The same where the range itself is the older answer: a program hears of the new prefix meanwhile.
func TestARangeWithAnOlderPrefixIsDiscarded(t *testing.T) {
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
				t.Errorf("%s, %v", id, err)
			}
		})
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.set(0, "W/")
		a.askAll(t.Context(), a.servers)
		older.Wait()
	})
}

// A master is given the other's prefix by mistake, and gives a range that comes late: when both were set right since.
func TestALateRangeOfAClashIsDiscarded(t *testing.T) {
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
				t.Errorf("%s, %v: it is north's", id, err)
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

// A master is away at the start, and says its prefix for the first time when the other one was given the same, hangs,
// and is left for it.
func TestAMasterThatIsLeftIsAskedBeforeAnotherIsAccepted(t *testing.T) {
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
			t.Errorf("%s, %v: it may be north's too", id, err)
		}
	})
}

// A look at all masters hears of the clash that is over when the other one's answer is there: what a range said before, and
// brings late, is not accepted for that.
func TestALookAcceptsNoWordOfBeforeTheOthersAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		if err := nextOf(t, a, "N/"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // both are accepted
		north.set(1500*time.Millisecond, "S/")
		var older sync.WaitGroup
		older.Go(func() {
			if id, err := a.Next(t.Context(), "users"); strings.HasPrefix(id, "users/S/") {
				t.Errorf("%s, %v: it may be south's too", id, err)
			}
		})
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.set(0, "S/")
		if id, err := a.Next(t.Context(), "third"); id != "third/S/1" || a.Stats().Servers[0].Up {
			t.Errorf("%s, %v: north clashes, and is left", id, err)
		}
		south.fakeServer.set(func() { south.there = 500 * time.Millisecond })
		a.standby.Reset(0)
		<-time.After(100 * time.Millisecond)
		north.set(0, "W/")
		<-time.After(100 * time.Millisecond)
		south.set(0, "Z/")
		older.Wait()
	})
}

// Two masters that have one prefix come up after the first attempt at both: whichever is tried first, the other one is asked
// too, though it is in a back-off and never said a thing.
func TestMastersThatComeUpAlikeAreComparedBeforeTheyGive(t *testing.T) {
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
			for time.Since(a.start) < 2*time.Second {
				if id, err := a.Next(t.Context(), "orders"); err == nil || time.Since(a.start) > time.Second && !errors.Is(err, ErrPrefixConflict) {
					t.Fatalf("%s, %v: both have it", id, err)
				}
				<-time.After(time.Millisecond)
			}
		})
	}
}

// The prefix of a master changes while a pipeline brings many ranges of before: that is known, and nobody has to be asked.
func TestManyLateRangesAreDiscardedUnasked(t *testing.T) {
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
		a.askAll(t.Context(), a.servers)
		before := south.questions()
		warm.Wait()
		if asked := south.questions() - before; asked > 2 {
			t.Errorf("south was asked %d times", asked)
		}
	})
}

// The search for the home goes on when a caller leaves, so that the next one knows it: another master hangs.
func TestTheHomeIsFoundForCallersWhoDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		north.hangs, south.home = true, true
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := a.home(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		if asked := south.questions(); asked != 1 {
			t.Errorf("the search of all was made %d times", asked)
		}
		<-time.After(a.opts.RefillTimeout)
		if home, err := a.home(t.Context(), 0); err != nil || home.name != "south" {
			t.Errorf("%v, %v", home, err)
		}
	})
}

// One that Close overtakes says so, and not that there is no home.
func TestASearchForTheHomeEndsWithClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		north.hangs, south.hangs = true, true
		time.AfterFunc(time.Millisecond, func() { _ = a.Close(context.Background()) })
		if _, err := a.home(t.Context(), 0); !errors.Is(err, ErrClosed) || time.Since(a.start) != time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(a.start))
		}
		if _, err := a.home(t.Context(), a.now()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// A client may not heed the ctx of a caller, whom that does not keep. Nobody has said then that there is no home.
func TestACallerLeavesWhileTheHomeIsLookedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := lateMasters(t)
		north.trip, south.trip = time.Second, time.Second
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := a.NextIdentity(ctx, "companies")
		if took := time.Since(start); took != time.Millisecond {
			t.Errorf("the caller had to stay for %v", took)
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
