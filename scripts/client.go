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

// Clients are one client for requests of different kinds, which share its connections.
type Clients struct {
	Client redis.Cmdable
	Once   redis.Scripter // sends a request one time only
}

// Prepare returns the clients for requests that may take up to timeout.
//
// A *redis.Client gets timeout as its read timeout if it does not heed the deadline of a ctx. Other clients cannot be changed, so
// they may retry, and their read timeout should be at least timeout.
func Prepare(client redis.UniversalClient, timeout time.Duration) Clients {
	single, ok := client.(*redis.Client)
	if !ok {
		return Clients{client, client}
	}
	once := single.WithTimeout(timeout)
	once.Options().MaxRetries = 0
	if !single.Options().ContextTimeoutEnabled {
		return Clients{single.WithTimeout(timeout), once}
	}
	return Clients{single, once}
}

// PoolSize returns the number of connections of a *redis.Client, and 0 for another client.
func PoolSize(client redis.Cmdable) int {
	if single, ok := client.(*redis.Client); ok {
		return single.Options().PoolSize
	}
	return 0
}

// Confirmable reports whether client can be used with Confirmed. It has to be a *redis.Client or a *redis.ClusterClient itself.
// Another type may hide a cluster, any node of which would answer WAIT for its own writes.
func Confirmable(client redis.Cmdable) bool {
	switch client.(type) {
	case *redis.Client, *redis.ClusterClient:
		return true
	}
	return false
}
