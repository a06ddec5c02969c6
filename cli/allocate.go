package cli

import (
	"context"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
)

// allocate lends do an allocator of the target. Nothing is sent before do asks for something that needs it.
func (g globals) allocate(ctx context.Context, t target, do func(*allocator.Allocator) error) error {
	return t.use(ctx, g.Timeout, func(client redis.UniversalClient) error {
		a, err := allocator.New(client, allocator.Options{
			Namespace:     g.Namespace,
			Separator:     g.Separator,
			RefillTimeout: g.Timeout,
			Logger:        withoutReturned(g.Log),
		})
		if err != nil {
			return err
		}
		defer g.close(ctx, a)
		return do(a)
	})
}

// close returns what was not used, also after an interruption.
func (g globals) close(ctx context.Context, a *allocator.Allocator) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Timeout)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		g.Log.Warn("numbers that were not needed could not be returned, and are a gap now", zap.Error(err))
	}
}
