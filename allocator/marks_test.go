package allocator

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// markServer issues ranges with an epoch, and values of identities that a forced seed lowered.
type markServer struct {
	fakeServer
	epoch, lowered int64
	value          int64
	values         []scripts.IdentityRequest
}

func (m *markServer) Next(ctx context.Context, keys scripts.Keys, r scripts.NextRequest) (scripts.Range, error) {
	got, err := m.fakeServer.Next(ctx, keys, r)
	got.Epoch = m.epoch
	return got, err
}

func (m *markServer) Identity(_ context.Context, _ scripts.Keys, r scripts.IdentityRequest) (scripts.Range, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values = append(m.values, r)
	m.value += r.Count
	return scripts.Range{Low: m.value - r.Count + 1, High: m.value, Epoch: m.epoch, Lowered: m.lowered, Prefix: m.adds, Seconds: 1}, nil
}

func TestNextSendsTheFloorAndTheEpochOfTheReplyBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &markServer{epoch: 3}
		c := mustCollection(t, newFakeAllocator(t, Options{MaxCapacity: 32, Runway: time.Nanosecond}, m), "orders")
		for range 33 {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := m.requests[1]; got.Floor != 32 || got.Epoch != 3 {
			t.Errorf("got floor %d, epoch %d, want 32, 3", got.Floor, got.Epoch)
		}
	})
}

func TestNextIdentitySendsTheMarksOfTheReplyBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &markServer{epoch: 3, lowered: 2}
		a := newFakeAllocator(t, Options{}, m)
		for range 2 {
			if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
				t.Fatal(err)
			}
		}
		if got := m.values[1]; got.Floor != 1 || got.Epoch != 3 || got.Lowered != 2 {
			t.Errorf("got floor %d, epoch %d, lowered %d, want 1, 3, 2", got.Floor, got.Epoch, got.Lowered)
		}
	})
}

// The server lost the key of the other kind, so it does not refuse the name itself.
func TestNextRefusesANameOfBothKindsThatTheServerForgot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name, adds string
			want       error
		}{{"without a prefix", "", ErrMixed}, {"with a prefix", "N/", nil}} {
			first := newFakeAllocator(t, Options{}, &markServer{fakeServer: fakeServer{adds: test.adds}})
			_, err1 := first.NextIdentity(t.Context(), "orders")
			_, err2 := first.Next(t.Context(), "orders")
			second := newFakeAllocator(t, Options{}, &markServer{fakeServer: fakeServer{adds: test.adds}})
			_, err3 := second.Next(t.Context(), "orders")
			_, err4 := second.NextIdentity(t.Context(), "orders")
			if err1 != nil || !errors.Is(err2, test.want) || err3 != nil || !errors.Is(err4, test.want) {
				t.Errorf("%s: got %v, then %v; %v, then %v, want %v for the second kind", test.name, err1, err2, err3, err4, test.want)
			}
		}
	})
}

func TestNextIssuesAnotherRangeAfterOneThatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{Durability: Durability{Replicas: 1, Timeout: time.Millisecond}})
		for want := int64(1); want <= 3; want++ {
			if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrNotDurable) {
				t.Errorf("got %q, %v, want ErrNotDurable", id, err)
			}
			if got := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Ranges").Val(); got != strconv.FormatInt(want, 10) {
				t.Errorf("got %s ranges, want %d", got, want)
			}
		}
	})
}

func TestCloseCountsARangeThatArrivesAfterItAsBurnt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &heldServer{resume: make(chan struct{})}
		a := newFakeAllocator(t, Options{}, h)
		c := mustCollection(t, a, "orders")
		c.TryNext()
		h.resume <- struct{}{}
		synctest.Wait() // with a range, and the next one not wanted yet
		before := a.Stats().Collections[0].Reserved
		go func() { _, _ = c.Take(context.Background(), 1000) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		close(h.resume)
		synctest.Wait()
		if got := a.Stats().Collections[0]; got.Reserved != before+1000 || got.Burnt != got.Reserved || got.Held != 0 {
			t.Errorf("got %d reserved, %d burnt, %d held, want %d, the same, 0", got.Reserved, got.Burnt, got.Held, before+1000)
		}
	})
}
