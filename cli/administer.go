package cli

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

// administer does what an operator asks for. Each step of it may take --timeout.
func (g globals) administer(ctx context.Context, t target, do func(*allocator.Admin) error) error {
	return g.administerBeside(ctx, t, func(_ redis.UniversalClient, m *allocator.Admin) error { return do(m) })
}

// administerBeside is administer for who needs the client too.
func (g globals) administerBeside(ctx context.Context, t target, do func(redis.UniversalClient, *allocator.Admin) error) error {
	return t.use(ctx, g.Timeout, func(client redis.UniversalClient) error {
		client.AddHook(stepLimit(g.Timeout))
		// go-redis heeds a deadline while it reads, but no cancellation.
		stop := context.AfterFunc(ctx, func() { _ = client.Close() })
		defer stop()
		m, err := allocator.NewAdmin(client, g.Namespace)
		if err != nil {
			return err
		}
		if m, err = m.WithSeparator(g.Separator); err != nil {
			return err
		}
		return do(client, m)
	})
}

// stepLimit is a hook that bounds each command, tries and all. A scan of a great server is many of them, and all of
// it may take as long as it takes.
type stepLimit time.Duration

func (stepLimit) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l stepLimit) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(l))
		defer cancel()
		return next(ctx, command)
	}
}

func (l stepLimit) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(l))
		defer cancel()
		return next(ctx, commands)
	}
}
