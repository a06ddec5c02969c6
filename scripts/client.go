package scripts

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// CheckClient returns an error for a client that cannot be used. It does no I/O.
func CheckClient(client redis.UniversalClient) error {
	if client == nil {
		return errors.New("the client is nil")
	}
	if _, ring := client.(*redis.Ring); ring {
		return errors.New("the client is a *redis.Ring, which moves a key to another shard when its own is down, so that the counter begins anew; " +
			"use a client of one server, a failover client or a cluster client")
	}
	return nil
}

// Prepare returns a client for requests that may take up to timeout with their
// confirmations, and once, which sends a request one time only. Both share the
// connections of client.
//
// A *redis.Client gets timeout as its read timeout if it does not heed the deadline of a
// ctx, or if confirmations may take longer than its own. Other clients cannot be
// changed, so they may retry, and their read timeout should be at least timeout.
func Prepare(client redis.UniversalClient, d Durability, timeout time.Duration) (prepared redis.Cmdable, once redis.Scripter) {
	single, ok := client.(*redis.Client)
	if !ok {
		return client, client
	}
	unrepeated := single.WithTimeout(timeout)
	unrepeated.Options().MaxRetries = 0
	if d.Replicas > 0 || d.Fsync || !single.Options().ContextTimeoutEnabled {
		single = single.WithTimeout(timeout)
	}
	return single, unrepeated
}

// Confirmable reports whether client can be used with Durable. It has to be a
// *redis.Client or a *redis.ClusterClient itself. Another type may hide a cluster, any
// node of which would answer WAIT for its own writes. It is not inlined, so that callers
// do not reach the two types: a package that does compiles hundreds of their methods again.
//
//go:noinline
func Confirmable(client redis.Cmdable) bool {
	switch client.(type) {
	case *redis.Client, *redis.ClusterClient:
		return true
	}
	return false
}
