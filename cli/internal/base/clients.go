package base

import (
	"context"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// Administer calls do with an Admin of the server, each step of which may take --timeout.
func Administer(ctx context.Context, g *Session, t target.Target, do func(*admin.Admin) error) error {
	return AdministerWith(ctx, g, t, func(_ *target.Client, m *admin.Admin) error { return do(m) })
}

// AdministerWith is like Administer, and also passes the client.
func AdministerWith(ctx context.Context, g *Session, t target.Target, do func(*target.Client, *admin.Admin) error) error {
	return t.Alone().Use(ctx, g.Timeout, func(o target.Opened) error {
		client := o.Clients[0]
		client.Limit(g.Timeout)
		// While it reads, go-redis observes a deadline, but not a cancellation.
		defer context.AfterFunc(ctx, func() { _ = client.Redis.Close() })()
		m, err := admin.New(client.Redis, admin.Options{Namespace: g.Namespace, Separator: g.Separator})
		if err != nil {
			return err
		}
		return do(client, m.With(admin.Mode{Timeout: g.Timeout, NoReplicas: g.ReplicasNone}))
	})
}

// Allocate calls do with the servers and an allocator of them, whose numbers end at limit. 0 means the limit of the library.
// Nothing is sent before do uses it.
func Allocate(ctx context.Context, g *Session, s target.Servers, limit int64, do func(target.Opened, *allocator.Allocator) error) error {
	return s.Use(ctx, g.Timeout, func(o target.Opened) error {
		opts := Options(g, o, g.Log)
		opts.Limit = limit
		a, err := o.Allocator(opts)
		if err != nil {
			return err
		}
		defer CloseAllocator(ctx, g, a)
		return do(o, a)
	})
}

// CloseAllocator closes a, which returns unused ranges, also after an interruption.
func CloseAllocator(ctx context.Context, g *Session, a *allocator.Allocator) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Timeout)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		g.Log.Warn("numbers that were not needed could not be returned, and are a gap now", zap.Error(err))
	}
}

// Options returns the options that flags set. The caller may set the others.
func Options(g *Session, o target.Opened, log *zap.Logger) allocator.Options {
	return allocator.Options{
		Namespace:     g.Namespace,
		Separator:     g.Separator,
		RefillTimeout: o.Timeout,
		Logger:        log,
	}
}
