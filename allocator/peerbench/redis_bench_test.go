package peerbench_test

import (
	"context"
	"crypto/rand"
	"math"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// BenchmarkFullSpeed measures 64 workers that do nothing but request identifiers.
func BenchmarkFullSpeed(b *testing.B) {
	const workers = 64
	opts := redistest.Options(startServer(b))
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

// BenchmarkServerTime measures how long a script keeps each real server busy, by the server's own clock. us/script is the result,
// and ns/op has no meaning. The two scripts alternate, so that other load on the machine affects both.
func BenchmarkServerTime(b *testing.B) {
	for _, binary := range redistest.Binaries(b) {
		client := redistest.NewClient(b, redistest.Start(b, binary))
		ctx := context.Background()

		script := redis.NewScript(`
			local max = redis.call('HINCRBY', KEYS[1], 'Max', ARGV[1])
			return {max, redis.call('HGET', KEYS[2], 'ServerPrefix')}`)
		keys := []string{"{bare}/HiLo/orders", "{bare}/ServerPrefixForHilo"}
		if err := client.HSet(ctx, keys[1], "ServerPrefix", serverPrefix).Err(); err != nil {
			b.Fatal(err)
		}
		bare := func() error { return script.Run(ctx, client, keys, 32).Err() }

		// The allocator would continue in the background, so its request is built here.
		request := scripts.NextRequest{Name: collectionName, Capacity: 32, Limit: math.MaxInt64}
		orders := scripts.Keys{Counter: "{bench}/HiLo/orders", Server: "{bench}/ServerPrefixForHilo", Other: "{bench}/Identities/orders"}
		if err := client.HSet(ctx, orders.Server, "ServerPrefix", serverPrefix).Err(); err != nil {
			b.Fatal(err)
		}
		next := func() error {
			request.Token = rand.Text()
			got, err := scripts.Next(ctx, client, orders, request)
			request.Floor = got.High
			return err
		}

		b.Run(binary.Name+"/HINCRBY and HGET", func(b *testing.B) { timeScripts(ctx, b, client, bare, next) })
		b.Run(binary.Name+"/next", func(b *testing.B) { timeScripts(ctx, b, client, next, bare) })
	}
}

// timeScripts calls measured and company in turns of 100, and reports the median of how long the scripts of measured took on the
// server.
func timeScripts(ctx context.Context, b *testing.B, client *redis.Client, measured, company func() error) {
	b.Helper()
	turn := func(call func() error) (microseconds float64) {
		before := commandStats(ctx, b, client)["evalsha"]
		for range 100 {
			if err := call(); err != nil {
				b.Fatal(err)
			}
		}
		after := commandStats(ctx, b, client)["evalsha"]
		return (after.microseconds - before.microseconds) / float64(after.calls-before.calls)
	}
	turn(company) // the first ones may have to send the script
	turn(measured)
	var turns []float64
	for b.Loop() {
		turn(company)
		turns = append(turns, turn(measured))
	}
	slices.Sort(turns)
	b.ReportMetric(turns[len(turns)/2], "us/script")
}
