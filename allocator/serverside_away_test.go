package allocator

import (
	"context"
	"errors"
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

// A program may ask for nothing but identities and server-side ids: they, too, tell that a master is away, so that not
// every call waits for it.
func TestAMasterThatHangsIsLeftForServerSideIdsToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts, err := Options{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		north, south := &fakeIdentities{fakeServer: fakeServer{adds: "N/", origin: "n"}}, &fakeIdentities{fakeServer: fakeServer{adds: "S/", origin: "s"}}
		a := newAllocator(opts,
			&server{name: "north", backend: north, namespace: "Raven", longest: longestBackoffOfMany},
			&server{name: "south", backend: south, namespace: "Raven", longest: longestBackoffOfMany})
		t.Cleanup(func() { _ = a.Close(context.Background()) })
		resolve := func(want string, within time.Duration) {
			t.Helper()
			start := time.Now()
			if id, err := a.Resolve(t.Context(), "orders/"); err != nil || id != want || time.Since(start) != within {
				t.Errorf("%q, %v after %v, want %q after %v", id, err, time.Since(start), want, within)
			}
		}
		resolve("orders/N/0000000000000000001", 0)
		north.set(func() { north.hangs = true })
		resolve("orders/S/0000000000000000001", opts.RefillTimeout)
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
		opts, err := Options{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		north := &fakeIdentities{fakeServer: fakeServer{adds: "N/", origin: "n", home: true}}
		south := &fakeIdentities{fakeServer: fakeServer{adds: "S/", origin: "s"}}
		a := newAllocator(opts,
			&server{name: "north", backend: north, namespace: "Raven", longest: longestBackoffOfMany},
			&server{name: "south", backend: south, namespace: "Raven", longest: longestBackoffOfMany})
		t.Cleanup(func() { _ = a.Close(context.Background()) })
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
