package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/scripts"
)

// Backend sends the requests of a Server to Redis.
type Backend interface {
	Next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error)
	Identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error)
	// Describe writes nothing.
	Describe(ctx context.Context, key string, how How) (scripts.Description, error)
	Return(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned
}

// How has the options of Describe.
type How struct {
	// Confirmed waits for the confirmations of a write too, which proves that replicas or the disk follow.
	Confirmed bool
	// Once never retries, so that a server that is down costs few connections.
	Once bool
}

// redisBackend is a Backend on go-redis.
type redisBackend struct {
	client   redis.UniversalClient
	scripter redis.Scripter       // client, with confirmations if there are any
	once     redis.Scripter       // client, without retries if it can be made so
	cluster  *redis.ClusterClient // client, if it is one
}

// NewBackend returns the Backend of a client. A *redis.Client gets attemptTimeout as its read timeout if it does not heed
// the deadline of a ctx, or if confirmations may take longer than its own. A cluster client cannot be changed, so its
// ReadTimeout should be attemptTimeout.
func NewBackend(client redis.UniversalClient, d scripts.Durability, attemptTimeout time.Duration) Backend {
	confirmed := d.Replicas > 0 || d.Fsync
	if single, ok := client.(*redis.Client); ok && (confirmed || !single.Options().ContextTimeoutEnabled) {
		client = single.WithTimeout(attemptTimeout) // shares the connections
	}
	b := redisBackend{client: client, scripter: client, once: client}
	if single, ok := client.(*redis.Client); ok {
		once := single.WithTimeout(attemptTimeout)
		once.Options().MaxRetries = 0
		b.once = once
	}
	b.cluster, _ = client.(*redis.ClusterClient)
	if confirmed {
		b.scripter = scripts.Durable(client, d)
	}
	return b
}

// Validate returns failure.ErrInvalidOptions for a client that cannot be used, or not with d.
func Validate(client redis.UniversalClient, d scripts.Durability) error {
	if err := scripts.CheckClient(client); err != nil {
		return fmt.Errorf("%w: %w", failure.ErrInvalidOptions, err)
	}
	if (d.Replicas > 0 || d.Fsync) && !scripts.Confirmable(client) {
		return fmt.Errorf("%w: the client is a %T, which may send WAIT to another server than the one that wrote: Durability needs a *redis.Client or "+
			"a *redis.ClusterClient itself", failure.ErrInvalidOptions, client)
	}
	return nil
}

func (b redisBackend) Next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error) {
	got, err := scripts.Next(ctx, b.scripter, keys, request)
	b.reloadCluster(ctx, err)
	return got, err
}

func (b redisBackend) Identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error) {
	got, err := scripts.Identity(ctx, b.scripter, keys, request)
	b.reloadCluster(ctx, err)
	return got, err
}

func (b redisBackend) Describe(ctx context.Context, key string, how How) (scripts.Description, error) {
	var scripter redis.Scripter = b.client
	switch {
	case how.Confirmed:
		scripter = b.scripter
	case how.Once:
		scripter = b.once
	}
	desc, err := scripts.Describe(ctx, scripter, key)
	b.reloadCluster(ctx, err)
	return desc, err
}

func (b redisBackend) Return(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	return scripts.ReturnAll(ctx, b.client, requests)
}

// reloadCluster makes a cluster client reload the map of its nodes after an attempt that was not served. By itself the client
// asks a primary that is gone for up to a minute, although a replica has taken over.
func (b redisBackend) reloadCluster(ctx context.Context, err error) {
	if b.cluster != nil && err != nil && !scripts.Answered(err) {
		b.cluster.ReloadState(ctx)
	}
}
