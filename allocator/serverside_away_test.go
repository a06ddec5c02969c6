package allocator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// fakeIdentities is a fake server that has identities.
type fakeIdentities struct {
	fakeServer
	value int64
}

func (f *fakeIdentities) identity(ctx context.Context, _ scripts.Keys, r scripts.IdentityRequest) (scripts.Range, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hangs {
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		return scripts.Range{}, errHung
	}
	low := f.value + 1
	f.value += r.Count
	return scripts.Range{Low: low, High: f.value, Prefix: f.adds, Origin: f.origin}, nil
}

func mastersWithIdentities(t *testing.T, opts Options) (a *Allocator, north, south *fakeIdentities) {
	t.Helper()
	opts, err := opts.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	north, south = &fakeIdentities{fakeServer: fakeServer{adds: "N/", origin: "n"}}, &fakeIdentities{fakeServer: fakeServer{adds: "S/", origin: "s"}}
	a = newAllocator(opts,
		&server{name: "north", backend: north, namespace: "Raven", longest: longestBackoffOfMany},
		&server{name: "south", backend: south, namespace: "Raven", longest: longestBackoffOfMany})
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a, north, south
}

// A program may ask for nothing but identities and server-side ids: they, too, tell that a master is away, so that not
// every call waits for it.
func TestAMasterThatHangsIsLeftForServerSideIdsToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, _ := mastersWithIdentities(t, Options{})
		resolve := func(want string, within time.Duration) {
			t.Helper()
			start := time.Now()
			if id, err := a.Resolve(t.Context(), "orders/"); err != nil || id != want || time.Since(start) != within {
				t.Errorf("%q, %v after %v, want %q after %v", id, err, time.Since(start), want, within)
			}
		}
		resolve("orders/N/0000000000000000001", 0)
		synctest.Wait() // south is known
		north.set(func() { north.hangs = true })
		resolve("orders/S/0000000000000000001", a.opts.RefillTimeout)
		resolve("orders/S/0000000000000000002", 0)
		if s := a.Stats().Servers; s[0].Up || !errors.Is(s[0].Err, errHung) || s[0].RetryIn <= 0 || !s[1].Up {
			t.Errorf("%+v", s)
		}

		// The caller's own end says nothing about a server.
		<-time.After(longestBackoffOfMany)
		failures := a.Stats().Servers[0].Failures
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := a.NextIdentity(ctx, "companies"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if got := a.Stats().Servers[0].Failures; got != failures {
			t.Errorf("%d failures became %d", failures, got)
		}

		north.set(func() { north.hangs = false })
		resolve("orders/N/0000000000000000002", 0)
		if s := a.Stats().Servers; !s[0].Up {
			t.Errorf("%+v", s)
		}
	})
}

// A second home that is set while a program runs would count from 1 beside the first.
func TestASecondHomeThatIsSetLaterGivesNoIdentity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := mastersWithIdentities(t, Options{})
		north.home = true
		if value, err := a.NextIdentity(t.Context(), "companies"); err != nil || value != 1 {
			t.Errorf("%d, %v", value, err)
		}
		south.set(func() { south.home = true })
		<-time.After(2 * standbyEvery)
		if value, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrPrefixConflict) {
			t.Errorf("with two homes: %d, %v", value, err)
		}
	})
}

// A server that gives ranges all the time, which do not tell it, becomes the home by the book; later the other one does
// too, by mistake. This program hears of both before it asks for an identity again.
func TestASecondHomeShowsWhereBothMastersAreInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := mastersWithIdentities(t, Options{Runway: time.Nanosecond, MaxCapacity: 32}) // a range every 3.2 s
		south.home = true
		if value, err := a.NextIdentity(t.Context(), "companies"); err != nil || value != 1 {
			t.Errorf("%d, %v", value, err)
		}
		passes(t, a, time.Second)
		south.set(func() { south.home = false })
		north.set(func() { north.home = true })
		passes(t, a, time.Minute)
		south.set(func() { south.home = true })
		passes(t, a, 2*standbyEvery)
		if value, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrPrefixConflict) {
			t.Errorf("with two homes: %d, %v", value, err)
		}
	})
}

// Those who wait for identities of a master that hangs hold up nobody at another one.
func TestServerSideIdsDoNotWaitBehindIdentitiesOfAMasterThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, _ := mastersWithIdentities(t, Options{})
		north.home = true
		if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // all servers were asked
		north.set(func() { north.hangs = true })
		var callers sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 10 * asksAtOnce {
			callers.Go(func() {
				for ctx.Err() == nil {
					_, _ = a.NextIdentity(ctx, fmt.Sprintf("companies%d", i))
				}
			})
		}
		for range 20 {
			start := time.Now()
			id, err := a.Resolve(t.Context(), "orders/")
			if took := time.Since(start); err != nil || !strings.HasPrefix(id, "orders/S/") || took > a.opts.RefillTimeout {
				t.Errorf("%q, %v after %v", id, err, took)
			}
			<-time.After(time.Second)
		}
		cancel()
		callers.Wait()
	})
}

// Before the first server-side identifier the other master is asked, for whom the caller need not wait.
func TestACallerLeavesWhileTheOtherMasterIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _, south := mastersWithIdentities(t, Options{})
		south.hangs = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		if id, err := a.Resolve(ctx, "orders/"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Millisecond {
			t.Errorf("%q, %v after %v", id, err, time.Since(start))
		}
	})
}
