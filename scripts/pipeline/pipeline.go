// Package pipeline sends pipelines whose commands each have a reply or an error.
package pipeline

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Send sends the commands that add queues in one round trip, after which each of them has its own reply or error. go-redis
// leaves the commands without either where the server refuses the login of a new connection. Each has that error here.
func Send(ctx context.Context, client interface {
	Pipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
}, add func(redis.Pipeliner),
) {
	commands, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		add(p)
		return nil
	})
	if err == nil || slices.ContainsFunc(commands, func(c redis.Cmder) bool { return c.Err() != nil }) {
		return
	}
	for _, c := range commands {
		c.SetErr(err)
	}
}
