package allocator

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The costs of backups are those that docker/README.md states.
func TestBackupCostsJumpsOnlyWhereItAttachesAsAReplica(t *testing.T) {
	t.Parallel()
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		redistest.Missing(t, "redis-cli")
	}
	eachDurable(t, "everysec", func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		info := func(ctx context.Context, section, want string) bool {
			return strings.Contains(client.Info(ctx, section).Val(), want)
		}
		jumpsAfter := func(backup func()) int64 { return jumpsOver(t, a, backup) }
		if n := jumpsAfter(func() {
			s.Await("to save", func(ctx context.Context) bool { return client.BgSave(ctx).Err() == nil })
			s.Await("to have saved", func(ctx context.Context) bool { return info(ctx, "persistence", "rdb_bgsave_in_progress:0\r") })
		}); n != 0 {
			t.Errorf("BGSAVE: got %d jumps, want none", n)
		}
		if n := jumpsAfter(func() {
			if err := os.CopyFS(t.TempDir(), os.DirFS(filepath.Join(s.Dir(), "appendonlydir"))); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("a copy of the folder: got %d jumps, want none", n)
		}
		idOf := func() string { return client.InfoMap(t.Context(), "replication").Item("Replication", "master_replid") }
		id := idOf()
		if n := jumpsAfter(func() {
			if output, err := exec.CommandContext(t.Context(), cli, "-u", s.URL(), "--rdb", filepath.Join(t.TempDir(), "copy.rdb")).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		}); n != 1 {
			t.Errorf("redis-cli --rdb: got %d jumps, want one", n)
		}
		attached := idOf()
		if err := client.ConfigSet(t.Context(), "repl-backlog-ttl", "1").Err(); err != nil { // in place of an hour
			t.Fatal(err)
		}
		if n := jumpsAfter(func() {
			s.Await("to forget the replica", func(ctx context.Context) bool { return !info(ctx, "replication", "master_replid:"+attached) })
		}); n != 1 || attached == id {
			t.Errorf("long after redis-cli --rdb: got %d jumps, want one more; the id was %s, and then %s", n, id, attached)
		}
		if got := client.HGet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable").Val(); got != "everysec" {
			t.Errorf("got Durable %q, want everysec", got)
		}
	})
}

// jumpsOver returns how often the counter of an allocator jumps over what it does.
func jumpsOver(t *testing.T, a *Allocator, do func()) int64 {
	t.Helper()
	take := func() {
		if _, err := mustCollection(t, a, "orders").Take(t.Context(), 10_000); err != nil { // more than is in hand
			t.Fatal(err)
		}
	}
	take()
	before := a.Stats().Servers[0].Jumps[EvidenceOrigin]
	do()
	take()
	return a.Stats().Servers[0].Jumps[EvidenceOrigin] - before
}
