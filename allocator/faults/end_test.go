package faults

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Workers end in every possible way and are replaced. They are killed at work, terminated, and killed while they return what is
// left of their ranges.
func TestWorkersThatEndRepeatNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			s := redistest.Start(t, b)
			j := steady(at(s))
			j.Batch = 20
			f.start(4, j)
			f.awaitEach(100)
			ends := 0
			for began := time.Now(); ends < 9 || f.goesOn(began, 5*time.Second); ends++ {
				w := f.running()[rand.IntN(4)]
				switch ends % 3 {
				case 0:
					w.kill()
				case 1:
					w.signal(syscall.SIGTERM)
					w.wait()
				case 2:
					w.signal(syscall.SIGTERM)
					pass(rand.N(5 * time.Millisecond))
					w.kill()
				}
				f.start(1, j)[0].awaitUse(100)
			}
			t.Logf("%d workers ended", ends)
		})
	})
}
