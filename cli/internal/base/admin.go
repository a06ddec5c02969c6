package base

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// Administer does what an operator asks for. Each step of it may take --timeout.
func Administer(ctx context.Context, g *Session, t target.Target, do func(*allocator.Admin) error) error {
	return AdministerWith(ctx, g, t, func(_ redis.UniversalClient, m *allocator.Admin) error { return do(m) })
}

// AdministerWith is Administer for what needs the client too.
func AdministerWith(ctx context.Context, g *Session, t target.Target, do func(redis.UniversalClient, *allocator.Admin) error) error {
	return t.Alone().Use(ctx, g.Timeout, func(o target.Opened) error {
		client := o.Clients[0]
		client.AddHook(StepLimit(g.Timeout))
		// go-redis heeds a deadline while it reads, but no cancellation.
		defer context.AfterFunc(ctx, func() { _ = client.Close() })()
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

// StepLimit is a hook that bounds each command, tries and all. A scan of a great server is many of them, and all of
// it may take as long as it takes.
type StepLimit time.Duration

// DialHook is of redis.Hook.
func (StepLimit) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is of redis.Hook.
func (l StepLimit) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return within(l, next) }

// ProcessPipelineHook is of redis.Hook.
func (l StepLimit) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return within(l, next)
}

func within[Sent any](l StepLimit, next func(context.Context, Sent) error) func(context.Context, Sent) error {
	return func(ctx context.Context, sent Sent) error {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(l))
		defer cancel()
		return next(ctx, sent)
	}
}

// Allocate lends do the servers and an allocator of them. Nothing is sent before do asks for something that needs it.
func Allocate(ctx context.Context, g *Session, s target.Servers, do func(target.Opened, *allocator.Allocator) error) error {
	return s.Use(ctx, g.Timeout, func(o target.Opened) error {
		a, err := o.Allocator(Options(g, o, g.Log))
		if err != nil {
			return err
		}
		defer CloseAllocator(ctx, g, a)
		return do(o, a)
	})
}

// CloseAllocator returns what was not used, also after an interruption.
func CloseAllocator(ctx context.Context, g *Session, a *allocator.Allocator) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Timeout)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		g.Log.Warn("numbers that were not needed could not be returned, and are a gap now", zap.Error(err))
	}
}

// Options are those that the flags ask for; the rest may be filled in.
func Options(g *Session, o target.Opened, log *zap.Logger) allocator.Options {
	return allocator.Options{
		Namespace:     g.Namespace,
		Separator:     g.Separator,
		RefillTimeout: o.Timeout,
		RequireSeeded: o.RequireSeeded,
		RequirePrefix: o.RequirePrefix,
		Durability:    o.Durability,
		Logger:        log,
	}
}
