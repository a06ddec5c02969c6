package scripts

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed describe.lua
var describeLua string

var describe = load(serverLua, homeLua, describeLua)

// Description is what one server says of itself.
type Description struct {
	Prefix     string // before each number, "" for none
	Tag        string // behind each number, "" for none
	Identities bool   // it is the home of identities
	Origin     string // its replication id, "": unknown
}

// Describe asks a server what it says of itself; key is that of its prefix.
// Nothing is written, so it may be sent twice.
func Describe(ctx context.Context, client redis.Scripter, key string) (Description, error) {
	reply, err := run(ctx, client, describe, 4, []string{key, key, key})
	if err != nil {
		return Description{}, err
	}
	return Description{Prefix: reply[0], Tag: reply[1], Identities: reply[2] == "1", Origin: reply[3]}, nil
}
