package peerbench_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

//nolint:paralleltest // it measures the heap of the process
func TestHundredThousandCollectionsAreSmall(t *testing.T) {
	const (
		collections = 100_000
		mostBytes   = 700 // of live heap, each
		mostTrips   = 250 // of Close, in all
		// These are a refiller per allocator, and what a client runs per connection, but none per collection.
		mostGoroutines = 100
	)
	binaries := redistest.Binaries(t)
	if len(binaries) == 0 {
		redistest.Missing(t, "a real server; miniredis would be in the heap that is measured")
	}
	client := redistest.NewClient(t, redistest.Start(t, binaries[0]))
	sent := new(sentCommands)
	client.AddHook(sent)
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}

	goroutines, heap := runtime.NumGoroutine(), liveHeap()
	useOnce(t.Context(), t, ids, collections)
	grown := float64(liveHeap()-heap) / collections
	t.Logf("%.0f bytes and %d goroutines more for %d collections", grown, runtime.NumGoroutine()-goroutines, collections)
	if grown > mostBytes {
		t.Errorf("%.0f bytes of live heap per collection, want at most %d", grown, mostBytes)
	}
	if more := runtime.NumGoroutine() - goroutines; more > mostGoroutines {
		t.Errorf("%d goroutines more, want at most %d", more, mostGoroutines)
	}

	before := sent.roundTrips()
	if err := ids.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	trips := sent.roundTrips() - before
	t.Logf("Close took %d round trips", trips)
	if trips > mostTrips {
		t.Errorf("Close took %d round trips, want at most %d", trips, mostTrips)
	}
	for _, c := range ids.Stats().Collections {
		if c.Issued != 1 || c.Returned != c.Reserved-1 || c.Burnt != 0 {
			t.Fatalf("after Close: %+v, want all but one number returned", c)
		}
	}
	if n := len(ids.Stats().Collections); n != collections {
		t.Errorf("%d collections were used, want %d", n, collections)
	}
}

// useOnce takes one identifier of each of many collections.
func useOnce(ctx context.Context, tb testing.TB, ids *allocator.Allocator, collections int64) {
	tb.Helper()
	const workers = 64
	var used atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for {
				i := used.Add(1)
				if i > collections {
					return
				}
				if _, err := ids.Next(ctx, manyName(i)); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
}

func manyName(i int64) string { return fmt.Sprintf("orders%06d", i) }

// liveHeap returns the size of the heap after two garbage collections. The first one only empties the pools.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
