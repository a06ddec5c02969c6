package scripts

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed configure.lua
var configureLua string

var configure = load(configureLua)

// DurableChange is a change of a server's field Durable.
type DurableChange string

// The changes of Durable. Another one, "replicas:N", sets it to that.
const (
	DurableKeep   DurableChange = "keep"   // leaves it as it is
	DurableSet    DurableChange = "always" // sets it to always
	DurableRemove DurableChange = ""       // removes it
)

// ConfigureRequest has the new values of a server's own key.
type ConfigureRequest struct {
	Prefix     string // "" for none
	Tag        string // "" for none
	Identities bool   // the server is the home of identities
	Durable    DurableChange
	// Origin is used where Durable is set. It is the server's replication id under which the caller settled all counters,
	// by taking a number of each one with another Origin, which jumped. Otherwise earlier losses would be waived.
	Origin string
	// MinValue and MaxValue are the interval of the numbers that the server issues, 0 for none.
	MinValue, MaxValue int64
}

// Configure sets all values of a server's own key at once. key is the name of that key. The caller validates them. Setting
// Durable is ErrChanged on a server with another replication id than Origin, or with a connected replica, or, with replicas:N,
// with fewer than N, and nothing is written. The request may be sent twice. The second time sets the same again.
//
// Errors: ErrCorrupt, ErrChanged, ErrReply, and those of the client.
func Configure(ctx context.Context, client redis.Scripter, key string, r ConfigureRequest) error {
	home := ""
	if r.Identities {
		home = "here"
	}
	bound := func(n int64) any {
		if n == 0 {
			return ""
		}
		return n
	}
	_, err := decode(configure.Run(ctx, client, []string{key}, r.Prefix, r.Tag, home, string(r.Durable), r.Origin,
		bound(r.MinValue), bound(r.MaxValue)), 1)
	return err
}
