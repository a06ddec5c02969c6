package allocator

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// watched is two fake masters of which south gives nothing, since north serves.
func watched(t *testing.T) (a *Allocator, north, south *fakeServer, logs *observer.ObservedLogs) {
	t.Helper()
	a, north, south = fakeMasters(t)
	core, logs := observer.New(zap.InfoLevel)
	for _, s := range a.servers {
		s.log = zap.New(core)
	}
	return a, north, south, logs
}

// passes lets time go by while identifiers are taken, all of them of north.
func passes(t *testing.T, a *Allocator, during time.Duration) {
	t.Helper()
	for start := time.Now(); time.Since(start) < during; <-time.After(100 * time.Millisecond) {
		if id, err := a.Next(t.Context(), "orders"); err != nil || !strings.HasPrefix(id, "orders/N/") {
			t.Fatalf("%s, %v", id, err)
		}
	}
	synctest.Wait()
}

// longestWatch is after which time a standby was asked about, and has answered or not.
const longestWatch = standbyEvery + standbyEvery/10 + defaultRefillTimeout

// wantStandby looks at what is said of south, and how often a line was logged.
func wantStandby(t *testing.T, a *Allocator, up bool, why error, logs *observer.ObservedLogs, line string, times int) {
	t.Helper()
	south := a.Stats().Servers[1]
	if south.Up != up || !errors.Is(south.Err, why) {
		t.Errorf("south: up %v, %v, want %v, %v", south.Up, south.Err, up, why)
	}
	if got := logs.FilterMessageSnippet(line).Len(); got != times {
		t.Errorf("%q was logged %d times, want %d: %v", line, got, times, logs.All())
	}
}

func TestAStandbyThatIsDeadFromTheStartShows(t *testing.T) {
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
					t.Errorf("%+v", st)
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

func TestAStandbyThatGoesAwayShowsBeforeItIsNeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _, south, logs := watched(t)
		passes(t, a, 5*time.Minute)
		wantStandby(t, a, true, nil, logs, "", 0)
		if st := a.Stats().Servers[1]; !st.Known || st.Adds.ServerPrefix != "S/" || st.AnswerAge > longestWatch {
			t.Errorf("%+v", st)
		}
		south.set(func() { south.hangs = true })
		passes(t, a, longestWatch)
		wantStandby(t, a, false, errHung, logs, "server unavailable", 1)
		passes(t, a, 5*time.Minute)
		wantStandby(t, a, false, errHung, logs, "server unavailable", 1)
		if st := a.Stats().Servers[1]; st.AnswerAge < 5*time.Minute {
			t.Errorf("it is said to have answered %v ago", st.AnswerAge)
		}
		south.set(func() { south.hangs = false })
		passes(t, a, longestWatch)
		wantStandby(t, a, true, nil, logs, "server available again", 1)
		if asked := south.questions(); asked < 40 || asked > 100 { // in about ten and a half minutes
			t.Errorf("it was asked %d times", asked)
		}
	})
}

func TestAStandbyThatIsSetWrongShowsBeforeItIsNeeded(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]error{"n/": ErrPrefixConflict, "": ErrPrefixMissing} {
		synctest.Test(t, func(t *testing.T) {
			a, north, south, logs := watched(t)
			passes(t, a, time.Minute)
			south.set(func() { south.adds = text })
			passes(t, a, longestWatch)
			wantStandby(t, a, false, why, logs, "left for its prefix", 1)
			passes(t, a, 5*time.Minute)
			wantStandby(t, a, false, why, logs, "left for its prefix", 1)

			north.set(func() { north.refuses = errHung }) // and it is not used, not even for want of a better one
			failed := false
			for range 1000 {
				id, err := a.Next(t.Context(), "users")
				if err == nil {
					t.Fatalf("%s was given", id)
				}
				failed = errors.Is(err, why) && errors.Is(err, errHung)
			}
			if !failed {
				t.Error("the error does not say both")
			}
			north.set(func() { north.refuses = nil })
			south.set(func() { south.adds = "S/" })
			<-time.After(longestBackoffOfMany)
			passes(t, a, longestWatch)
			wantStandby(t, a, true, nil, logs, "left for its prefix", 1)
		})
	}
}
