package allocator

import (
	"slices"
	"sync"
	"testing"
)

// Single indexes, carved blocks and the seal compete. Every index up to the count that the seal returned is issued exactly once.
func TestSpanIssuesEachIndexOnceAndNoneAfterItsSeal(t *testing.T) {
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
			t.Fatalf("got %d indexes, want %d by the seal", len(given), used)
		}
		for i, index := range given {
			if index != int64(i+1) {
				t.Fatalf("index %d: got %d, want %v", i+1, index, int64(i+1))
			}
		}
	}
}

// A caller that sets a mark which was already passed must check for itself, since no later call crosses the mark.
func TestSpanReportsAMarkThatWasAlreadyPassed(t *testing.T) {
	t.Parallel()
	for used, want := range map[int64]map[int64]bool{
		5:  {0: false, 1: true, 5: true, 6: true},
		10: {0: false, 1: true}, // past the end there is no check, and none is needed
	} {
		for n, looks := range want {
			s := &span{size: 10}
			s.carve(used)
			if got := s.lookAfter(n); got != looks {
				t.Errorf("after %d, %d from there: got %v, want %v", used, n, got, looks)
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
			t.Fatalf("got mark %d, want %d", mark, s.size+1)
		}
		s.taken.Add(1)
	}
}

func TestSpanCarvesWhatFits(t *testing.T) {
	t.Parallel()
	s := &span{size: 10}
	if last, ok := s.carve(10); !ok || last != 10 {
		t.Errorf("all of it: got %d, %v, want 10, true", last, ok)
	}
	if _, ok := s.carve(1); ok {
		t.Error("one more: got an index, want none")
	}
	s = &span{size: maxRange}
	s.taken.Add(1)
	if _, ok := s.carve(maxRange); ok {
		t.Error("more than is left: got indexes, want none")
	}
}
