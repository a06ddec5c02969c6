package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/scripts"
)

// Backend sends the requests of a Server to Redis.
type Backend interface {
	Next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error)
	Identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error)
	RaiseNext(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Raised, error)
	RaiseIdentity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Raised, error)
	Permit(ctx context.Context, requests ...scripts.PermitRequest) []scripts.Permitted
	// Describe writes nothing. Refused of the Description is set by How.Checked alone.
	Describe(ctx context.Context, key string, how How) (scripts.Description, error)
	// Check writes nothing, and returns the error of a request for numbers.
	Check(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) error
	Return(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned
}

// How has the options of Describe.
type How struct {
	// Checked looks whether the server would refuse a write.
	Checked bool
	// Once never retries, so that a server that is down costs few connections.
	Once bool
}

// redisBackend is a Backend on go-redis.
type redisBackend struct {
	clients  scripts.Clients
	cluster  clusterClient // client, if it is one
	poolSize int           // of a client of a single server, 0 for another one
}

// clusterClient is implemented by *redis.ClusterClient.
type clusterClient interface{ ReloadState(ctx context.Context) }

// NewBackend returns the Backend of a client.
func NewBackend(clients scripts.Clients) Backend {
	b := redisBackend{clients: clients, poolSize: scripts.PoolSize(clients.Client)}
	b.cluster, _ = clients.Client.(clusterClient)
	return b
}

func (b redisBackend) Next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error) {
	got, err := sendAgain(ctx, func() (scripts.Range, error) { return scripts.Next(ctx, b.clients.Client, keys, request) })
	return got, b.explain(ctx, err)
}

func (b redisBackend) Identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error) {
	got, err := sendAgain(ctx, func() (scripts.Range, error) { return scripts.Identity(ctx, b.clients.Client, keys, request) })
	return got, b.explain(ctx, err)
}

func (b redisBackend) RaiseNext(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Raised, error) {
	got, err := sendAgain(ctx, func() (scripts.Raised, error) { return scripts.RaiseNext(ctx, b.clients.Client, keys, request) })
	return got, b.explain(ctx, err)
}

func (b redisBackend) RaiseIdentity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Raised, error) {
	got, err := sendAgain(ctx, func() (scripts.Raised, error) { return scripts.RaiseIdentity(ctx, b.clients.Client, keys, request) })
	return got, b.explain(ctx, err)
}

func (b redisBackend) Permit(ctx context.Context, requests ...scripts.PermitRequest) []scripts.Permitted {
	all := sendAllAgain(ctx, requests, func(requests []scripts.PermitRequest) []scripts.Permitted {
		return scripts.Permit(ctx, b.clients.Client, requests...)
	}, func(p scripts.Permitted) error { return p.Err })
	for i := range all {
		all[i].Err = b.explain(ctx, all[i].Err)
	}
	return all
}

func (b redisBackend) Describe(ctx context.Context, key string, how How) (scripts.Description, error) {
	run := scripts.Describe
	if how.Checked {
		run = scripts.DescribeAsWrite
	}
	desc, err := sendAgain(ctx, func() (scripts.Description, error) {
		desc, err := run(ctx, b.scripter(how), key)
		return desc, cmp.Or(err, desc.Refused)
	})
	if desc.Refused != nil {
		err = nil
	}
	desc.Refused = b.explain(ctx, desc.Refused)
	return desc, b.explain(ctx, err)
}

// scripter returns the client of a request.
func (b redisBackend) scripter(how How) redis.Scripter {
	if how.Once {
		return b.clients.Once
	}
	return b.clients.Client
}

func (b redisBackend) Check(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) error {
	_, err := sendAgain(ctx, func() (struct{}, error) { return struct{}{}, scripts.CheckNext(ctx, b.clients.Client, keys, request) })
	return b.explain(ctx, err)
}

func (b redisBackend) Return(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	return sendAllAgain(ctx, requests, func(requests []scripts.ReturnRequest) []scripts.Returned {
		return scripts.ReturnAll(ctx, b.clients.Client, requests)
	}, func(r scripts.Returned) error { return r.Err })
}

// errNoMaster means that a client asked sentinels for a primary that they do not watch.
var errNoMaster = errors.New("the sentinels that answer have no master of the name that the client has: correct MasterName, or the name in the URL")

// explain replaces errors that are not about the server but about the client. It makes a cluster client reload the map of its
// nodes after an attempt that was not served. By itself the client asks a primary that is gone for up to a minute, although a
// replica has taken over.
func (b redisBackend) explain(ctx context.Context, err error) error {
	if b.cluster != nil && err != nil && !scripts.Answered(err) {
		b.cluster.ReloadState(ctx)
	}
	switch {
	case err == nil:
	case b.exhausted(err):
		return poolError{b.poolSize}
	case b.cluster == nil && (redis.HasErrorPrefix(err, "MOVED ") || redis.HasErrorPrefix(err, "ASK ")):
		return fmt.Errorf("%w (%w)", failure.ErrOneNode, err)
	case errors.Is(err, redis.Nil): // no script replies so
		return fmt.Errorf("%w (%w)", errNoMaster, err)
	case errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("%w (%w)", failure.ErrClientClosed, err)
	}
	return err
}
