package allocator

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDurabilityDiscardsAnUnconfirmedRange(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		a := mustNew(t, client, Options{Durability: Durability{Replicas: 1, Timeout: 20 * time.Millisecond}})
		for i := range 3 {
			if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrNotDurable) || errors.Is(err, ErrUnavailable) {
				t.Errorf("call %d: got %q, %v, want ErrNotDurable alone", i, id, err)
			}
		}
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrNotDurable) {
			t.Errorf("identity: got %v, want ErrNotDurable", err)
		}
		if got := statsOf(a); got.Issued != 0 || got.Held != 0 || got.Burnt != got.Reserved || got.Burnt != 96 {
			t.Errorf("got figures %+v, want 0, 0, %v, 96", got, got.Reserved)
		}
		mustClose(t, a)
		wantMax(t, client, "96") // never returned
	})
}

func TestDurabilityUsesConfirmedRanges(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "always")
			wish := Durability{Fsync: true}
			if strings.HasPrefix(b.Name, "redis-7.0") {
				a := mustNew(t, redistest.NewClient(t, s), Options{Durability: wish})
				if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrNotDurable) || !strings.Contains(err.Error(), "WAITAOF") {
					t.Errorf(`a server without WAITAOF: got %v, want ErrNotDurable, text with "WAITAOF"`, err)
				}
				return
			}
			a := mustNew(t, redistest.NewClient(t, s), Options{Durability: wish})
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					for range 100 {
						if _, err := a.Next(t.Context(), fmt.Sprintf("c%c", 'a'+g)); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// With appendfsync everysec a write reaches the disk within two seconds. The default timeout allows for that. A shorter one
// would discard ranges in normal operation.
func TestDurabilityWithFsyncEverySecondDiscardsNothing(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		if strings.HasPrefix(b.Name, "redis-7.0") {
			continue // it has no WAITAOF, which TestDurabilityUsesConfirmedRanges shows
		}
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "everysec")
			opts := redistest.Options(s)
			opts.PoolSize = 32
			client := redis.NewClient(opts)
			t.Cleanup(func() { _ = client.Close() })
			discarded := func(d Durability) (n int64) {
				a := mustNew(t, client, Options{Durability: d})
				var wg sync.WaitGroup
				for g := range 26 {
					wg.Go(func() { _, _ = a.Next(t.Context(), fmt.Sprintf("c%c", 'a'+g)) })
				}
				wg.Wait()
				for _, c := range a.Stats().Collections {
					n += c.Burnt
				}
				return n
			}
			for range 3 {
				if n := discarded(Durability{Fsync: true}); n > 0 {
					t.Errorf("got %d numbers discarded, want none", n)
				}
			}
			for tries := 0; discarded(Durability{Fsync: true, Timeout: 20 * time.Millisecond}) == 0; tries++ {
				if tries == 100 {
					t.Fatal("got no number discarded with a timeout that is too short, want some, or the test proves nothing")
				}
			}
		})
	}
}

func TestDurabilityTimeoutWithFsyncIsThreeSeconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[Durability]time.Duration{
		{}:                                  time.Second,
		{Replicas: 1}:                       time.Second,
		{Fsync: true}:                       3 * time.Second,
		{Replicas: 1, Fsync: true}:          3 * time.Second,
		{Fsync: true, Timeout: time.Minute}: time.Minute,
	} {
		opts, err := Options{Durability: d}.withDefaults()
		if err != nil || opts.Durability.Timeout != want {
			t.Errorf("%+v: got %v, %v, want <nil>, %v", d, opts.Durability.Timeout, err, want)
		}
	}
}
