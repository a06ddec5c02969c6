package peerbench_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// BenchmarkFleetStart measures the start of a fleet on one Redis. The allocators start at the same time, each with an open
// connection of its own, and take a first identifier of each of 5 collections in turn. ns/op is the time until the last one has
// all of them.
func BenchmarkFleetStart(b *testing.B) {
	const most, collections = 10_000, 5
	binaries := redistest.Binaries(b)
	if len(binaries) == 0 {
		b.Skip("a fleet of one process with its Redis in it shows nothing")
	}
	s := redistest.Start(b, binaries[0], "--maxclients", fmt.Sprint(most+1000))
	clients := connect(b, s, most)
	names := make([]string, collections)
	for i := range names {
		names[i] = manyName(int64(i + 1))
	}
	for allocators := 100; allocators <= most; allocators *= 10 {
		b.Run(fmt.Sprintf("allocators=%d", allocators), func(b *testing.B) {
			ctx := context.Background()
			before := commandStats(ctx, b, clients[0])["evalsha"]
			var waits []time.Duration
			for b.Loop() {
				waits = append(waits, startFleet(ctx, b, clients[:allocators], names)...)
			}
			after := commandStats(ctx, b, clients[0])["evalsha"]
			slices.Sort(waits)
			b.ReportMetric(float64(len(waits))/b.Elapsed().Seconds(), "ids/s")
			b.ReportMetric(waits[len(waits)/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(waits[len(waits)*99/100].Seconds()*1000, "p99-ms")
			b.ReportMetric((after.microseconds-before.microseconds)/float64(after.calls-before.calls), "us/script")
		})
	}
}

// connect opens n connections, some at a time, each with a client of its own.
func connect(b *testing.B, s *redistest.Server, n int) []*redis.Client {
	b.Helper()
	clients := make([]*redis.Client, n)
	turns := make(chan struct{}, 64)
	var all sync.WaitGroup
	for i := range clients {
		options := redistest.Options(s)
		options.PoolSize, options.ReadBufferSize, options.WriteBufferSize = 1, 4096, 4096
		clients[i] = redis.NewClient(options)
		b.Cleanup(func() { _ = clients[i].Close() })
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			if err := clients[i].Ping(context.Background()).Err(); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	return clients
}

// startFleet starts an allocator with each client, and returns how long each first identifier took. The time to create and to
// close the allocators is not measured.
func startFleet(ctx context.Context, b *testing.B, clients []*redis.Client, names []string) []time.Duration {
	b.Helper()
	b.StopTimer()
	namespace := fmt.Sprintf("fleet%d", namespaces.Add(1))
	initialize(ctx, b, clients[0], namespace)
	fleet := make([]*allocator.Allocator, len(clients))
	for i, client := range clients {
		var err error
		if fleet[i], err = allocator.New(client, allocator.Options{Namespace: namespace}); err != nil {
			b.Fatal(err)
		}
	}
	waits := make([]time.Duration, len(fleet)*len(names))
	ready := make(chan struct{})
	var all sync.WaitGroup
	for i, ids := range fleet {
		all.Go(func() {
			<-ready
			for j, name := range names {
				start := time.Now()
				for _, err := ids.Next(ctx, name); err != nil; _, err = ids.Next(ctx, name) { // as a worker tries on
					if !errors.Is(err, allocator.ErrUnavailable) {
						b.Error(err)
						return
					}
				}
				waits[i*len(names)+j] = time.Since(start)
			}
		})
	}
	b.StartTimer()
	close(ready)
	all.Wait()
	b.StopTimer()
	for _, ids := range fleet {
		all.Go(func() { _ = ids.Close(ctx) })
	}
	all.Wait()
	b.StartTimer()
	return waits
}
