package target

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

// Watched is a replica as a sentinel knows it, connected or not.
type Watched struct{ Addr, Priority string }

// Watched returns the replicas that the sentinels of the target know. It returns nil if the target names no sentinels, or none
// answers within timeout.
func (t Target) Watched(ctx context.Context, timeout time.Duration) []Watched {
	o := t.options
	if o.MasterName == "" {
		return nil
	}
	for _, addr := range o.Addrs {
		if known := watchedBy(ctx, addr, o, timeout); known != nil {
			return known
		}
	}
	return nil
}

func watchedBy(ctx context.Context, addr string, o *redis.UniversalOptions, timeout time.Duration) (known []Watched) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sentinel := redis.NewSentinelClient(allocator.Tune(&redis.Options{
		Addr: addr, Username: o.SentinelUsername, Password: o.SentinelPassword, TLSConfig: o.TLSConfig,
	}))
	defer func() { _ = sentinel.Close() }()
	replicas, _ := sentinel.Replicas(ctx, o.MasterName).Result()
	for _, fields := range replicas {
		known = append(known, Watched{net.JoinHostPort(fields["ip"], fields["port"]), fields["slave-priority"]})
	}
	return known
}
