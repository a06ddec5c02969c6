package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
)

// exhausted reports whether a request failed because it got no connection, as all are in use by others. If the attempt ends
// before the client gives up waiting, its error is the same as that of a server that does not answer, but no network
// operation failed.
func (b redisBackend) exhausted(err error) bool {
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) {
		return true
	}
	client, ok := b.clients.Client.(interface{ PoolStats() *redis.PoolStats })
	if _, sent := errors.AsType[*net.OpError](err); sent || !ok || b.poolSize == 0 || !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	stats := client.PoolStats()
	return int(stats.TotalConns) >= b.poolSize && stats.IdleConns == 0
}

// poolError means that a request was not sent for lack of a connection. It proves nothing about the server. It matches
// redis.ErrPoolTimeout.
type poolError struct{ size int }

func (e poolError) Error() string {
	all := "all connections of the client's pool"
	if e.size > 0 {
		all = fmt.Sprintf("all %d connections of the client's pool", e.size)
	}
	return all + " are in use by others, nothing was sent: raise PoolSize, or use a client of its own for the allocator"
}

func (poolError) Unwrap() []error { return []error{failure.ErrUnavailable, redis.ErrPoolTimeout} }

// notSent reports whether err is about the client's pool, and proves nothing about the server.
func notSent(err error) bool { return errors.As(err, new(poolError)) }
