package allocator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextIsUnavailableWhileTheServerRefusesRequests(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"READONLY You can't write against a read only replica.",
		"LOADING Redis is loading the dataset in memory",
		"NOPERM this user has no permissions to run the 'evalsha' command",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"CLUSTERDOWN The cluster is down",
		"MISCONF Redis is configured to save RDB snapshots",
	} {
		t.Run(strings.Fields(reply)[0], func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			a := mustNew(t, redistest.NewClient(t, s), Options{})
			s.Hook(func(cmd string, _ []string) string {
				if cmd == "EVALSHA" || cmd == "EVAL" {
					return reply
				}
				return ""
			})
			if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), reply) {
				t.Errorf("got %v, want ErrUnavailable, text with %q", err, reply)
			}
			s.Hook(nil)
			if got := mustNumber(t, a, "orders"); got != 1 {
				t.Errorf("afterwards %d, want 1", got)
			}
		})
	}
}

func TestNextIsUnavailableOnAReadOnlyReplica(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		a := mustNew(t, client, Options{MinCapacity: 1, MaxCapacity: 1, Runway: time.Nanosecond})
		mustNumber(t, a, "orders")
		if err := client.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
			t.Fatal(err)
		}
		for range 100 { // far more than it may hold ahead
			if _, err := a.Next(t.Context(), "orders"); err != nil {
				if !errors.Is(err, ErrUnavailable) {
					t.Error(err)
				}
				return
			}
		}
		t.Error("got ranges from a server that is down, want an error")
	})
}

// untilServed takes a number as soon as the server serves.
func untilServed(t *testing.T, a *Allocator) int64 {
	t.Helper()
	for {
		n, err := a.NextNumber(t.Context(), "orders")
		if err == nil {
			return n
		}
		if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrNotSeeded) { // asked before there were settings
			t.Fatal(err)
		}
	}
}

func TestNextEndsWithItsContextWhileRedisIsDown(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		c := mustCollection(t, a, "orders")
		for _, away := range []struct {
			name string
			do   func()
		}{{"stopped", s.Pause}, {"killed", s.Kill}} {
			away.do()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			start := time.Now()
			_, err := c.Next(ctx)
			took := time.Since(start)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: got %v, want ErrUnavailable or the end of ctx", away.name, err)
			}
			if took > time.Minute { // a busy machine stalls for seconds; a test in a bubble checks the exact time
				t.Errorf("%s: got an answer after %v, want it within a minute", away.name, took)
			}
			if _, ok := c.TryNext(); ok {
				t.Errorf("%s: TryNext: got a number, want none", away.name)
			}
		}
		s.Restart()
		s.Initialize("Raven")
		for {
			if _, err := c.Next(t.Context()); err == nil {
				break
			} else if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrNotSeeded) { // asked before there were settings
				t.Fatal(err)
			}
		}
	})
}
