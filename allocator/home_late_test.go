package allocator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// homed issues identities only while it is their home.
type homed struct {
	late
	given int64
}

func (h *homed) Identity(context.Context, scripts.Keys, scripts.IdentityRequest) (scripts.Range, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.home {
		return scripts.Range{}, scripts.ErrElsewhere
	}
	h.given++
	return scripts.Range{Low: h.given, High: h.given, Epoch: 1_000_000, Prefix: h.adds, Origin: h.origin}, nil
}

// homedMasters returns two fake masters and an allocator of them, for use in a synctest bubble.
func homedMasters(t *testing.T) (a *Allocator, north, south *homed) {
	t.Helper()
	north, south = &homed{late: late{fakeServer: fakeServer{adds: "N/", origin: "n"}}}, &homed{late: late{fakeServer: fakeServer{adds: "S/", origin: "s"}}}
	a = newFakeAllocator(t, Options{}, north, south)
	return a, north, south
}

// A search for the home that started before the call may report an outdated home.
func TestNextIdentityIgnoresASearchThatStartedBeforeTheCall(t *testing.T) {
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
				north.trip = a.opts.RefillTimeout - time.Millisecond // it replies before the change, and the reply arrives later
				test.begin(north, south)
				ended, cancel := context.WithCancel(t.Context())
				go func() { _, _ = a.NextIdentity(ended, "companies") }() // starts the search
				synctest.Wait()
				cancel()
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

// The result of an older check does not restore a home whose own later reply denied it.
func TestNextIdentityKeepsItsHomeAfterAnOlderCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, north, south := homedMasters(t)
		north.home = true
		if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		north.set(time.Second, "N/")
		go func() { _ = a.Check(t.Context()) }()
		synctest.Wait()
		<-time.After(time.Millisecond)
		north.fakeServer.set(func() { north.home = false })
		south.fakeServer.set(func() { south.home = true })
		if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
			t.Error(err)
		}
	})
}

// A search without a single reply does not prove the settings right, so the error is still that two servers are the home.
func TestNextReportsTwoHomesAfterASearchWithoutReplies(t *testing.T) {
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
		<-time.After(fleet.MaxBackoffOfMany)
		if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrPrefixConflict) {
			t.Errorf("two homes: got %s, %v, want ErrPrefixConflict", id, err)
		}
	})
}

// While no server answers, callers search for the home with back-off, however many they are and for however long.
func TestNextIdentityBacksOffFromServersThatNeverAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const seconds, most = 120, 20 // requests a second
		a, north, south := homedMasters(t)
		north.refuses, south.refuses = errHung, errHung
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		defer cancel()
		requests := func() int { return north.descriptions() + south.descriptions() }
		for range 8 {
			go func() {
				for ctx.Err() == nil && requests() <= seconds*most { // without a back-off no time passes
					if _, err := a.NextIdentity(ctx, "companies"); !errors.Is(err, ErrUnavailable) {
						t.Errorf("got %v, want ErrUnavailable", err)
						return
					}
				}
			}()
		}
		<-time.After(time.Second)
		if n := requests(); n > most {
			t.Errorf("got %d requests in the first second, want at most %d", n, most)
		}
		<-ctx.Done()
		synctest.Wait()
		if n := requests(); n > seconds*most/4 || n < seconds/2 {
			t.Errorf("got %d requests in %d s, want %d to %d", n, seconds, seconds/2, seconds*most/4)
		}
	})
}
