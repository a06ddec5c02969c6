package allocator

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
)

// watched returns two fake masters, of which south issues nothing while north is up, and an allocator of them with a log.
func watched(t *testing.T) (a *Allocator, north, south *fakeServer, logs *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	north, south = &fakeServer{adds: "N/", origin: "n"}, &fakeServer{adds: "S/", origin: "s"}
	a = newFakeAllocator(t, Options{Runway: time.Nanosecond, MaxCapacity: 32, Logger: zap.New(core, zap.AddCaller())}, north, south)
	return a, north, south, logs
}

// passes takes identifiers for some time, all of them of north.
func passes(t *testing.T, a *Allocator, during time.Duration) {
	t.Helper()
	for start := time.Now(); time.Since(start) < during; <-time.After(100 * time.Millisecond) {
		if id, err := a.Next(t.Context(), "orders"); err != nil || !strings.HasPrefix(id, "orders/N/") {
			t.Fatalf("got %s, %v, want one of north", id, err)
		}
	}
	synctest.Wait()
}

// longestWatch is the maximum time until a standby was contacted and has replied or timed out.
const longestWatch = fleet.MonitorInterval + fleet.MonitorInterval/10 + defaultRefillTimeout

// wantStandby compares the statistics of south, and how often a line was logged.
func wantStandby(t *testing.T, a *Allocator, up bool, why error, logs *observer.ObservedLogs, line string, times int) {
	t.Helper()
	south := a.Stats().Servers[1]
	if south.Up != up || !errors.Is(south.Err, why) {
		t.Errorf("south: got up %v, %v, want %v, %v", south.Up, south.Err, up, why)
	}
	if got := logs.FilterMessageSnippet(line).Len(); got != times {
		t.Errorf("%q was logged %d times, want %d: %v", line, got, times, logs.All())
	}
	if lines := logs.All(); len(lines) > 0 && lines[0].Caller.Defined {
		t.Errorf("got the caller %s, an internal file, want none", lines[0].Caller)
	}
}

func TestStatsReportsAStandbyThatWasNeverUp(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]func(*fakeServer){
		"it refuses connections": func(f *fakeServer) { f.refuses = errHung },
		"it hangs":               func(f *fakeServer) { f.hangs = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, _, south, logs := watched(t)
				south.set(func() { dies(south) })
				passes(t, a, time.Millisecond)
				wantStandby(t, a, false, errHung, logs, "server unavailable", 1)
				if st := a.Stats().Servers[1]; st.Answered || st.Known || st.AnswerAge != 0 {
					t.Errorf("got %+v, want a server that never answered", st)
				}
				passes(t, a, 10*time.Minute)
				wantStandby(t, a, false, errHung, logs, "server unavailable", 1)
				south.set(func() { south.hangs, south.refuses = false, nil })
				passes(t, a, longestWatch)
				wantStandby(t, a, true, nil, logs, "server available again", 1)
			})
		})
	}
}

func TestStatsReportsAStandbyThatGoesDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _, south, logs := watched(t)
		passes(t, a, 5*time.Minute)
		wantStandby(t, a, true, nil, logs, "", 0)
		if st := a.Stats().Servers[1]; !st.Known || st.Settings.ServerPrefix != "S/" || st.AnswerAge > longestWatch {
			t.Errorf("got %+v, want the prefix S/ and an answer within %v", st, longestWatch)
		}
		south.set(func() { south.hangs = true })
		passes(t, a, longestWatch)
		wantStandby(t, a, false, errHung, logs, "server unavailable", 1)
		passes(t, a, 5*time.Minute)
		wantStandby(t, a, false, errHung, logs, "server unavailable", 1)
		if st := a.Stats().Servers[1]; st.AnswerAge < 5*time.Minute {
			t.Errorf("got an answer %v ago, want none for 5m", st.AnswerAge)
		}
		south.set(func() { south.hangs = false })
		passes(t, a, longestWatch)
		wantStandby(t, a, true, nil, logs, "server available again", 1)
		if asked := south.descriptions(); asked < 40 || asked > 100 { // in about ten and a half minutes
			t.Errorf("got %d descriptions, want 40 to 100", asked)
		}
	})
}

func TestStatsReportsAStandbyWithAWrongPrefix(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]error{"n/": ErrPrefixConflict, "": ErrPrefixMissing} {
		synctest.Test(t, func(t *testing.T) {
			a, north, south, logs := watched(t)
			passes(t, a, time.Minute)
			south.set(func() { south.adds = text })
			passes(t, a, longestWatch)
			wantStandby(t, a, false, why, logs, "out of use for its settings", 1)
			passes(t, a, 5*time.Minute)
			wantStandby(t, a, false, why, logs, "out of use for its settings", 1)

			north.set(func() { north.refuses = errHung }) // and south is not used, not even as a last resort
			failed := false
			for range 1000 {
				id, err := a.Next(t.Context(), "users")
				if err == nil {
					t.Fatalf("got %s, want an error", id)
				}
				failed = errors.Is(err, why) && errors.Is(err, errHung)
			}
			if !failed {
				t.Error("got no error with both reasons, want one")
			}
			north.set(func() { north.refuses = nil })
			south.set(func() { south.adds = "S/" })
			<-time.After(fleet.MaxBackoffOfMany)
			passes(t, a, longestWatch)
			wantStandby(t, a, true, nil, logs, "out of use for its settings", 1)
		})
	}
}

// The failure of a request is reported at its timeout, which may be after the reply to a later request.
func TestStatsReportsNoOutageForAnOlderRequest(t *testing.T) {
	t.Parallel()
	t.Run("a description", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, _, south, logs := watched(t)
			passes(t, a, time.Minute)
			asked := south.descriptions()
			south.set(func() { south.hangs = true })
			for south.descriptions() == asked {
				<-time.After(time.Millisecond)
			}
			south.set(func() { south.hangs = false })
			if err := a.Check(t.Context()); err != nil {
				t.Error(err)
			}
			<-time.After(defaultRefillTimeout)
			wantStandby(t, a, true, nil, logs, "server", 0)
		})
	})
	t.Run("a range", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := &fakeServer{hangs: true}
			a := newFakeAllocator(t, Options{}, f)
			go func() { _ = a.Warm(t.Context(), "orders") }()
			synctest.Wait()
			f.set(func() { f.hangs = false })
			<-time.After(time.Millisecond)
			if _, err := a.Next(t.Context(), "users"); err != nil {
				t.Error(err)
			}
			<-time.After(defaultRefillTimeout)
			if s := a.Stats().Servers[0]; !s.Up || s.Failures != 0 {
				t.Errorf("got up %v, %d failures, want a server that is up", s.Up, s.Failures)
			}
		})
	})
}

// A conflict in the settings, before any identifier, is corrected, and Ready shows that without a call.
func TestReadyAfterAConflictIsCorrectedWithoutCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		north, south := &fakeServer{adds: "N/", origin: "n"}, &fakeServer{adds: "N/", origin: "s"}
		a := newFakeAllocator(t, Options{}, north, south)
		if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrPrefixConflict) {
			t.Errorf("got %v, want ErrPrefixConflict", err)
		}
		<-time.After(time.Minute)
		if a.Stats().Ready() {
			t.Error("got ready, want not ready")
		}
		south.set(func() { south.adds = "S/" })
		<-time.After(12 * time.Second)
		if !a.Stats().Ready() {
			t.Error("got not ready, want ready")
		}
	})
}
