package allocator

import (
	"slices"
	"sync"
	"testing"
)

// Handing out, carving and sealing run against each other; afterwards every
// index was given at most once, and those before the seal's count exactly once.
func TestSpanGivesEachIndexOnceAndNoneAfterItsSeal(t *testing.T) {
	t.Parallel()
	for range 200 {
		s := &span{size: 3000}
		var mu sync.Mutex
		var given []int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range 4 {
			wg.Go(func() {
				<-start
				var mine []int64
				for {
					i := s.taken.Add(1)
					if i > s.size {
						break
					}
					mine = append(mine, i)
					if last, ok := s.carve(3); ok {
						mine = append(mine, last-2, last-1, last)
					}
				}
				mu.Lock()
				given = append(given, mine...)
				mu.Unlock()
			})
		}
		var used int64
		wg.Go(func() {
			<-start
			for range 100 {
				s.taken.Load()
			}
			used = s.seal()
		})
		close(start)
		wg.Wait()
		slices.Sort(given)
		if int64(len(given)) != used {
			t.Fatalf("%d indexes were given, the seal counted %d", len(given), used)
		}
		for i, index := range given {
			if index != int64(i+1) {
				t.Fatalf("index %d is %d", i+1, index)
			}
		}
	}
}

// Whoever sets a mark that was passed by then has to look himself: nobody else will.
func TestSpanTellsOfAMarkThatWasPassed(t *testing.T) {
	t.Parallel()
	for used, want := range map[int64]map[int64]bool{
		5:  {0: false, 1: true, 5: true, 6: true},
		10: {0: false, 1: true}, // past the end nobody looks, and nobody needs to
	} {
		for n, looks := range want {
			s := &span{size: 10}
			s.carve(used)
			if got := s.lookAfter(n); got != looks {
				t.Errorf("after %d, %d from there: %v", used, n, got)
			}
		}
	}
}

func TestSpanNeverMarksPastItsEnd(t *testing.T) {
	t.Parallel()
	s := &span{size: 10}
	for range 20 {
		s.lookAfter(1000)
		if mark := s.mark.Load(); mark != s.size+1 {
			t.Fatalf("mark %d", mark)
		}
		s.taken.Add(1)
	}
}

func TestSpanCarvesWhatFits(t *testing.T) {
	t.Parallel()
	s := &span{size: 10}
	if last, ok := s.carve(10); !ok || last != 10 {
		t.Errorf("all of it: %d %v", last, ok)
	}
	if _, ok := s.carve(1); ok {
		t.Error("one more")
	}
	s = &span{size: largestRange}
	s.taken.Add(1)
	if _, ok := s.carve(largestRange); ok {
		t.Error("more than is left")
	}
}
