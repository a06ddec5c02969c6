package allocator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts"
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
	return scripts.Range{Low: m.value - r.Count + 1, High: m.value, Epoch: m.epoch, Lowered: m.lowered, Prefix: m.adds}, nil
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
