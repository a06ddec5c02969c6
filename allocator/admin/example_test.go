package admin_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
)

// Rows up to orders/4000 exist already, so the next id is orders/4001. A lower seed changes nothing.
func ExampleAdmin_Seed() {
	server, err := miniredis.Run() // or any Redis
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client, err := allocator.Connect(server.Addr())
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ctx := context.Background()
	operator, err := admin.New(client, admin.Options{})
	if err != nil {
		panic(err)
	}
	if err := operator.Init(ctx, prefix.Server{}); err != nil { // once for each new server, as hilo init
		panic(err)
	}

	stands, err := operator.Seed(ctx, "orders", 4000, false)
	fmt.Println(stands, err)
	stands, err = operator.Seed(ctx, "orders", 3000, false)
	fmt.Println(stands, err)
	// Output:
	// 4000 <nil>
	// 4000 <nil>
}
