package peerbench_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// BenchmarkFullSpeed is 64 workers that want nothing but identifiers.
func BenchmarkFullSpeed(b *testing.B) {
	const workers = 64
	opts := startServer(b).Options()
	opts.PoolSize = workers // a connection for each, so that INCR waits for nothing but the server
	client := redis.NewClient(opts)
	b.Cleanup(func() { _ = client.Close() })
	ctx := context.Background()

	b.Run("INCR", func(b *testing.B) {
		shareAmong(b, workers, func(n int) {
			for range n {
				number, err := client.Incr(ctx, collectionName).Result()
				if err != nil {
					b.Error(err)
					return
				}
				lastNumber.Store(number)
			}
		})
		reportRate(b)
	})
	b.Run("Collection.NextNumber", func(b *testing.B) {
		_, orders := warmOrders(ctx, b, client)
		shareAmong(b, workers, func(n int) {
			var last int64
			var err error
			for range n {
				if last, err = orders.NextNumber(ctx); err != nil {
					b.Error(err)
					return
				}
			}
			lastNumber.Store(last)
		})
		reportRate(b)
	})
	b.Run("Collection.Next", func(b *testing.B) {
		_, orders := warmOrders(ctx, b, client)
		shareAmong(b, workers, textLoop(b, func() (string, error) { return orders.Next(ctx) }))
		reportRate(b)
	})
}

// BenchmarkServerTime is how long a script keeps the server busy, by the
// server's own clock, on each real server: ns/op is the round trip and of no
// interest, us/script is the figure.
func BenchmarkServerTime(b *testing.B) {
	for _, binary := range redistest.Binaries(b) {
		client := redistest.Start(b, binary).Client(b)
		ctx := context.Background()

		b.Run(binary.Name+"/HINCRBY and HGET", func(b *testing.B) {
			script := redis.NewScript(`
				local max = redis.call('HINCRBY', KEYS[1], 'Max', ARGV[1])
				return {max, redis.call('HGET', KEYS[2], 'ServerPrefix')}`)
			keys := []string{"{bare}/HiLo/orders", "{bare}/ServerPrefixForHilo"}
			if err := client.HSet(ctx, keys[1], "ServerPrefix", serverPrefix).Err(); err != nil {
				b.Fatal(err)
			}
			if err := script.Load(ctx, client).Err(); err != nil {
				b.Fatal(err)
			}
			timeScripts(ctx, b, client, func() error { return script.Run(ctx, client, keys, 32).Err() })
		})
		b.Run(binary.Name+"/next", func(b *testing.B) {
			ids := newAllocator(ctx, b, client, allocator.Options{MinCapacity: 1, MaxCapacity: 1}) // a script for each number
			timeScripts(ctx, b, client, func() error {
				_, err := ids.NextNumber(ctx, collectionName)
				return err
			})
		})
	}
}

// timeScripts calls once b.N times, and has the server say how long the scripts
// took of which that consists.
func timeScripts(ctx context.Context, b *testing.B, client *redis.Client, once func() error) {
	b.Helper()
	if err := once(); err != nil { // the first one may have to send the script
		b.Fatal(err)
	}
	before := commandStats(ctx, b, client)["evalsha"]
	for b.Loop() {
		if err := once(); err != nil {
			b.Fatal(err)
		}
	}
	after := commandStats(ctx, b, client)["evalsha"]
	b.ReportMetric((after.microseconds-before.microseconds)/float64(after.calls-before.calls), "us/script")
}
