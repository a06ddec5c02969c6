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
	server.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "yes") // hilo init
	ctx := context.Background()
	client := redis.NewClient(allocator.Tune(&redis.Options{Addr: server.Addr()}))
	ids, err := allocator.New(client, allocator.Options{Logger: zap.Must(zap.NewProduction())})
	if err != nil {
		panic(err)
	}
	defer ids.Close(ctx) // returns the unused 4 to 32
	for range 3 {
		id, err := ids.Next(ctx, "orders")
		if err != nil {
			panic(err)
		}
		fmt.Println(id) // orders/1, orders/2, orders/3
	}
	// Output:
	// orders/1
	// orders/2
	// orders/3
}
