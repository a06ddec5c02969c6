package scripts

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed describe.lua
var describeLua string

var describe = loadGuarded(true, describeLua)

// Description has the values of a server's own key.
type Description struct {
	Prefix     string // before each number, "" for none
	Tag        string // after each number, "" for none
	Identities bool   // the server is the home of identities
	Origin     string // replication id of the server, "" if unknown
	// Durable is DurableAlways if a counter with another Origin lost nothing. Otherwise it is why such a counter would
	// jump and the field would be removed. Describe does not remove it.
	Durable DurableState
}

// Describe reads the values of a server's own key. key is the name of that key. It
// writes nothing, so it may be sent twice.
func Describe(ctx context.Context, client redis.Scripter, key string) (Description, error) {
	reply, err := run(ctx, client, describe, 5, []string{key, key, key})
	if err != nil {
		return Description{}, err
	}
	return Description{Prefix: reply[0], Tag: reply[1], Identities: reply[2] == "1", Origin: reply[3], Durable: DurableState(reply[4])}, nil
}
