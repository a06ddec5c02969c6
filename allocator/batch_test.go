package allocator

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestTakeReturnsConsecutiveNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "N/", "NodeTag", "A")
		c := mustCollection(t, mustNew(t, client, Options{}), "orders")
		batch, err := c.Take(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"orders/N/1-A", "orders/N/2-A", "orders/N/3-A"}
		if got := batch.Strings(); !slices.Equal(got, want) {
			t.Errorf("Strings: got %v, want %v", got, want)
		}
		if got := slices.Collect(batch.All()); !slices.Equal(got, want) {
			t.Errorf("All: got %v, want %v", got, want)
		}
		ids := slices.Collect(batch.IDs())
		if len(ids) != 3 || ids[2] != (prefix.ID{Collection: "orders", ServerPrefix: "N/", Number: 3, NodeTag: "A"}) {
			t.Errorf("IDs: got %+v, want 3, the last orders/N/3-A", ids)
		}
		if batch.Range() != (Range{1, 3}) || batch.Len() != 3 {
			t.Errorf("got range %v, length %d, want %v, 3", batch.Range(), batch.Len(), (Range{1, 3}))
		}
		for range batch.All() {
			break // a consumer may stop
		}
		for range batch.IDs() {
			break
		}
	})
}

func TestBatchStringsEqualsAll(t *testing.T) {
	t.Parallel()
	short := &span{head: "orders/N/", tail: "-A"}
	long := &span{head: strings.Repeat("c", 128) + "/" + strings.Repeat("p", 64), tail: "-ABCDEFGH"}
	for _, s := range []*span{short, long, {head: "orders/"}} {
		for _, low := range []int64{1, 5, 10, 95, 990, 1907, 999_999, math.MaxInt64 - 49} {
			for _, n := range []int64{1, 9, 10, 11, 50, 1234} {
				b := Batch{span: s, low: low, n: min(n, math.MaxInt64-low+1)}
				if got, want := b.Strings(), slices.Collect(b.All()); !slices.Equal(got, want) {
					t.Errorf("%d from %d: %v, want %v", n, low, got, want)
				}
			}
		}
	}
	if got, want := long.text(math.MaxInt64), string(long.appendText(nil, math.MaxInt64)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestBatchZeroValueIsEmpty(t *testing.T) {
	t.Parallel()
	var b Batch
	if b.Len() != 0 || b.Range() != (Range{}) || b.Strings() != nil || len(slices.Collect(b.All())) != 0 || len(slices.Collect(b.IDs())) != 0 {
		t.Errorf("got length %d, range %v, texts %v, want an empty batch", b.Len(), b.Range(), b.Strings())
	}
}

func TestTakeBesideNextIssuesEachNumberOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		c := mustCollection(t, a, "orders")
		var mu sync.Mutex
		var numbers []int64
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				var mine []int64
				for i := range 200 {
					if g%2 == 0 {
						n, err := c.NextNumber(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						mine = append(mine, n)
						continue
					}
					want := int64(1 + (i*g)%700)
					batch, err := c.Take(t.Context(), want)
					if err != nil || batch.Len() != want {
						t.Errorf("got %d of %d, %v, want <nil>, %v", batch.Len(), want, err, want)
						return
					}
					for n := batch.Range().Low; n <= batch.Range().High; n++ {
						mine = append(mine, n)
					}
				}
				mu.Lock()
				numbers = append(numbers, mine...)
				mu.Unlock()
			})
		}
		wg.Wait()
		wantDistinct(t, numbers)
		if got := statsOf(a); got.Issued != int64(len(numbers)) {
			t.Errorf("got %d issued by the figures, %d in hand, want %v", got.Issued, len(numbers), int64(len(numbers)))
		}
	})
}

func TestTakeOfALargeBatchSendsOneRequestOfItsSize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		c := mustCollection(t, newFakeAllocator(t, Options{}, f), "orders")
		for range 3 {
			if _, err := c.Take(t.Context(), 1000); err != nil {
				t.Fatal(err)
			}
		}
		if f.calls() != 3 || f.max != 3000 {
			t.Errorf("got %d requests for %d numbers, want 3, 3000", f.calls(), f.max)
		}
	})
}

func TestTakeThatIsCanceledTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Second}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Take(ctx, 100); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if got := statsOf(a); got.Issued != 0 || got.Held != 100 {
			t.Errorf("got figures %+v, want 0, 100", got)
		}
		if n, err := c.NextNumber(t.Context()); n != 1 || err != nil {
			t.Errorf("got %d, %v, want 1, <nil>", n, err)
		}
	})
}

func TestTakeRefusesSizesOutOfRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		c := mustCollection(t, mustNew(t, client, Options{Limit: 50}), "orders")
		for _, n := range []int64{0, -1, maxRange + 1} {
			if _, err := c.Take(t.Context(), n); !errors.Is(err, ErrInvalidOptions) {
				t.Errorf("%d: got %v, want ErrInvalidOptions", n, err)
			}
		}
		if _, err := c.Take(t.Context(), 51); !errors.Is(err, ErrExhausted) {
			t.Errorf("more than there are: got %v, want ErrExhausted", err)
		}
		if batch, err := c.Take(t.Context(), 50); err != nil || batch.Range() != (Range{1, 50}) {
			t.Errorf("all there are: got %v, %v, want <nil>, %v", batch.Range(), err, (Range{1, 50}))
		}
	})
}

// nearItsEnd is a fake server whose counter ends at the limit.
type nearItsEnd struct{ fakeServer }

func (f *nearItsEnd) Next(ctx context.Context, k scripts.Keys, r scripts.NextRequest) (scripts.Range, error) {
	f.mu.Lock()
	r.Capacity = min(r.Capacity, r.Limit-f.max)
	f.mu.Unlock()
	if r.Capacity == 0 {
		return scripts.Range{}, scripts.ErrExhausted
	}
	return f.fakeServer.Next(ctx, k, r)
}

// A large Take that fails uses none of the numbers that a small one behind it needs.
func TestTakeIsServedAfterALargerTakeFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newFakeAllocator(t, Options{Limit: 10, MinCapacity: 1, MaxCapacity: 1}, &nearItsEnd{fakeServer{delay: time.Second}})
		c := mustCollection(t, a, "orders")
		large := make(chan error, 1)
		go func() {
			_, err := c.Take(t.Context(), 1000)
			large <- err
		}()
		synctest.Wait()
		if batch, err := c.Take(t.Context(), 1); err != nil || batch.Range() != (Range{1, 1}) {
			t.Errorf("got %+v, %v, want <nil>, %v", batch.Range(), err, (Range{1, 1}))
		}
		if err := <-large; !errors.Is(err, ErrExhausted) {
			t.Error(err)
		}
	})
}
