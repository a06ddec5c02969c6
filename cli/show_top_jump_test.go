package cli

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestTopReportsTheJumpThatTheClientLogs also expects that a changed replication id is not reported as a loss.
func TestTopReportsTheJumpThatTheClientLogs(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "orders", "--max", "1000", "--redis", s.URL())
		next := startTop(t, "--redis", s.URL()).events()
		seen := next()
		s.ChangeReplicationID()
		client := redis.NewClient(redistest.Options(s))
		defer client.Close()
		core, logs := observer.New(zap.WarnLevel)
		ids, err := allocator.New(client, allocator.Options{Logger: zap.New(core)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ids.Close(t.Context()) }()
		if _, err := ids.Next(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		for len(seen.Collections) != 1 || seen.Collections[0].Jumped == nil {
			seen = next()
		}
		got, want := seen.Collections[0].Jumped, logs.All()[0].ContextMap()["jump"]
		if got.By != want || got.Evidence != "the server was restarted or promoted" {
			t.Errorf("got a jump by %d, %s; want %v, a restart or promotion", got.By, got.Evidence, want)
		}
	})
}
