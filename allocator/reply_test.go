package allocator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextNumberSurvivesAScriptFlush(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		a := mustNew(t, client, Options{})
		for want := int64(1); want <= 200; want++ {
			client.ScriptFlush(t.Context())
			if got := mustNumber(t, a, "orders"); got != want {
				t.Fatalf("got %d, want %d", got, want)
			}
		}
		client.ScriptFlush(t.Context())
		mustClose(t, a)
		wantMax(t, client, "200")
	})
}

// A lost reply neither discards a range nor repeats one, whether go-redis or the next refill sends the request again.
func TestNextNumberLosesNothingWithALostReply(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{-1, 3} {
		redistest.Each(t, func(t *testing.T, s *redistest.Server) {
			direct := redistest.NewClient(t, s)
			proxy := redistest.NewProxy(t, s)
			opts := redistest.Options(proxy)
			opts.MaxRetries = retries
			client := redis.NewClient(opts)
			t.Cleanup(func() { _ = client.Close() })
			a := mustNew(t, client, Options{MinCapacity: 10, MaxCapacity: 10, Runway: time.Nanosecond})
			next := func() int64 {
				for {
					n, err := a.NextNumber(t.Context(), "orders")
					if err == nil {
						return n
					}
					if retries > 0 || !errors.Is(err, ErrUnavailable) {
						t.Fatal(err)
					}
				}
			}
			want := int64(0)
			check := func() {
				t.Helper()
				want++
				if got := next(); got != want {
					t.Fatalf("got %d, want %d", got, want)
				}
			}
			for range 10 {
				check() // the server has the script
				for dropped := proxy.DropReply("evalsha"); !over(dropped); {
					check()
				}
			}
			for held := statsOf(a).Held; held >= 0; held-- { // the last one that was lost is requested again
				check()
			}
			mustClose(t, a)
			wantMax(t, direct, fmt.Sprint(want))
		})
	}
}

func over(event <-chan struct{}) bool {
	select {
	case <-event:
		return true
	default:
		return false
	}
}

func TestNextNumberLosesNothingWithACutConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s)
		client := redis.NewClient(redistest.Options(proxy))
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{MinCapacity: 10, MaxCapacity: 10})
		for want := int64(1); want <= 300; want++ {
			if want%7 == 0 {
				proxy.Cut()
			}
			if got := mustNumber(t, a, "orders"); got != want {
				t.Fatalf("got %d, want %d", got, want)
			}
		}
	})
}

// The request whose reply was lost is sent again first, although its range is too small for the Take.
func TestTakeResendsASmallerRequestWithoutReplyFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s)
		opts := redistest.Options(proxy)
		opts.MaxRetries = -1
		client := redis.NewClient(opts)
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{MinCapacity: 10, MaxCapacity: 10, Runway: time.Nanosecond})
		mustNumber(t, a, "users") // the server has the script
		proxy.DropReply("evalsha")
		dropped := proxy.DropReply("evalsha") // of the request that goes again at once
		orders := mustCollection(t, a, "orders")
		if n, err := orders.NextNumber(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %d, %v, want ErrUnavailable", n, err)
		}
		if !over(dropped) {
			t.Fatal("got no lost reply, want one")
		}
		batch, err := orders.Take(t.Context(), 1000)
		if r := batch.Range(); err != nil || r != (Range{Low: 11, High: 1010}) {
			t.Errorf("got %+v, %v, want <nil>, %v", r, err, (Range{Low: 11, High: 1010}))
		}
		if n := mustNumber(t, a, "orders"); n != 1 {
			t.Errorf("got %d, want 1, of the range whose reply was lost", n)
		}
	})
}
