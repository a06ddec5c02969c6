package fleet

import (
	"context"

	"github.com/redis/go-redis/v9"

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

// redisBackend is a Backend on go-redis. This package names no type of a client, because each package that reaches one compiles
// hundreds of its methods again.
type redisBackend struct {
	client   redis.Cmdable
	scripter redis.Scripter // client, with confirmations if there are any
	once     redis.Scripter
	cluster  clusterClient // client, if it is one
}

// clusterClient is implemented by *redis.ClusterClient.
type clusterClient interface{ ReloadState(ctx context.Context) }

// NewBackend returns the Backend of a client, and once, which is the same client without retries if it can be made so. The read
// timeout has to exceed what confirmations may take.
func NewBackend(client redis.Cmdable, once redis.Scripter, d scripts.Durability) Backend {
	b := redisBackend{client: client, scripter: client, once: once}
	b.cluster, _ = client.(clusterClient)
	if d.Replicas > 0 || d.Fsync {
		b.scripter = scripts.Durable(client, d)
	}
	return b
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
