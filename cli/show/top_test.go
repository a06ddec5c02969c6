package show

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestTopReconnectsToARestartedServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		one, err := target.Parse(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		watched := top{Session: &base.Session{Namespace: "Raven", Separator: "/", Timeout: time.Second}, targets: []target.Target{one}, Interval: minInterval}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		results := make(chan pollResult)
		until := func(up bool) {
			for r := range results {
				if (r.down == "") == up {
					return
				}
			}
		}
		if err := watched.open(ctx, func(all []*poller) error {
			done := make(chan struct{})
			go func() {
				defer close(done)
				all[0].run(ctx, func(r pollResult) {
					select {
					case results <- r:
					case <-ctx.Done():
					}
				})
			}()
			until(true)
			s.Kill()
			until(false)
			s.Restart()
			until(true)
			cancel()
			<-done
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}

// After the counters were read, top pauses to limit the load.
func TestTopReadsThousandsOfCounters(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const n = 5000
		pipe := s.Client(t).Pipeline()
		for i := range n {
			pipe.HSet(t.Context(), fmt.Sprintf("{Raven}/HiLo/c%d", i), "Max", i)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		one, err := target.Parse(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		watched := top{Session: &base.Session{Namespace: "Raven", Separator: "/", Timeout: 10 * time.Second}, targets: []target.Target{one}, Interval: time.Millisecond}
		if err := watched.open(t.Context(), func(all []*poller) error {
			got := all[0].poll(t.Context())
			if got.down != "" || len(got.counters) != n || got.pause < 4*got.took {
				t.Errorf("%d counters in %s, then a pause of %s; %s", len(got.counters), got.took, got.pause, got.down)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}
