package admin

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

type scripter = redis.Scripter

// newClient returns a client that is closed with the test.
func newClient(t *testing.T, opts *redis.Options) *redis.Client {
	t.Helper()
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// onCommand is a hook that calls do before a client sends a command of that name for the times-th time. The command fails with
// the error fail, if any.
type onCommand struct {
	s     *redistest.Server
	name  string
	times int
	do    func()
	fail  error
}

func (*onCommand) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *onCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.EqualFold(cmd.Name(), h.name) {
			if h.times--; h.times == 0 {
				if h.do != nil {
					h.do()
				}
				if h.fail != nil {
					cmd.SetErr(h.fail)
					return h.fail
				}
			}
		}
		return next(ctx, cmd)
	}
}

func (*onCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// startDurableMini starts a miniredis that reports an append-only file in order, as a durable server has it, and no replica.
func startDurableMini(t *testing.T) *redistest.Server {
	t.Helper()
	s := redistest.StartMini(t)
	s.ReportDurable()
	return s
}

// another starts a server of the same kind.
func another(t *testing.T, s *redistest.Server) *redistest.Server {
	t.Helper()
	for _, b := range redistest.Binaries(t) {
		if b.Name == s.Name() {
			return redistest.Start(t, b)
		}
	}
	return redistest.StartMini(t)
}
