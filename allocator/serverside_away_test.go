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

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// fakeIdentities is a fake server that issues identities.
type fakeIdentities struct {
	fakeServer
	value int64
}

func (f *fakeIdentities) Identity(ctx context.Context, _ scripts.Keys, r scripts.IdentityRequest) (scripts.Range, error) {
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
	north, south = &fakeIdentities{fakeServer: fakeServer{adds: "N/", origin: "n"}}, &fakeIdentities{fakeServer: fakeServer{adds: "S/", origin: "s"}}
	a = newFakeAllocator(t, opts, north, south)
	return a, north, south
}

// A program may request only identities and server-side ids. These requests, too, detect that a server is down, so that not every
// call waits for it.
func TestResolveAvoidsAHungServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, _ := mastersWithIdentities(t, Options{})
		resolve := func(want string, within time.Duration) {
			t.Helper()
			start := time.Now()
			if id, err := a.Resolve(t.Context(), "orders/"); err != nil || id != want || time.Since(start) != within {
				t.Errorf("got %q, %v after %v, want %q after %v", id, err, time.Since(start), want, within)
			}
		}
		resolve("orders/N/0000000000000000001", 0)
		synctest.Wait() // south is known
		north.set(func() { north.hangs = true })
		resolve("orders/S/0000000000000000001", a.opts.RefillTimeout)
		resolve("orders/S/0000000000000000002", 0)
		if s := a.Stats().Servers; s[0].Up || !errors.Is(s[0].Err, errHung) || s[0].RetryIn <= 0 || !s[1].Up {
			t.Errorf("got %+v, want the first down with a back-off, and the second up", s)
		}

		// A context that ends is no evidence about a server.
		<-time.After(fleet.MaxBackoffOfMany)
		failures := a.Stats().Servers[0].Failures
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := a.NextIdentity(ctx, "companies"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if got := a.Stats().Servers[0].Failures; got != failures {
			t.Errorf("got %d failures, want %d as before", got, failures)
		}

		north.set(func() { north.hangs = false })
		<-time.After(10*time.Second + defaultRefillTimeout) // a probe finds it up
		resolve("orders/N/0000000000000000002", 0)
		if s := a.Stats().Servers; !s[0].Up {
			t.Errorf("got %+v, want the first up", s)
		}
	})
}

// The identities of a second home would start at 1 again.
func TestNextIdentityRefusesASecondHomeThatIsSetLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := mastersWithIdentities(t, Options{})
		north.home = true
		if value, err := a.NextIdentity(t.Context(), "companies"); err != nil || value != 1 {
			t.Errorf("got %d, %v, want <nil>, 1", value, err)
		}
		south.set(func() { south.home = true })
		<-time.After(2 * fleet.MonitorInterval)
		if value, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrPrefixConflict) {
			t.Errorf("with two homes: got %d, %v, want ErrPrefixConflict", value, err)
		}
	})
}

// The home moves to the server that issues ranges, whose replies do not report it. Later the other server becomes a home again by
// mistake. The health checks find both before the next identity is requested.
func TestNextIdentityDetectsASecondHomeAfterAMove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := mastersWithIdentities(t, Options{Runway: time.Nanosecond, MaxCapacity: 32}) // a range every 3.2 s
		south.home = true
		if value, err := a.NextIdentity(t.Context(), "companies"); err != nil || value != 1 {
			t.Errorf("got %d, %v, want <nil>, 1", value, err)
		}
		passes(t, a, time.Second)
		south.set(func() { south.home = false })
		north.set(func() { north.home = true })
		passes(t, a, time.Minute)
		south.set(func() { south.home = true })
		passes(t, a, 2*fleet.MonitorInterval)
		if value, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrPrefixConflict) {
			t.Errorf("with two homes: got %d, %v, want ErrPrefixConflict", value, err)
		}
	})
}

func TestResolveDoesNotWaitForIdentitiesOfAHungServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, _ := mastersWithIdentities(t, Options{})
		north.home = true
		if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // all servers were contacted
		north.set(func() { north.hangs = true })
		var callers sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 10 * fleet.MaxIdentityRequests {
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
				t.Errorf("got %q, %v after %v, want one of south within %v", id, err, took, a.opts.RefillTimeout)
			}
			<-time.After(time.Second)
		}
		cancel()
		callers.Wait()
	})
}

// The other server is contacted before the first server-side identifier. A canceled caller does not wait for it.
func TestResolveEndsWithItsContextDuringTheComparison(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _, south := mastersWithIdentities(t, Options{})
		south.hangs = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		if id, err := a.Resolve(ctx, "orders/"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Millisecond {
			t.Errorf("got %q, %v after %v, want context.DeadlineExceeded, %v", id, err, time.Since(start), time.Millisecond)
		}
	})
}
