package allocator_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/hilo-id/hilo/allocator"
)

func Example() {
	server, err := miniredis.Run() // or any Redis
	check(err)
	defer server.Close()
	server.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "yes") // hilo init
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := allocator.Connect("redis://" + server.Addr() + "/0")
	check(err)
	ids, err := allocator.New(client, allocator.Options{}) // one for the whole process
	check(err)
	orders, err := ids.Collection("orders")
	check(err)
	for range 3 {
		id, err := orders.Next(ctx)
		check(err)
		fmt.Println(id) // orders/1, orders/2, orders/3
	}
	check(ids.Close(ctx)) // returns the numbers that were not used
	// Output:
	// orders/1
	// orders/2
	// orders/3
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
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
