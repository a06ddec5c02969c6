package peerbench_test

import (
	"context"
	crand "crypto/rand"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// bareAppend does the least that an identifier's text costs once its number is known. head is everything before the number.
func bareAppend(dst []byte, head string, number int64) []byte {
	dst = append(dst, head...)
	return strconv.AppendInt(dst, number, 10)
}

// bareString runs bareAppend on the stack and makes the one allocation that a string needs. The ratios are relative to it rather
// than to plainString, since it is the fastest obvious code.
func bareString(head string, number int64) string {
	var buffer [64]byte
	return string(bareAppend(buffer[:0], head, number))
}

// plainString does the same in the simplest way, with two allocations.
func plainString(head string, number int64) string {
	return head + strconv.FormatInt(number, 10)
}

// knownHead is a variable, so that its text and length are not constants for the compiler.
var knownHead = head

// BenchmarkAppend measures a text that is appended to a buffer of the caller.
func BenchmarkAppend(b *testing.B) {
	client := redistest.NewClient(b, startServer(b))
	ctx := context.Background()

	b.Run("append of prefix and number", func(b *testing.B) {
		share(b, func(n int) {
			buffer := make([]byte, 0, 64)
			for i := range n {
				buffer = bareAppend(buffer[:0], knownHead, firstNumber+int64(i))
			}
			lastNumber.Store(int64(len(buffer)))
		})
	})
	b.Run("Collection.AppendNext", func(b *testing.B) {
		_, orders := warmOrders(ctx, b, client)
		share(b, func(n int) {
			buffer := make([]byte, 0, 64)
			var err error
			for range n {
				if buffer, err = orders.AppendNext(ctx, buffer[:0]); err != nil {
					b.Error(err)
					return
				}
			}
			lastNumber.Store(int64(len(buffer)))
		})
	})
}

// BenchmarkText measures a text that is returned as a string.
func BenchmarkText(b *testing.B) {
	client := redistest.NewClient(b, startServer(b))
	ctx := context.Background()

	bare := func(name string, format func(head string, number int64) string) {
		b.Run(name, func(b *testing.B) {
			share(b, func(n int) {
				var last string
				for i := range n {
					last = format(knownHead, firstNumber+int64(i))
				}
				lastText.Store(&last)
			})
		})
	}
	bare("string(append) of prefix and number", bareString)
	bare("prefix + strconv.FormatInt", plainString)
	b.Run("atomic.Int64.Add and string(append)", func(b *testing.B) {
		var counter alone
		counter.Store(firstNumber)
		share(b, func(n int) {
			var last string
			for range n {
				last = bareString(knownHead, counter.Add(1))
			}
			lastText.Store(&last)
		})
	})

	b.Run("Collection.Next", func(b *testing.B) {
		_, orders := warmOrders(ctx, b, client)
		share(b, textLoop(b, func() (string, error) { return orders.Next(ctx) }))
	})
	b.Run("Collection.TryNext", func(b *testing.B) {
		_, orders := warmOrders(ctx, b, client)
		share(b, textLoop(b, func() (string, error) {
			for {
				if id, ok := orders.TryNext(); ok {
					return id, nil
				}
			}
		}))
	})
	b.Run("Allocator.Next", func(b *testing.B) {
		ids, _ := warmOrders(ctx, b, client)
		share(b, textLoop(b, func() (string, error) { return ids.Next(ctx, collectionName) }))
	})
	b.Run("Batch.Strings of 1000", func(b *testing.B) {
		const size = 1000
		_, orders := warmOrders(ctx, b, client)
		shareMany(b, size, func(n int) {
			var last []string
			for range n {
				batch, err := orders.Take(ctx, size)
				if err != nil {
					b.Error(err)
					return
				}
				last = batch.Strings()
			}
			lastText.Store(&last[0])
		})
	})

	b.Run("google/uuid v4", func(b *testing.B) {
		share(b, textLoop(b, func() (string, error) {
			id, err := uuid.NewRandom()
			return id.String(), err
		}))
	})
	b.Run("google/uuid v7", func(b *testing.B) {
		share(b, textLoop(b, func() (string, error) {
			id, err := uuid.NewV7()
			return id.String(), err
		}))
	})
	b.Run("rs/xid", func(b *testing.B) {
		share(b, textLoop(b, func() (string, error) { return xid.New().String(), nil }))
	})
	b.Run("oklog/ulid Make", func(b *testing.B) {
		share(b, textLoop(b, func() (string, error) { return ulid.Make().String(), nil }))
	})
	b.Run("oklog/ulid of crypto/rand", func(b *testing.B) {
		entropy := &ulid.LockedMonotonicReader{MonotonicReader: ulid.Monotonic(crand.Reader, 0)}
		share(b, textLoop(b, func() (string, error) {
			id, err := ulid.New(ulid.Now(), entropy)
			return id.String(), err
		}))
	})
	b.Run("bwmarrin/snowflake", func(b *testing.B) {
		node := newSnowflake(b)
		share(b, textLoop(b, func() (string, error) { return node.Generate().String(), nil }))
	})
	b.Run("sony/sonyflake", func(b *testing.B) {
		flake := newSonyflake(b)
		share(b, textLoop(b, func() (string, error) {
			id, err := flake.NextID()
			return strconv.FormatInt(id, 10), err
		}))
	})
	b.Run("INCR", func(b *testing.B) {
		share(b, textLoop(b, func() (string, error) {
			number, err := client.Incr(ctx, collectionName).Result()
			return bareString(knownHead, number), err
		}))
	})
}
