package allocator_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
)

func Example() {
	server, err := miniredis.Run() // or any Redis
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client := redis.NewClient(allocator.Tune(&redis.Options{Addr: server.Addr()}))
	ids, err := allocator.New(client, allocator.Options{Logger: zap.Must(zap.NewProduction())}) // RequireSeeded: true where rows exist already
	if err != nil {
		panic(err)
	}
	for range 3 {
		fmt.Println(ids.Next(ctx, "orders")) // orders/1 <nil>, orders/2 <nil>, orders/3 <nil>
	}
	fmt.Println(ids.Close(ctx)) // returns 4 to 32
	_ = client.Close()
	// Output:
	// orders/1 <nil>
	// orders/2 <nil>
	// orders/3 <nil>
	// <nil>
}
