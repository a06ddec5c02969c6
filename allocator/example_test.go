package allocator_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
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
	client, err := allocator.Connect("redis://" + server.Addr() + "/0")
	if err != nil {
		panic(err)
	}
	defer client.Close()
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

func ExampleConnect() {
	client, err := allocator.Connect("redis+sentinel://worker:secret@10.0.0.1,10.0.0.2/mymaster/0")
	if err != nil {
		panic(err)
	}
	defer client.Close()

	_, err = allocator.Connect("redis://worker:secret@10.0.0.1/shop")
	fmt.Println(err)
	// Output:
	// invalid options: URL redis://…@10.0.0.1/… has a database that is not a number: write it as in redis://host:6379/0
}
