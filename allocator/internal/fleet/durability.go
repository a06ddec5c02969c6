package fleet

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/scripts"
)

// WithDefaults returns d with a timeout, or failure.ErrInvalidOptions. A server with appendfsync everysec may take 2 s.
func WithDefaults(d scripts.Durability) (scripts.Durability, error) {
	switch {
	case d.Timeout == 0 && d.Fsync:
		d.Timeout = 3 * time.Second
	case d.Timeout == 0:
		d.Timeout = time.Second
	}
	switch {
	case d.Replicas < 0:
		return d, fmt.Errorf("%w: Durability.Replicas is %d: must not be negative", failure.ErrInvalidOptions, d.Replicas)
	case d.Timeout < time.Millisecond:
		return d, fmt.Errorf("%w: Durability.Timeout is %v: must be 1ms or more", failure.ErrInvalidOptions, d.Timeout)
	}
	return d, nil
}

// CheckConfirmable returns failure.ErrInvalidOptions if d requires confirmations that a client may not get.
func CheckConfirmable(client redis.Cmdable, d scripts.Durability) error {
	if (d.Replicas > 0 || d.Fsync) && !scripts.Confirmable(client) {
		return fmt.Errorf("%w: the client is a %T, which may send WAIT to another server than the one that wrote: Durability, and a server with "+
			"Durable of replicas:N, need a *redis.Client or a *redis.ClusterClient itself", failure.ErrInvalidOptions, client)
	}
	return nil
}

// AttemptTimeout returns how long an attempt may take with its confirmations, if it may take timeout without them.
func AttemptTimeout(d scripts.Durability, timeout time.Duration) time.Duration {
	if d.Replicas > 0 {
		timeout += d.Timeout
	}
	if d.Fsync {
		timeout += d.Timeout
	}
	return timeout
}
