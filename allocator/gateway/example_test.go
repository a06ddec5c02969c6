package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/alicebob/miniredis/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
)

// The handler stands in a server of the program's own. hilo serve is such a server, with TLS and sign-in.
func ExampleNew() {
	server, err := miniredis.Run() // or any Redis
	if err != nil {
		panic(err)
	}
	defer server.Close()
	server.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "yes") // hilo init
	client, err := allocator.Connect(server.Addr())
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		panic(err)
	}
	defer ids.Close(context.Background())

	handler, err := gateway.New(ids, gateway.Options{Masters: []gateway.Master{{Client: client}}})
	if err != nil {
		panic(err)
	}
	site := httptest.NewServer(handler)
	defer site.Close()
	answer, err := http.Post(site.URL+"/v1/ids/orders?count=2", "", nil)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	fmt.Print(answer.StatusCode, " ", string(body))
	if err != nil {
		panic(err)
	}
	// Output: 200 {"ids":["orders/1","orders/2"]}
}
