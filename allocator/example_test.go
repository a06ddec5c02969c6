package allocator_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

func Example() {
	server, err := miniredis.Run() // or any Redis
	if err != nil {
		panic(err)
	}
	defer server.Close()
	address, ctx := server.Addr(), context.Background()

	client := redis.NewClient(&redis.Options{Addr: address})
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		panic(err)
	}
	for range 3 {
		id, err := ids.Next(ctx, "orders")
		fmt.Println(id, err)
	}
	fmt.Println(ids.Close(ctx)) // gives 4..32 back
	_ = client.Close()
	// Output:
	// orders/1 <nil>
	// orders/2 <nil>
	// orders/3 <nil>
	// <nil>
}
