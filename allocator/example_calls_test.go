package allocator_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
)

// onServer returns a client of a server with those settings, as hilo init makes them. A program calls allocator.Connect
// instead, and Close of the client at the end.
func onServer(settings prefix.Server) (client redis.UniversalClient, server *miniredis.Miniredis) {
	server, err := miniredis.Run() // or any Redis
	check(err)
	client, err = allocator.Connect(server.Addr())
	check(err)
	operator, err := admin.New(client, admin.Options{})
	check(err)
	check(operator.Init(context.Background(), settings))
	return client, server
}

// Two servers share no data. Each has a prefix of its own, and the second serves while the first is down.
func ExampleNewMulti() {
	ctx := context.Background()
	north, northServer := onServer(prefix.Server{ServerPrefix: "NorthServer/", Identities: true})
	defer northServer.Close()
	defer north.Close()
	south, southServer := onServer(prefix.Server{ServerPrefix: "SouthServer/"})
	defer southServer.Close()
	defer south.Close()

	ids, err := allocator.NewMulti([]allocator.Server{
		{Name: "north", Client: north}, // preferred
		{Name: "south", Client: south},
	}, allocator.Options{})
	check(err)
	id, err := ids.Next(ctx, "orders")
	check(err)
	fmt.Println(id)

	northServer.SetError("LOADING north is down")
	id, err = ids.Next(ctx, "invoices")
	check(err)
	fmt.Println(id)
	northServer.SetError("")
	check(ids.Close(ctx))
	// Output:
	// orders/NorthServer/1
	// invoices/SouthServer/1
}

// A batch has consecutive numbers, for rows that are stored together.
func ExampleCollection_Take() {
	ctx := context.Background()
	client, server := onServer(prefix.Server{})
	defer server.Close()
	defer client.Close()
	ids, err := allocator.New(client, allocator.Options{})
	check(err)
	orders, err := ids.Collection("orders")
	check(err)

	batch, err := orders.Take(ctx, 1000)
	check(err)
	fmt.Println(batch.Range().Low, batch.Range().High)
	for id := range batch.All() {
		fmt.Println(id)
		break
	}
	check(ids.Close(ctx))
	// Output:
	// 1 1000
	// orders/1
}

// TryNext is for code that may not wait.
func ExampleCollection_TryNext() {
	ctx := context.Background()
	client, server := onServer(prefix.Server{})
	defer server.Close()
	defer client.Close()
	ids, err := allocator.New(client, allocator.Options{})
	check(err)
	orders, err := ids.Collection("orders")
	check(err)

	check(ids.Warm(ctx, "orders"))
	id, ok := orders.TryNext()
	fmt.Println(id, ok)
	check(ids.Close(ctx))
	// Output: orders/1 true
}

// At the start Warm fetches the first ranges, and Check reports what a first call would return.
func ExampleAllocator_Warm() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, server := onServer(prefix.Server{SeededOnly: true}) // it makes no counters
	defer server.Close()
	defer client.Close()
	operator, err := admin.New(client, admin.Options{})
	check(err)
	_, err = operator.Seed(ctx, "orders", 4000, false)
	check(err)

	ids, err := allocator.New(client, allocator.Options{})
	check(err)
	check(ids.Warm(ctx, "orders"))
	fmt.Println(ids.Check(ctx, "orders"))
	fmt.Println(ids.Check(ctx, "refunds") != nil) // ErrNotSeeded
	check(ids.Close(ctx))
	// Output:
	// <nil>
	// true
}

// A service that starts while Redis is down waits for it, and ends at an error that only a person can end.
func ExampleRetryable() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, server := onServer(prefix.Server{})
	defer server.Close()
	defer client.Close()
	ids, err := allocator.New(client, allocator.Options{})
	check(err)

	server.SetError("LOADING the server is down")
	for err = ids.Warm(ctx, "orders"); allocator.Retryable(err) && ctx.Err() == nil; err = ids.Warm(ctx, "orders") {
		server.SetError("") // it recovers
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	check(err)
	id, err := ids.Next(ctx, "orders")
	fmt.Println(id, err)
	check(ids.Close(ctx))
	// Output: orders/1 <nil>
}

// Identities are consecutive, and each is a round trip, or a share of one.
func ExampleAllocator_NextIdentity() {
	ctx := context.Background()
	client, server := onServer(prefix.Server{ServerPrefix: "NorthServer/", Identities: true})
	defer server.Close()
	defer client.Close()
	ids, err := allocator.New(client, allocator.Options{})
	check(err)

	for range 2 {
		number, err := ids.NextIdentity(ctx, "companies")
		fmt.Println(number, err)
	}
	check(ids.Close(ctx))
	// Output:
	// 1 <nil>
	// 2 <nil>
}

// Ready is for a readiness probe, which does no I/O.
func ExampleStats_Ready() {
	ctx := context.Background()
	client, server := onServer(prefix.Server{})
	defer server.Close()
	defer client.Close()
	ids, err := allocator.New(client, allocator.Options{})
	check(err)

	fmt.Println(ids.Stats().Ready("orders")) // no server was contacted yet
	check(ids.Warm(ctx, "orders"))
	fmt.Println(ids.Stats().Ready("orders"))
	check(ids.Close(ctx))
	// Output:
	// false
	// true
}
