package allocator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// homed gives identities only while it is their home.
type homed struct {
	late
	given int64
}

func (h *homed) identity(context.Context, scripts.Keys, scripts.IdentityRequest) (scripts.Range, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.home {
		return scripts.Range{}, scripts.ErrElsewhere
	}
	h.given++
	return scripts.Range{Low: h.given, High: h.given, Seconds: 60, Prefix: h.adds, Origin: h.origin}, nil
}

// homedMasters are two for a bubble, and an allocator of them.
func homedMasters(t *testing.T) (a *Allocator, north, south *homed) {
	t.Helper()
	opts, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	north, south = &homed{late: late{fakeServer: fakeServer{adds: "N/", origin: "n"}}}, &homed{late: late{fakeServer: fakeServer{adds: "S/", origin: "s"}}}
	a = newAllocator(opts,
		&server{name: "north", backend: north, namespace: "Raven", longest: longestBackoffOfMany},
		&server{name: "south", backend: south, namespace: "Raven", longest: longestBackoffOfMany})
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a, north, south
}

// A search that began before is of no use to who asks now: whatever it finds is from before.
func TestASearchOfBeforeIsNoAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		begin, now func(north, south *homed)
	}{
		{"no home", func(_, _ *homed) {}, func(_, south *homed) { south.home = true }},
		{"two homes", func(north, south *homed) { north.home, south.home = true, true }, func(_, south *homed) { south.home = false }},
		{"one that was away", func(north, _ *homed) { north.hangs, north.home = true, true }, func(north, _ *homed) { north.hangs = false }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, north, south := homedMasters(t)
				north.trip = a.opts.RefillTimeout - time.Millisecond // it has answered by the change, but it takes
				test.begin(north, south)
				a.searched()
				synctest.Wait()
				<-time.After(time.Second)
				north.mu.Lock()
				south.mu.Lock()
				test.now(north, south)
				north.mu.Unlock()
				south.mu.Unlock()
				if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Nor does its answer bring back the home that a server says itself that it is no more.
func TestASearchOfBeforeBringsNoHomeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := homedMasters(t)
		north.home = true
		if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		north.set(time.Second, "N/")
		a.searched()
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.fakeServer.set(func() { north.home = false })
		south.fakeServer.set(func() { south.home = true })
		if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
			t.Error(err)
		}
	})
}

// While nobody has answered, nothing is known to be set right: that both say that they are the home is then still an error
// of the settings.
func TestASearchThatNobodyAnsweredFindsNothingRight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := homedMasters(t)
		for _, m := range []*homed{north, south} {
			m.home, m.hangs = true, true
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := a.NextIdentity(ctx, "companies"); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
		<-time.After(2 * a.opts.RefillTimeout)
		for _, m := range []*homed{north, south} {
			m.fakeServer.set(func() { m.hangs = false })
		}
		<-time.After(longestBackoffOfMany)
		if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrPrefixConflict) {
			t.Errorf("%s, %v: two homes", id, err)
		}
	})
}
