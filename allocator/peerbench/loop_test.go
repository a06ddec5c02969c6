package peerbench_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// share measures work in a single loop, and in as many concurrent loops as there are processors.
//
// The concurrent loops differ from b.RunParallel in that work has the loop, so that no call of pb.Next is between two operations.
// That call would take as long as some of the operations, on both sides of a comparison, and flatter every ratio.
func share(b *testing.B, work func(n int)) {
	b.Helper()
	shareMany(b, 1, work)
}

// shareMany is like share, for operations that return many identifiers each.
func shareMany(b *testing.B, size int, work func(n int)) {
	b.Helper()
	run := func(b *testing.B, goroutines int) {
		b.Helper()
		shareAmong(b, goroutines, work)
		if size > 1 {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/id")
		}
	}
	b.Run("alone", func(b *testing.B) { run(b, 1) })
	b.Run("together", func(b *testing.B) { run(b, runtime.GOMAXPROCS(0)) }) // with one processor, alone once more
}

// shareAmong measures work(b.N), split over some goroutines.
func shareAmong(b *testing.B, goroutines int, work func(n int)) {
	b.Helper()
	b.ReportAllocs()
	portion := max(1, min(1024, b.N/(16*goroutines))) // small, so that all end at about the same time
	var left alone
	left.Store(int64(b.N))
	var running sync.WaitGroup
	b.ResetTimer()
	for range goroutines {
		running.Go(func() {
			for {
				rest := int(left.Add(int64(-portion))) + portion
				if rest <= 0 {
					return
				}
				work(min(portion, rest))
			}
		})
	}
	running.Wait()
	b.StopTimer()
}

// alone is a counter that shares its cache line with nothing.
type alone struct {
	_ [64]byte
	atomic.Int64
	_ [64]byte
}

// textLoop returns a loop over next, which returns one text per call. The indirect call is within the noise, since a text takes
// 20 ns or more.
func textLoop(b *testing.B, next func() (string, error)) (work func(n int)) {
	b.Helper()
	return func(n int) {
		var last string
		var err error
		for range n {
			if last, err = next(); err != nil {
				b.Error(err)
				return
			}
		}
		lastText.Store(&last)
	}
}

// Each loop stores its last result here, so that the compiler cannot remove it and every text is on the heap.
var (
	lastNumber atomic.Int64
	lastText   atomic.Pointer[string]
)

func reportRate(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ids/s")
}
