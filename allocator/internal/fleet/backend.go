package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
)

// Backend sends the requests of a Server to Redis.
type Backend interface {
	Next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error)
	Identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error)
	// Describe writes nothing. Refused of the Description is set by How.Checked alone.
	Describe(ctx context.Context, key string, how How) (scripts.Description, error)
	// Check writes nothing, and returns the error of a request for numbers. Confirmed adds what confirmations need.
	Check(ctx context.Context, request scripts.CheckRequest, how How) error
	Return(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned
	// Extra is how long a request may take longer than the settings of the client say, because the server is known to
	// require confirmations by itself.
	Extra() time.Duration
}

// How has the options of Describe.
type How struct {
	// Confirmed waits for the confirmations of a write too, which proves that replicas or the disk follow.
	Confirmed bool
	// Checked looks whether the server would refuse a write.
	Checked bool
	// Once never retries, so that a server that is down costs few connections.
	Once bool
}

// redisBackend is a Backend on go-redis. This package names no type of a client, because each package that reaches one compiles
// hundreds of its methods again.
type redisBackend struct {
	clients scripts.Clients
	d       scripts.Durability
	// required is the number of replicas that the server's Durable requires, as it was reported last.
	required *atomic.Int64
	cluster  clusterClient // client, if it is one
	poolSize int           // of a client of a single server, 0 for another one
}

// clusterClient is implemented by *redis.ClusterClient.
type clusterClient interface{ ReloadState(ctx context.Context) }

// NewBackend returns the Backend of a client that requires the confirmations of d.
func NewBackend(clients scripts.Clients, d scripts.Durability) Backend {
	b := redisBackend{clients: clients, d: d, required: new(atomic.Int64), poolSize: scripts.PoolSize(clients.Client)}
	b.cluster, _ = clients.Client.(clusterClient)
	return b
}

func (b redisBackend) Next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error) {
	d, client := b.taking()
	request.Awaited = d.Replicas
	got, err := scripts.Next(ctx, client, keys, request)
	return got, b.learn(ctx, got, err)
}

func (b redisBackend) Identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error) {
	d, client := b.taking()
	request.Awaited = d.Replicas
	got, err := scripts.Identity(ctx, client, keys, request)
	return got, b.learn(ctx, got, err)
}

func (b redisBackend) Extra() time.Duration {
	if b.d.Replicas == 0 && b.required.Load() > 0 {
		return b.d.Timeout
	}
	return 0
}

// durability returns the confirmations that the options and the server require.
func (b redisBackend) durability() scripts.Durability {
	d := b.d
	d.Replicas = max(d.Replicas, int(b.required.Load()))
	return d
}

// taking returns the confirmations of a request for numbers, and the client that gets them.
func (b redisBackend) taking() (scripts.Durability, redis.Scripter) {
	d := b.durability()
	if d.Replicas > 0 || d.Fsync {
		return d, scripts.Durable(b.clients.Waiting, d)
	}
	return d, b.clients.Client
}

// learn records how many replicas the server requires, which comes with each reply, also with one that is not confirmed, and
// with the refusal of a request that waits for fewer. A client that cannot wait for them is refused.
func (b redisBackend) learn(ctx context.Context, got scripts.Range, err error) error {
	b.reloadCluster(ctx, err)
	few, refused := errors.AsType[*scripts.TooFewReplicasError](err)
	switch {
	case err == nil || errors.Is(err, scripts.ErrNotDurable):
		b.required.Store(int64(got.Replicas))
		if err == nil || scripts.Suffices(err, max(b.d.Replicas, got.Replicas)) { // it requires fewer by now
			return nil
		}
	case refused:
		if unable := CheckConfirmable(b.clients.Client, scripts.Durability{Replicas: few.Required}); unable != nil {
			return fmt.Errorf("%w: %w", unable, few)
		}
		b.required.Store(int64(few.Required))
	}
	return b.explain(err)
}

func (b redisBackend) Describe(ctx context.Context, key string, how How) (scripts.Description, error) {
	scripter := redis.Scripter(b.clients.Client)
	d := b.durability()
	switch {
	case how.Confirmed && (d.Replicas > 0 || d.Fsync):
		scripter = scripts.Durable(b.clients.Waiting, d)
	case how.Once:
		scripter = b.clients.Once
	}
	check := scripts.CheckRequest{Keys: scripts.Keys{Counter: key, Server: key, Other: key}}
	together := how.Checked && scripter == redis.Scripter(b.clients.Client)
	var desc scripts.Description
	var err error
	if together {
		desc, err = scripts.DescribeAndCheck(ctx, b.clients.Client, key, b.waiting(check, how))
		desc.Refused = b.explain(desc.Refused)
	} else {
		desc, err = scripts.Describe(ctx, scripter, key)
	}
	if err == nil {
		b.required.Store(int64(desc.Replicas))
	}
	if err == nil && how.Checked && !together {
		desc.Refused = b.Check(ctx, check, how)
	}
	b.reloadCluster(ctx, cmp.Or(err, desc.Refused))
	return desc, b.explain(err)
}

// waiting adds the replicas that are known to be required.
func (b redisBackend) waiting(request scripts.CheckRequest, how How) scripts.CheckRequest {
	d := b.durability()
	request.Timeout = d.Timeout
	if how.Confirmed || b.required.Load() > 0 {
		request.Replicas = d.Replicas
	}
	return request
}

func (b redisBackend) Check(ctx context.Context, request scripts.CheckRequest, how How) error {
	scripter := redis.Scripter(b.clients.Client)
	if how.Once {
		scripter = b.clients.Once
	}
	err := scripts.Check(ctx, scripter, b.waiting(request, how))
	b.reloadCluster(ctx, err)
	return b.explain(err)
}

func (b redisBackend) Return(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	return scripts.ReturnAll(ctx, b.clients.Client, requests)
}

// reloadCluster makes a cluster client reload the map of its nodes after an attempt that was not served. By itself the client
// asks a primary that is gone for up to a minute, although a replica has taken over.
func (b redisBackend) reloadCluster(ctx context.Context, err error) {
	if b.cluster != nil && err != nil && !scripts.Answered(err) {
		b.cluster.ReloadState(ctx)
	}
}
