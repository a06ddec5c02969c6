package allocator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// distant is a fake server whose every answer takes a round trip, also that to what it says of itself.
type distant struct {
	fakeServer
	trip time.Duration
}

func (d *distant) describe(ctx context.Context, key string) (scripts.Description, error) {
	d.mu.Lock()
	away := d.hangs || d.refuses != nil
	d.mu.Unlock()
	if !away {
		<-time.After(d.trip)
	}
	return d.fakeServer.describe(ctx, key)
}

// The first identifier waits until all masters are known. The others are asked side by side, and then its own again, so
// that it costs two round trips more, however many they are; one that hangs costs RefillTimeout, and once more where it
// was tried first.
func TestTheFirstIdentifierIsDelayedLittle(t *testing.T) {
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
				opts, err := Options{}.withDefaults()
				if err != nil {
					t.Fatal(err)
				}
				var servers []*server
				var masters []*distant
				for i := range test.masters {
					d := &distant{fakeServer: fakeServer{adds: fmt.Sprintf("%c/", 'A'+i), origin: fmt.Sprint(i), delay: trip}, trip: trip}
					if test.does != nil && i == test.of {
						test.does(d)
					}
					masters = append(masters, d)
					servers = append(servers, &server{name: fmt.Sprint(i), backend: d, namespace: "Raven", longest: longestBackoffOfMany})
				}
				a := newAllocator(opts, servers...)
				t.Cleanup(func() { _ = a.Close(context.Background()) })
				start := time.Now()
				var wg sync.WaitGroup
				for i := range 10 { // collections that begin together share the asking
					c := mustCollection(t, a, fmt.Sprintf("c%c", 'A'+i))
					wg.Go(func() {
						if _, err := c.Next(t.Context()); err != nil || time.Since(start) > test.first {
							t.Errorf("%v after %v, want %v", err, time.Since(start), test.first)
						}
					})
				}
				wg.Wait()
				if took := time.Since(start); took != test.first {
					t.Errorf("it took %v, want %v", took, test.first)
				}
				if test.masters > 1 {
					if asked := masters[test.masters-1].questions(); asked > 2 { // for the first, and in the background
						t.Errorf("it was asked %d times", asked)
					}
				}
				for _, name := range []string{"later", "latest"} {
					start = time.Now()
					if _, err := mustCollection(t, a, name).Next(t.Context()); err != nil || time.Since(start) > trip {
						t.Errorf("another collection: %v after %v", err, time.Since(start))
					}
				}
			})
		})
	}
}
