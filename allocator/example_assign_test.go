package allocator_test

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// onNode returns an allocator on a server with the node tag A, which is the home of identities. A program calls allocator.New
// instead, and Close at the end.
func onNode(opts allocator.Options) (ids *allocator.Allocator, stop func()) {
	client, server := onServer(prefix.Server{NodeTag: "A", Identities: true})
	ids, err := allocator.New(client, opts)
	check(err)
	return ids, func() {
		_ = ids.Close(context.Background())
		_ = client.Close()
		server.Close()
	}
}

// An entity without an identifier gets the next one of its type's collection,
// and keeps it from then on.
func ExampleAllocator_Assign() {
	ids, stop := onNode(allocator.Options{})
	defer stop()
	type Order struct {
		ID    string
		Total int
	}

	first, second := Order{Total: 42}, Order{Total: 7}
	for _, order := range []*Order{&first, &second, &first} {
		id, err := ids.Assign(context.Background(), order)
		fmt.Println(id, err)
	}
	fmt.Println(first.ID)
	// Output:
	// orders/1-A <nil>
	// orders/2-A <nil>
	// orders/1-A <nil>
	// orders/1-A
}

// Any string may hold the identifier, if it is tagged.
func ExampleAllocator_Assign_tag() {
	ids, stop := onNode(allocator.Options{})
	defer stop()
	type Person struct {
		Key  string `hilo:"id"`
		Name string
	}

	person := Person{Name: "Ada"}
	_, err := ids.Assign(context.Background(), &person)
	fmt.Println(person.Key, err)
	// Output: people/1-A <nil>
}

// A text that ends in the separator requests a server-side id, which has 19 digits in the order of the calls.
func ExampleAllocator_Assign_serverSide() {
	ids, stop := onNode(allocator.Options{})
	defer stop()
	type Company struct{ ID string }

	company := Company{ID: "companies/"}
	_, err := ids.Assign(context.Background(), &company)
	fmt.Println(company.ID, err)
	// Output: companies/0000000000000000001-A <nil>
}

// A text that ends in "|" requests an identity, one of consecutive numbers without the server's prefix and tag.
func ExampleAllocator_Assign_identity() {
	ids, stop := onNode(allocator.Options{})
	defer stop()
	type Company struct{ ID string }

	for range 2 {
		company := Company{ID: "companies|"}
		_, err := ids.Assign(context.Background(), &company)
		fmt.Println(company.ID, err)
	}
	// Output:
	// companies/1 <nil>
	// companies/2 <nil>
}

// A text of the caller's own, a semantic id, is kept as it is.
func ExampleAllocator_Assign_semantic() {
	ids, stop := onNode(allocator.Options{})
	defer stop()
	type Product struct{ ID string }

	product := Product{ID: "products/ravendb"}
	_, err := ids.Assign(context.Background(), &product)
	fmt.Println(product.ID, err)
	// Output: products/ravendb <nil>
}

// A *string that is nil requests a HiLo id, and one to the empty text a GUID.
func ExampleAllocator_Assign_guid() {
	ids, stop := onNode(allocator.Options{})
	defer stop()
	type Invoice struct{ ID *string }

	invoice, guid := Invoice{}, Invoice{ID: new("")}
	_, err := ids.Assign(context.Background(), &invoice)
	fmt.Println(*invoice.ID, err)
	_, err = ids.Assign(context.Background(), &guid)
	fmt.Println(len(*guid.ID), err)
	// Output:
	// invoices/1-A <nil>
	// 36 <nil>
}

// Where the convention does not fit, an option names the collections of types. A type may also do so itself, by a method
// HiLoCollection() string.
func ExampleAllocator_Assign_collectionOf() {
	ids, stop := onNode(allocator.Options{
		CollectionOf: func(t reflect.Type) string { return "shop-" + t.Name() },
	})
	defer stop()
	type Order struct{ ID string }

	var order Order
	_, err := ids.Assign(context.Background(), &order)
	fmt.Println(order.ID, err)
	// Output: shop-Order/1-A <nil>
}

// Resolve does for a text what Assign does for an entity, but the empty text requests a GUID. Next returns a HiLo id.
func ExampleAllocator_Resolve() {
	ids, stop := onNode(allocator.Options{})
	defer stop()
	for _, text := range []string{"companies/", "companies|", "products/ravendb"} {
		id, err := ids.Resolve(context.Background(), text)
		fmt.Println(id, err)
	}
	guid, err := ids.Resolve(context.Background(), "")
	fmt.Println(len(guid), err)
	// Output:
	// companies/0000000000000000001-A <nil>
	// companies/1 <nil>
	// products/ravendb <nil>
	// 36 <nil>
}
