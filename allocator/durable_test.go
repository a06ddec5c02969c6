package allocator

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestARangeThatIsNotConfirmedIsDiscarded(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		a := mustNew(t, client, Options{Durability: Durability{Replicas: 1, Timeout: 20 * time.Millisecond}})
		for i := range 3 {
			if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrNotDurable) || errors.Is(err, ErrUnavailable) {
				t.Errorf("%d: %q, %v", i, id, err)
			}
		}
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrNotDurable) {
			t.Errorf("identity: %v", err)
		}
		if got := statsOf(a); got.Issued != 0 || got.Held != 0 || got.Burnt != got.Reserved || got.Burnt != 96 {
			t.Errorf("figures %+v", got)
		}
		mustClose(t, a)
		wantMax(t, client, "96") // never returned
	})
}

func TestDurableRangesAreUsed(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "always")
			wish := Durability{Fsync: true}
			if strings.HasPrefix(b.Name, "redis-7.0") {
				a := mustNew(t, s.Client(t), Options{Durability: wish})
				if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrNotDurable) || !strings.Contains(err.Error(), "WAITAOF") {
					t.Errorf("a server without WAITAOF: %v", err)
				}
				return
			}
			a := mustNew(t, s.Client(t), Options{Durability: wish})
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
