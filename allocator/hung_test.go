package allocator

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// spellingsOf returns n spellings of a name that share a counter.
func spellingsOf(name string, n int) []string {
	var all []string
	for i := range n {
		text := []byte(name)
		for bit := range text {
			if i&(1<<bit) != 0 {
				text[bit] -= 'a' - 'A'
			}
		}
		all = append(all, string(text))
	}
	return all
}

// stuck is a server whose requests for ranges stay without a reply until they are released, if release is not nil. asked has a
// buffer and is sent the first of them.
type stuck struct {
	fakeServer
	asked, release chan struct{}
}

func (s *stuck) Next(ctx context.Context, keys scripts.Keys, r scripts.NextRequest) (got scripts.Range, err error) {
	got, err = s.fakeServer.Next(ctx, keys, r)
	if s.release != nil {
		select {
		case s.asked <- struct{}{}:
		default:
		}
		<-s.release
	}
	return got, err
}

// Callers use 32 spellings of one name, and other names, while a server hangs. The requests for one name follow one another, and
// only the first waits: when it ends without a reply the others find the server in back-off. They are counted, because a busy
// machine delays each of them. The test runs in real time because a synctest bubble cannot wait for a mutex that is held during a
// request.
func TestCallersOfOneNameWaitForOneRequestToAHungServer(t *testing.T) {
	t.Parallel()
	const backoff = 50 * time.Millisecond // the first is no shorter
	for _, name := range []string{"from the start", "later"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			north := &stuck{fakeServer: fakeServer{adds: "N/", origin: "n"}, asked: make(chan struct{}, 1)}
			opts := Options{Runway: time.Nanosecond, MaxCapacity: 32, RefillTimeout: time.Minute}
			a := newFakeAllocator(t, opts, north, &fakeServer{adds: "S/", origin: "s"})
			names := spellingsOf("orders", 32)
			for i := range 32 {
				names = append(names, fmt.Sprintf("other%c", 'A'+i))
			}
			takeAll := func() *sync.WaitGroup {
				var wg sync.WaitGroup
				for _, name := range names {
					wg.Go(func() {
						if _, err := mustCollection(t, a, name).Take(t.Context(), 32); err != nil { // needs a request, since none are in hand
							t.Errorf("%s: got %v, want <nil>", name, err)
						}
					})
				}
				return &wg
			}
			if name == "later" {
				takeAll().Wait()
			}
			before := north.calls()
			north.set(func() { north.release, north.refuses = make(chan struct{}), errHung })
			all := takeAll()
			<-north.asked
			for range 1000 {
				runtime.Gosched() // until they wait for their turn
			}
			released := time.Now()
			close(north.release)
			all.Wait()
			sent, limit := 0, 2+int(time.Since(released)/backoff)
			north.set(func() {
				for _, r := range north.requests[before:] {
					if prefix.Fold(r.Name) == "orders" {
						sent++
					}
				}
			})
			if sent > limit {
				t.Errorf("got %d requests for orders to the server that hangs, want at most %d", sent, limit)
			}
		})
	}
}
