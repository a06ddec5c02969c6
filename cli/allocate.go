package cli

import (
	"context"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
)

// allocate lends do an allocator of the servers. Nothing is sent before do asks for something that needs it.
func (g globals) allocate(ctx context.Context, s servers, do func(*allocator.Allocator) error) error {
	return s.use(ctx, g.Timeout, func(o opened) error {
		a, err := o.allocator(o.options(g))
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
