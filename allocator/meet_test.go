package allocator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

const severalServe = "two servers reply in turn as if they were one, and both issue numbers: hilo doctor"

// A Service before two pods leads each connection to the next one.
func TestTakeLogsTwoServersBehindOneAddressOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s)
		proxy.Spread(s, redistest.StartMini(t))
		client := redis.NewClient(Tune(redistest.Options(proxy)))
		t.Cleanup(func() { _ = client.Close() })
		log, logs := observed()
		a := mustNew(t, client, Options{Logger: log})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		redistest.OpenPool(t, client, 4)
		take := func(until func() bool) {
			var all sync.WaitGroup
			for i := range 4 {
				c := mustCollection(t, a, fmt.Sprintf("orders%d", i))
				all.Go(func() {
					for ctx.Err() == nil && !until() {
						_, _ = c.Take(ctx, 100) // which a server without the counter may refuse
					}
				})
			}
			all.Wait()
		}
		take(func() bool { return logs.FilterMessage(severalServe).Len() > 0 })
		for range 3 {
			once := time.Now()
			take(func() bool { return time.Now().After(once) })
		}
		if n := logs.FilterMessage(severalServe).Len(); n != 1 {
			t.Errorf("got %d lines about two servers, want 1, in %v", n, logs.All())
		}
	})
}

func TestNextLogsNoSecondServerAfterRestarts(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		log, logs := observed()
		a := mustNew(t, impatient(t, s), Options{Logger: log})
		for range 4 {
			if _, err := mustCollection(t, a, "orders").Take(t.Context(), 1000); err != nil {
				t.Fatal(err)
			}
			if err := s.Client(t).Save(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			s.Kill()
			s.Restart()
		}
		if logs.FilterMessageSnippet("restarted").Len() != 3 || logs.FilterMessage(severalServe).Len() != 0 {
			t.Errorf("got the log %v, want 3 jumps and no second server", logs.All())
		}
	})
}
