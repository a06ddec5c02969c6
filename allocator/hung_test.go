package allocator

import (
	"fmt"
	"sync"
	"testing"
	"time"
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

// Callers use 32 spellings of one name, and other names, while a server hangs. The requests for one name follow one another,
// and only the first may wait for its timeout. The test runs in real time because a synctest bubble cannot wait for a mutex that
// is held during a request.
func TestTakeWaitsBrieflyForAHungServer(t *testing.T) {
	t.Parallel()
	const timeout = 500 * time.Millisecond
	for _, name := range []string{"from the start", "later"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			north := &fakeServer{adds: "N/", origin: "n"}
			a := newFakeAllocator(t, Options{Runway: time.Nanosecond, MaxCapacity: 32, RefillTimeout: timeout}, north, &fakeServer{adds: "S/", origin: "s"})
			names := spellingsOf("orders", 32)
			for i := range 32 {
				names = append(names, fmt.Sprintf("other%c", 'A'+i))
			}
			var longest, late time.Duration // late is for how long this machine delayed a timer
			var mu sync.Mutex
			callers := func(during time.Duration) {
				var wg sync.WaitGroup
				wg.Go(func() {
					const wait = 20 * time.Millisecond
					for begin := time.Now(); time.Since(begin) <= during; {
						start := time.Now()
						<-time.After(wait)
						late = max(late, time.Since(start)-wait)
					}
				})
				for _, name := range names {
					wg.Go(func() {
						c := mustCollection(t, a, name)
						for begin := time.Now(); time.Since(begin) <= during; <-time.After(20 * time.Millisecond) {
							start := time.Now()
							if _, err := c.Take(t.Context(), 32); err != nil { // each needs a request, since none are in hand
								t.Errorf("%s: got %v, want <nil>", name, err)
							}
							mu.Lock()
							longest = max(longest, time.Since(start))
							mu.Unlock()
						}
					})
				}
				wg.Wait()
			}
			if name == "later" {
				callers(time.Second)
			}
			north.set(func() { north.hangs = true })
			callers(4 * time.Second)
			if longest > 3*timeout+2*late { // two requests, each of which may be late
				t.Errorf("got a wait of %v, want at most %v", longest, 3*timeout+2*late)
			}
			if longest < timeout {
				t.Errorf("got a longest wait of %v, want at least %v, or the test proves nothing", longest, timeout)
			}
			t.Logf("the longest wait was %v, and %v for nothing", longest, late)
		})
	}
}
