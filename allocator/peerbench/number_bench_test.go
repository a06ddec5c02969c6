package peerbench_test

import (
	"context"
	"testing"

	"github.com/bwmarrin/snowflake"
	"github.com/sony/sonyflake/v2"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// BenchmarkNumber measures a number without its text. It compares it with the one atomic operation that cannot be avoided, and
// with libraries whose identifiers are numbers.
func BenchmarkNumber(b *testing.B) {
	client := redistest.NewClient(b, startServer(b))
	ctx := context.Background()

	b.Run("atomic.Int64.Add", func(b *testing.B) {
		var counter alone
		share(b, func(n int) {
			var last int64
			for range n {
				last = counter.Add(1)
			}
			lastNumber.Store(last)
		})
	})
	b.Run("Collection.NextNumber", func(b *testing.B) {
		_, orders := warmOrders(ctx, b, client)
		share(b, func(n int) {
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
	})
	b.Run("bwmarrin/snowflake", func(b *testing.B) {
		node := newSnowflake(b)
		share(b, func(n int) {
			for range n {
				lastNumber.Store(node.Generate().Int64())
			}
		})
	})
	b.Run("sony/sonyflake", func(b *testing.B) {
		flake := newSonyflake(b)
		share(b, func(n int) {
			for range n {
				id, err := flake.NextID()
				if err != nil {
					b.Error(err)
					return
				}
				lastNumber.Store(id)
			}
		})
	})
	b.Run("INCR", func(b *testing.B) {
		share(b, func(n int) {
			for range n {
				number, err := client.Incr(ctx, collectionName).Result()
				if err != nil {
					b.Error(err)
					return
				}
				lastNumber.Store(number)
			}
		})
	})
}

func newSnowflake(tb testing.TB) *snowflake.Node {
	tb.Helper()
	node, err := snowflake.NewNode(1)
	if err != nil {
		tb.Fatal(err)
	}
	return node
}

func newSonyflake(tb testing.TB) *sonyflake.Sonyflake {
	tb.Helper()
	flake, err := sonyflake.New(sonyflake.Settings{MachineID: func() (int, error) { return 1, nil }})
	if err != nil {
		tb.Fatal(err)
	}
	return flake
}
