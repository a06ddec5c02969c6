package peerbench_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// BenchmarkWorkers measures one identifier while more and more goroutines request them of one collection.
func BenchmarkWorkers(b *testing.B) {
	client := redistest.NewClient(b, startServer(b))
	ctx := context.Background()
	for workers := 1; workers <= 64; workers *= 2 {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			ids, orders := warmOrders(ctx, b, client)
			before := rangesOf(ids)
			shareAmong(b, workers, textLoop(b, func() (string, error) { return orders.Next(ctx) }))
			reportRate(b)
			reportScripts(b, ids, before)
		})
	}
}

// BenchmarkCollections measures one identifier while each is of another collection, requested by name in random order. Each
// collection was used before.
func BenchmarkCollections(b *testing.B) {
	client := redistest.NewClient(b, startServer(b))
	ctx := context.Background()
	for collections := int64(1); collections <= 100_000; collections *= 10 {
		setUp := sync.OnceValues(func() (*allocator.Allocator, float64) { // it takes seconds for many
			ids := newAllocator(ctx, b, client, allocator.Options{})
			before := liveHeap()
			useOnce(ctx, b, ids, collections)
			return ids, float64(liveHeap()-before) / float64(collections)
		})
		b.Run(fmt.Sprintf("collections=%d", collections), func(b *testing.B) {
			ids, bytes := setUp()
			names := make([]string, min(collections, 1<<20))
			for i, j := range rand.Perm(len(names)) {
				names[i] = manyName(int64(j + 1))
			}
			before := rangesOf(ids)
			var turn atomic.Int64
			shareAmong(b, runtime.GOMAXPROCS(0), func(n int) {
				from := int(turn.Add(int64(n)))
				var last string
				var err error
				for i := range n {
					if last, err = ids.Next(ctx, names[(from+i)%len(names)]); err != nil {
						b.Error(err)
						return
					}
				}
				lastText.Store(&last)
			})
			reportRate(b)
			reportScripts(b, ids, before)
			if collections >= 1000 { // of fewer, the client's buffers are most
				b.ReportMetric(bytes, "B/collection")
			}
		})
	}
}

// BenchmarkRanges measures one identifier while ranges are of one size and do not grow. With small ones a tight loop waits for
// Redis most of the time.
func BenchmarkRanges(b *testing.B) {
	client := redistest.NewClient(b, startServer(b))
	ctx := context.Background()
	for size := int64(32); size <= 1<<20; size *= 8 {
		b.Run(fmt.Sprintf("range=%d", size), func(b *testing.B) {
			ids := newAllocator(ctx, b, client, allocator.Options{MinCapacity: size, MaxCapacity: size})
			orders, err := ids.Collection(collectionName)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := orders.Next(ctx); err != nil {
				b.Fatal(err)
			}
			before := rangesOf(ids)
			shareAmong(b, runtime.GOMAXPROCS(0), textLoop(b, func() (string, error) { return orders.Next(ctx) }))
			reportRate(b)
			reportScripts(b, ids, before)
		})
	}
}

// rangesOf returns how many ranges an allocator has taken.
func rangesOf(ids *allocator.Allocator) int64 {
	var ranges int64
	for _, c := range ids.Stats().Collections {
		ranges += c.Ranges
	}
	return ranges
}

func reportScripts(b *testing.B, ids *allocator.Allocator, before int64) {
	b.Helper()
	b.ReportMetric(float64(rangesOf(ids)-before)/float64(b.N)*1e6, "scripts/Mids")
}
