package allocator

import (
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// startDurableMini starts a miniredis that states Durable and whose INFO shows an append-only file. It is the only server whose INFO
// can be set.
func startDurableMini(t *testing.T, durable string) *redistest.Server {
	t.Helper()
	s := redistest.StartMini(t)
	for field, value := range map[string]string{
		"aof_enabled": "1", "aof_last_write_status": "ok", "aof_rewrite_in_progress": "0", "aof_rewrite_scheduled": "0", "aof_pending_bio_fsync": "0",
		"connected_slaves": "0", "master_replid2": strings.Repeat("0", 40), "cluster_enabled": "0",
	} {
		s.SetInfo(field, value)
	}
	setDurable(t, s, durable)
	return s
}

func setDurable(t *testing.T, s *redistest.Server, durable string) {
	t.Helper()
	if err := s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", durable).Err(); err != nil {
		t.Fatal(err)
	}
}

// eachDurable runs a test on each real server with an append-only file from the start, which states Durable.
func eachDurable(t *testing.T, durable string, test func(t *testing.T, s *redistest.Server)) {
	t.Helper()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", durable)
			setDurable(t, s, durable)
			test(t, s)
		})
	}
}

func TestNextLogsTheRemovalOfDurableOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		fault  func(t *testing.T, s *redistest.Server)
		reason string
	}{
		{"a replica", func(_ *testing.T, s *redistest.Server) {
			s.SetInfo("connected_slaves", "1")
			s.SetInfo("slave0", "ip=127.0.0.1,port=6380,state=online")
		}, "a replica is connected"},
		{"a promotion", func(_ *testing.T, s *redistest.Server) {
			s.SetInfo("master_replid2", strings.Repeat("a", 40))
			s.ChangeReplicationID()
		}, "the server was promoted, or restarted otherwise than from its append-only file"},
		{"a cluster", func(_ *testing.T, s *redistest.Server) {
			s.SetInfo("cluster_enabled", "1")
			s.ChangeReplicationID()
		}, "it is a node of a cluster"},
		{"a loss", func(t *testing.T, s *redistest.Server) {
			s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 0)
		}, "writes were lost all the same"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startDurableMini(t, "always")
			log, logs := observed()
			a := mustNew(t, redistest.NewClient(t, s), Options{Logger: log})
			numbers := ranges(t, a, 1)
			if logs.Len() != 0 {
				t.Errorf("before the fault: got log %v, want none", logs.All())
			}
			test.fault(t, s)
			wantDistinct(t, append(numbers, ranges(t, a, 2)...))
			removed := logs.FilterMessageSnippet("Durable was removed").All()
			if len(removed) != 1 || removed[0].Level != zapcore.ErrorLevel || removed[0].ContextMap()["reason"] != test.reason {
				t.Errorf("got log %v, want one removal at level error for %q", logs.All(), test.reason)
			}
			if jumps := logs.FilterMessageSnippet("jumped").All(); len(jumps) != 1 {
				t.Errorf("got log %v, want one jump", logs.All())
			}
			client := s.Client(t)
			if client.HExists(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable").Val() || client.HExists(t.Context(), "{Raven}/HiLo/orders", "Ceiling").Val() {
				t.Error("got Durable or a Ceiling afterwards, want neither")
			}
		})
	}
}
