package prefix_test

import (
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/prefix"
)

func Example() {
	id, err := prefix.Parse("orders/NorthServer/1-A", prefix.DefaultSeparator)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id.Collection, id.ServerPrefix, id.Number, id.NodeTag)

	id.Number++
	fmt.Println(id)
	// Output:
	// orders NorthServer/ 1 A
	// orders/NorthServer/2-A
}

func ExampleParse_refused() {
	_, err := prefix.Parse("orders/007", "/")
	fmt.Println(errors.Is(err, prefix.ErrInvalid))
	fmt.Println(err)
	// Output:
	// true
	// invalid name: number "007" of identifier "orders/007" is not 1 to 9223372036854775807 without leading zeros
}

func ExampleID_Append() {
	buf := make([]byte, 0, 64) // reused: nothing is allocated per identifier
	id := prefix.ID{Collection: "users", ServerPrefix: "4,"}
	for id.Number = 1; id.Number <= 3; id.Number++ {
		buf = id.Append(buf[:0], "/")
		fmt.Printf("%s\n", buf)
	}
	// Output:
	// users/4,1
	// users/4,2
	// users/4,3
}

func ExampleServer_Validate() {
	for _, server := range []prefix.Server{
		{ServerPrefix: "NorthServer/", NodeTag: "A"},
		{ServerPrefix: "North1"},
		{ServerPrefix: "1-A"},
		{NodeTag: "2A"},
	} {
		fmt.Println(server.Validate())
	}
	// Output:
	// <nil>
	// invalid name: server prefix "North1" ends in a digit: "North1"+"1" would read as "North"+"11"
	// invalid name: server prefix "1-A" ends in a number and the start of a node tag: "1-A"+"1" would read as "1"+"-A1"
	// invalid name: node tag "2A" is not 1 to 8 of A-Z a-z 0-9 with a letter first
}

func ExampleValidateCollection() {
	fmt.Println(prefix.ValidateCollection("orders", "/"))
	fmt.Println(prefix.ValidateCollection("a/b", "/"))
	// Output:
	// <nil>
	// invalid name: collection "a/b" holds the separator "/"
}

func ExampleKeys() {
	keys := prefix.NewKeys("Raven")
	fmt.Println(keys.HiLo("Orders"))
	fmt.Println(keys.Identity("companies"))
	fmt.Println(keys.Server())
	// Output:
	// {Raven}/HiLo/orders
	// {Raven}/Identities/companies
	// {Raven}/ServerPrefixForHilo
}
