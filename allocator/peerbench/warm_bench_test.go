package peerbench_test

import (
	"context"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// BenchmarkWarm measures, per collection, the time until 10,000 collections of a new allocator have a range in hand. It compares
// Warm with a first Next of each collection, one after the other.
func BenchmarkWarm(b *testing.B) {
	client := redistest.NewClient(b, startServer(b))
	names := make([]string, 10_000)
	for i := range names {
		names[i] = manyName(int64(i + 1))
	}
	run := func(begin func(ctx context.Context, ids *allocator.Allocator) error) func(b *testing.B) {
		return func(b *testing.B) {
			b.Helper()
			ctx := context.Background()
			for b.Loop() {
				b.StopTimer()
				ids := newAllocator(ctx, b, client, allocator.Options{})
				b.StartTimer()
				if err := begin(ctx, ids); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := ids.Close(ctx); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(names)), "ns/id")
		}
	}
	b.Run("Allocator.Next", run(func(ctx context.Context, ids *allocator.Allocator) error {
		for _, name := range names {
			if _, err := ids.Next(ctx, name); err != nil {
				return err
			}
		}
		return nil
	}))
	b.Run("Allocator.Warm", run(func(ctx context.Context, ids *allocator.Allocator) error { return ids.Warm(ctx, names...) }))
}
