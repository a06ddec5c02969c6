package allocator

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
)

// backend is what an allocator needs of a Redis.
type backend interface {
	next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error)
	// nextAll is next for many in few round trips, without what Durability asks for.
	nextAll(ctx context.Context, keys []scripts.Keys, requests []scripts.NextRequest) ([]scripts.Range, []error)
	identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error)
	describe(ctx context.Context, key string) (scripts.Description, error)
	giveBack(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned
}

type redisBackend struct {
	client   redis.UniversalClient
	scripter redis.Scripter       // client, with what Durability asks for
	cluster  *redis.ClusterClient // client, where it is one
}

// newBackend makes sure, where the client can, that one attempt ends with its ctx, and not before its confirmation
// came: without ContextTimeoutEnabled go-redis waits out its own read timeout, and with it the shorter of the two. A
// cluster client cannot be told; its ReadTimeout should be that of an attempt.
func newBackend(client redis.UniversalClient, opts Options) backend {
	d := opts.Durability
	if single, ok := client.(*redis.Client); ok && (d.wanted() || !single.Options().ContextTimeoutEnabled) {
		client = single.WithTimeout(opts.attemptTimeout()) // shares the connections
	}
	b := redisBackend{client: client, scripter: client}
	b.cluster, _ = client.(*redis.ClusterClient)
	if d.wanted() {
		b.scripter = scripts.Durable(client, scripts.Durability{Replicas: d.Replicas, Fsync: d.Fsync, Timeout: d.Timeout})
	}
	return b
}

func (b redisBackend) next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error) {
	got, err := scripts.Next(ctx, b.scripter, keys, request)
	b.lookAround(ctx, err)
	return got, err
}

func (b redisBackend) nextAll(ctx context.Context, keys []scripts.Keys, requests []scripts.NextRequest) ([]scripts.Range, []error) {
	all, errs := scripts.NextAll(ctx, b.client, keys, requests)
	b.lookAround(ctx, errs[len(errs)-1])
	return all, errs
}

func (b redisBackend) identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error) {
	got, err := scripts.Identity(ctx, b.scripter, keys, request)
	b.lookAround(ctx, err)
	return got, err
}

// describe goes without what Durability asks for: it writes nothing.
func (b redisBackend) describe(ctx context.Context, key string) (scripts.Description, error) {
	said, err := scripts.Describe(ctx, b.client, key)
	b.lookAround(ctx, err)
	return said, err
}

// lookAround has a cluster client ask who serves what, after an attempt that was not served: by itself it goes on
// asking a primary that is gone for up to a minute, however long its replica has taken over.
func (b redisBackend) lookAround(ctx context.Context, err error) {
	if b.cluster != nil && err != nil && !scripts.Answered(err) {
		b.cluster.ReloadState(ctx)
	}
}

func (b redisBackend) giveBack(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	return scripts.ReturnAll(ctx, b.client, requests)
}
