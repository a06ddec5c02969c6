package allocator

import (
	"context"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// gatedServer replies to a request when the test permits it.
type gatedServer struct {
	fakeServer
	arrived chan arrival
	through chan struct{}
}

type arrival struct {
	request  scripts.NextRequest
	deadline time.Time
}

func (g *gatedServer) Next(ctx context.Context, keys scripts.Keys, r scripts.NextRequest) (scripts.Range, error) {
	deadline, _ := ctx.Deadline()
	g.arrived <- arrival{r, deadline}
	<-g.through
	return g.fakeServer.Next(ctx, keys, r)
}

// Spellings of a name share a counter. A request for one spelling waits for the request in flight for another, since its floor
// depends on that result. Its timeout starts after the wait.
func TestNextOfAnotherSpellingWaitsForTheFloor(t *testing.T) {
	t.Parallel()
	g := &gatedServer{arrived: make(chan arrival), through: make(chan struct{})}
	a := newFakeAllocator(t, Options{RefillTimeout: time.Hour, Runway: time.Nanosecond}, g)

	const spellings = 3
	errs := make(chan error, spellings)
	collections := []*Collection{mustCollection(t, a, "orders"), mustCollection(t, a, "Orders"), mustCollection(t, a, "ORDERS")}
	for _, c := range collections {
		go func() {
			_, err := c.Next(context.Background())
			errs <- err
		}()
	}
	begun := func(c *Collection) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.refill != nil && len(a.refillSlots) == spellings
	}
	var floor int64
	var released time.Time
	for turn := range spellings {
		got := <-g.arrived
		if got.request.Floor != floor {
			t.Errorf("request %d: got floor %d, want %d", turn+1, got.request.Floor, floor)
		}
		if turn > 0 && got.deadline.Before(released.Add(a.opts.RefillTimeout)) {
			t.Errorf("request %d: got the deadline %v, want %v, a timeout after its turn", turn+1, got.deadline, released.Add(a.opts.RefillTimeout))
		}
		if turn == 0 { // the others wait for the first one only
			for _, c := range collections {
				for !begun(c) {
					<-time.After(time.Millisecond)
				}
			}
			select {
			case other := <-g.arrived:
				t.Fatalf("got %+v beside the first request, want one request at a time", other.request)
			case <-time.After(20 * time.Millisecond):
			}
		}
		floor += got.request.Capacity
		released = time.Now()
		g.through <- struct{}{}
	}
	for range spellings {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
