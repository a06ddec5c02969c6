package allocator

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// stuck is a server whose requests for ranges stay without a reply until they are released, if release is not nil.
type stuck struct {
	fakeServer
	release chan struct{}
}

func (s *stuck) Next(ctx context.Context, keys scripts.Keys, r scripts.NextRequest) (got scripts.Range, err error) {
	got, err = s.fakeServer.Next(ctx, keys, r)
	if s.release != nil {
		<-s.release
	}
	return got, err
}

// Callers use 32 spellings of one name while a server hangs. Their requests follow one another, and only the first is sent: when
// it times out the others find the server in back-off. The clock of the bubble stands still while they wait for their turn, a
// mutex, so that the back-off cannot end meanwhile.
func TestCallersOfOneNameWaitForOneRequestToAHungServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"from the start", "later"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				north := &stuck{fakeServer: fakeServer{adds: "N/", origin: "n"}}
				a := newFakeAllocator(t, Options{Runway: time.Nanosecond, MaxCapacity: 32}, north, &fakeServer{adds: "S/", origin: "s"})
				takeAll := func() *sync.WaitGroup {
					var wg sync.WaitGroup
					for _, name := range spellingsOf("orders", 32) {
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
				before, start := north.calls(), time.Now()
				north.set(func() { north.release, north.refuses = make(chan struct{}), errHung })
				all := takeAll()
				for n := 0; n < 1000 || north.calls() == before; n++ {
					runtime.Gosched() // until they wait for their turn
				}
				close(north.release)
				all.Wait()
				if n := north.calls() - before; n != 1 {
					t.Errorf("got %d requests to the server that hangs, want 1", n)
				}
				if waited := time.Since(start); waited > 0 {
					t.Errorf("waited for %v after it, want 0s", waited)
				}
			})
		})
	}
}
