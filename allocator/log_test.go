package allocator

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// Each call is refused, and each reason is logged once for each counter.
func TestNextLogsARefusalOnceForEachReason(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		log, logs := observed()
		a := mustNew(t, s.client(t), Options{Logger: log, Limit: 100})
		refused := func(want error, counters, lines int) {
			t.Helper()
			for range 5 {
				for _, name := range []string{"orders", "users"}[:counters] {
					if _, err := a.Next(t.Context(), name); !errors.Is(err, want) {
						t.Errorf("%s: got %v, want %v", name, err, want)
					}
				}
				if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, want) && counters == 2 {
					t.Errorf("companies: got %v, want %v", err, want)
				}
				<-time.After(time.Minute) // beyond every back-off
			}
			got := logs.TakeAll()
			for _, line := range got {
				if text, _ := line.ContextMap()["error"].(string); line.Level != zapcore.ErrorLevel || line.Message != "refused" || !strings.Contains(text, want.Error()) {
					t.Errorf("got the line %v, want an error that is refused for %v", line, want)
				}
			}
			if len(got) != lines {
				t.Errorf("got %d lines about %v, want %d", len(got), want, lines)
			}
		}
		s.initialize("NewCounters", "no")
		refused(ErrNotSeeded, 2, 3)
		s.HSet("{Raven}/HiLo/orders", "Max", "100")
		refused(ErrExhausted, 1, 1)
		s.HSet("{Raven}/HiLo/orders", "Max", "many")
		refused(ErrCorrupt, 1, 1)
		s.HSet("{Raven}/HiLo/orders", "Max", "7")
		mustNumber(t, a, "orders")
		s.Del("{Raven}/ServerPrefixForHilo")
		if lines := logs.TakeAll(); len(lines) != 0 {
			t.Errorf("got log %v after it was served, want none", lines)
		}
		s.HSet("{Raven}/HiLo/orders", "Max", "many")
		if _, err := mustCollection(t, a, "orders").Take(t.Context(), 50); !errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v, want ErrCorrupt", err)
		}
		if n := logs.FilterMessage("refused").Len(); n != 1 {
			t.Errorf("got %d lines about the same reason after it was served, want 1", n)
		}
	})
}

//nolint:paralleltest // it replaces the global logger
func TestNilLoggerIsTheGlobalOne(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	restore := zap.ReplaceGlobals(zap.New(core))
	defer restore()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		mustNumber(t, mustNew(t, s.client(t), Options{}), "orders")
	})
	if logs.FilterMessage("counter created").Len() != 1 {
		t.Errorf("got log %v, want the line about the new counter", logs.All())
	}
}

// Without calls, health and log show within about 10 s that the only server is down, and that it is back.
func TestOnlyServerIsCheckedWithoutCalls(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		core, logs := observer.New(zap.InfoLevel)
		a := mustNew(t, s.client(t), Options{Logger: zap.New(core), RefillTimeout: 2 * time.Second})
		if _, err := a.NextIdentity(t.Context(), "companies"); err != nil { // so that no numbers are in hand
			t.Fatal(err)
		}
		for round := range 2 {
			<-time.After(time.Hour)
			if stats := a.Stats(); !stats.Ready() || stats.Servers[0].AnswerAge > 11*time.Second {
				t.Errorf("round %d: got ready %v, the last answer %v ago, want ready and about 10 s at most", round, stats.Ready(), stats.Servers[0].AnswerAge)
			}
			s.setDown(true)
			<-time.After(12 * time.Second)
			if stats := a.Stats(); stats.Ready() || stats.Servers[0].Up {
				t.Errorf("round %d: got ready %v, up %v, want neither", round, stats.Ready(), stats.Servers[0].Up)
			}
			<-time.After(time.Hour)
			s.setDown(false)
			<-time.After(12 * time.Second)
			if !a.Stats().Ready() {
				t.Errorf("round %d: got not ready, want ready", round)
			}
			for _, line := range []string{"server unavailable, retrying with back-off", "server available again"} {
				if n := logs.FilterMessage(line).Len(); n != round+1 {
					t.Errorf("round %d: got %d lines %q, want %d", round, n, line, round+1)
				}
			}
		}
		s.setErr("LOADING Redis is loading the dataset in memory")
		<-time.After(12 * time.Second)
		if a.Stats().Ready() {
			t.Error("got ready while the server is loading, want not ready")
		}
	})
}

// Callers are served of what is in hand, and health and log show all the same that the only server is down.
func TestOnlyServerThatIsDownShowsWhileNumbersAreInHand(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		log, logs := observed()
		a := mustNew(t, s.client(t), Options{Logger: log, RefillTimeout: 2 * time.Second})
		mustNumber(t, a, "orders")
		s.setDown(true)
		<-time.After(14 * time.Second)
		if stats := a.Stats(); !stats.Ready() || stats.Servers[0].Up {
			t.Errorf("got ready %v, up %v, want ready, and the server down", stats.Ready(), stats.Servers[0].Up)
		}
		if n := logs.FilterMessage("server unavailable, retrying with back-off").Len(); n != 1 {
			t.Errorf("got %d lines about the server, want 1, in %v", n, logs.All())
		}
		mustNumber(t, a, "orders")
	})
}

// A client that was closed never serves again.
func TestClosedClientIsNotRetryable(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		client := s.client(t)
		a := mustNew(t, client, Options{})
		_ = client.Close()
		for name, err := range map[string]error{
			"Next":         func() error { _, err := a.Next(t.Context(), "orders"); return err }(),
			"NextIdentity": func() error { _, err := a.NextIdentity(t.Context(), "companies"); return err }(),
			"Check":        a.Check(t.Context()),
		} {
			if !errors.Is(err, redis.ErrClosed) || Retryable(err) || errors.Is(err, ErrClosed) {
				t.Errorf("%s: got %v, retryable %v, want redis.ErrClosed, not retryable", name, err, Retryable(err))
			}
		}

		south := startInBubble(t)
		south.initialize("ServerPrefix", "S/")
		both := mustMulti(t, Options{}, Server{Name: "north", Client: client}, Server{Name: "south", Client: south.client(t)})
		if id, err := both.Next(t.Context(), "orders"); id != "orders/S/1" || err != nil {
			t.Errorf("beside another server: got %s, %v, want orders/S/1, <nil>", id, err)
		}
	})
}
