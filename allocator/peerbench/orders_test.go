package peerbench_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const (
	collectionName = "orders"
	serverPrefix   = "NorthServer/"
	head           = collectionName + "/" + serverPrefix // of every identifier here, hilo's or bare
	firstNumber    = 100_000_000                         // so that all have nine digits
)

// startServer starts the first real server of this machine, or miniredis if there is none.
func startServer(tb testing.TB) *redistest.Server {
	tb.Helper()
	if binaries := redistest.Binaries(tb); len(binaries) > 0 {
		return redistest.Start(tb, binaries[0])
	}
	return redistest.StartMini(tb)
}

var namespaces atomic.Int64

// newAllocator returns an allocator with counters of its own, on a server that has a prefix.
func newAllocator(ctx context.Context, tb testing.TB, client *redis.Client, opts allocator.Options) *allocator.Allocator {
	tb.Helper()
	opts.Namespace = fmt.Sprintf("Raven%d", namespaces.Add(1))
	operator, err := admin.New(client, admin.Options{Namespace: opts.Namespace})
	if err != nil {
		tb.Fatal(err)
	}
	if err := operator.Init(ctx, prefix.Server{ServerPrefix: serverPrefix}); err != nil {
		tb.Fatal(err)
	}
	if _, err := operator.Seed(ctx, collectionName, firstNumber-1, false); err != nil {
		tb.Fatal(err)
	}
	ids, err := allocator.New(client, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = ids.Close(ctx) })
	return ids
}

// initialize makes the settings of a namespace, as hilo init does.
func initialize(ctx context.Context, tb testing.TB, client redis.UniversalClient, namespace string) {
	tb.Helper()
	operator, err := admin.New(client, admin.Options{Namespace: namespace})
	if err == nil {
		err = operator.Init(ctx, prefix.Server{})
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// warmOrders returns an allocator and one collection of it whose ranges have grown to the default Options.MaxCapacity.
func warmOrders(ctx context.Context, tb testing.TB, client *redis.Client) (*allocator.Allocator, *allocator.Collection) {
	tb.Helper()
	ids := newAllocator(ctx, tb, client, allocator.Options{})
	orders, err := ids.Collection(collectionName)
	if err != nil {
		tb.Fatal(err)
	}
	const grown = 4 << 20 // numbers in ranges of 32, 64, … up to the first of 1048576, and past that
	for range grown {
		if _, err := orders.NextNumber(ctx); err != nil {
			tb.Fatal(err)
		}
	}
	return ids, orders
}
