package allocator

import (
	"context"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// gatedServer answers a request when it is let through.
type gatedServer struct {
	fakeServer
	arrived chan arrival
	through chan struct{}
}

type arrival struct {
	request  scripts.NextRequest
	deadline time.Time
}

func (g *gatedServer) next(ctx context.Context, keys scripts.Keys, r scripts.NextRequest) (scripts.Range, error) {
	deadline, _ := ctx.Deadline()
	g.arrived <- arrival{r, deadline}
	<-g.through
	return g.fakeServer.next(ctx, keys, r)
}

// Two spellings of a name have one counter: while one is asked for, the request
// of the other waits, as it would not know what the first one is given. Nor does
// its time run.
func TestARequestOfAnotherSpellingWaitsForTheFloor(t *testing.T) {
	t.Parallel()
	g := &gatedServer{arrived: make(chan arrival), through: make(chan struct{})}
	opts, err := Options{RefillTimeout: time.Hour, Runway: time.Nanosecond}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	a := newAllocator(opts, &server{backend: g, namespace: opts.Namespace, longest: longestBackoff})
	t.Cleanup(func() { _ = a.Close(context.Background()) })

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
		a.refills.mu.Lock()
		defer a.refills.mu.Unlock()
		return c.flight != nil && len(a.refills.waiting) == 0
	}
	var floor int64
	var released time.Time
	for turn := range spellings {
		got := <-g.arrived
		if got.request.Floor != floor {
			t.Errorf("request %d has the floor %d, and %d was given before", turn+1, got.request.Floor, floor)
		}
		if turn > 0 && got.deadline.Before(released.Add(opts.RefillTimeout)) {
			t.Errorf("the time of request %d began %v before its turn", turn+1, released.Add(opts.RefillTimeout).Sub(got.deadline))
		}
		if turn == 0 { // the others come to the point where nothing but the first one keeps them
			for _, c := range collections {
				for !begun(c) {
					<-time.After(time.Millisecond)
				}
			}
			select {
			case other := <-g.arrived:
				t.Fatalf("while the first request is under way there comes %+v", other.request)
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
