package allocator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// distant is a fake server whose every reply takes a round trip, that to a description too.
type distant struct {
	fakeServer
	trip time.Duration
}

func (d *distant) Describe(ctx context.Context, key string, how fleet.How) (scripts.Description, error) {
	d.mu.Lock()
	away := d.hangs || d.refuses != nil
	d.mu.Unlock()
	if !away {
		<-time.After(d.trip)
	}
	return d.fakeServer.Describe(ctx, key, how)
}

// The first identifier waits until every server was compared with the others. They are contacted in parallel, and then the
// issuing server once more, so that it costs two more round trips whatever the number of servers. A server that hangs costs one
// RefillTimeout, and two if it is tried first.
func TestNextDelaysTheFirstIdentifierByTwoRoundTrips(t *testing.T) {
	t.Parallel()
	const trip = 10 * time.Millisecond // several of them are over before the first back-off
	hang := func(d *distant) { d.hangs = true }
	refuse := func(d *distant) { d.refuses = errHung }
	tests := []struct {
		name    string
		masters int
		of      int // that does not serve
		does    func(*distant)
		first   time.Duration
	}{
		{"one alone", 1, 0, nil, trip},
		{"two up", 2, 0, nil, 3 * trip},
		{"five up", 5, 0, nil, 3 * trip},
		{"the preferred one refuses", 2, 0, refuse, 2 * trip},
		{"the preferred one of three refuses", 3, 0, refuse, 3 * trip},
		{"the other one refuses", 2, 1, refuse, 2 * trip},
		{"the preferred one hangs", 2, 0, hang, 2*defaultRefillTimeout + 2*trip},
		{"the other one hangs", 2, 1, hang, 2*trip + defaultRefillTimeout},
		{"the last of three hangs", 3, 2, hang, 2*trip + defaultRefillTimeout},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var backends []fleet.Backend
				var masters []*distant
				for i := range test.masters {
					d := &distant{fakeServer: fakeServer{adds: fmt.Sprintf("%c/", 'A'+i), origin: fmt.Sprint(i), delay: trip}, trip: trip}
					if test.does != nil && i == test.of {
						test.does(d)
					}
					masters = append(masters, d)
					backends = append(backends, d)
				}
				a := newFakeAllocator(t, Options{}, backends...)
				start := time.Now()
				var wg sync.WaitGroup
				for i := range 10 { // collections that start together share the requests
					c := mustCollection(t, a, fmt.Sprintf("c%c", 'A'+i))
					wg.Go(func() {
						if _, err := c.Next(t.Context()); err != nil || time.Since(start) > test.first {
							t.Errorf("got %v after %v, want <nil> within %v", err, time.Since(start), test.first)
						}
					})
				}
				wg.Wait()
				if took := time.Since(start); took != test.first {
					t.Errorf("got the identifier after %v, want %v", took, test.first)
				}
				if test.masters > 1 {
					if asked := masters[test.masters-1].descriptions(); asked > 2 { // one for the first identifier, one in the background
						t.Errorf("got %d descriptions, want at most 2", asked)
					}
				}
				for _, name := range []string{"later", "latest"} {
					start = time.Now()
					if _, err := mustCollection(t, a, name).Next(t.Context()); err != nil || time.Since(start) > trip {
						t.Errorf("another collection: got %v after %v, want <nil> within %v", err, time.Since(start), trip)
					}
				}
			})
		})
	}
}
