package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// awaitAOF waits until an append-only file that was switched on has been written.
func awaitAOF(t *testing.T, s *redistest.Server) {
	t.Helper()
	client := s.Client(t)
	s.Await("to have its AOF", func(ctx context.Context) bool {
		info := client.Info(ctx, "persistence").Val()
		return strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	})
}

func TestDoctorComparesDurableWithTheConfiguration(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "appendonly", "yes", "appendfsync", "always")
		awaitAOF(t, s)
		const settings = "{Raven}/ServerPrefixForHilo"
		check := func(code int, level finding.Level, what string) {
			t.Helper()
			runDoctor(t, code, "--redis", s.URL()).must(t, "durable", "", level, what)
		}
		check(exit.Done, finding.Note, "its settings do not say Durable")
		do(t, s, "HSET", settings, "Durable", "always")
		check(exit.Done, finding.OK, "its settings say Durable always, and its configuration agrees")
		do(t, s, "CONFIG", "SET", "appendfsync", "everysec")
		check(exit.Fault, finding.Fault, "which is not true: appendfsync is everysec: CONFIG SET appendfsync always")
		do(t, s, "HSET", settings, "Durable", "everysec")
		check(exit.Done, finding.OK, "its settings say Durable everysec, and its configuration agrees")
		do(t, s, "CONFIG", "SET", "no-appendfsync-on-rewrite", "yes")
		check(exit.Fault, finding.Fault, "no-appendfsync-on-rewrite is yes: CONFIG SET no-appendfsync-on-rewrite no")
		do(t, s, "CONFIG", "SET", "no-appendfsync-on-rewrite", "no", "appendonly", "no")
		check(exit.Fault, finding.Fault, "appendonly is no: CONFIG SET appendonly yes")
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		awaitAOF(t, s)
		startReplica(t, s)
		check(exit.Fault, finding.Fault, "a replica is connected")
		mustLeaveNothing(t, s)
	})
}

func TestDoctorWithoutTheRightToCONFIGChecksDurableByINFO(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		awaitAOF(t, s)
		do(t, s, "ACL", "SETUSER", "ann", "on", "nopass", "~*", "+@all", "-config")
		as := strings.Replace(s.URL(), "redis://", "redis://ann:x@", 1)
		runDoctor(t, exit.Done, "--redis", as).must(t, "durable", "", finding.Note, "its settings do not say Durable")
		do(t, s, "HSET", "{Raven}/ServerPrefixForHilo", "Durable", "everysec")
		runDoctor(t, exit.Done, "--redis", as).must(t, "durable", "", finding.Unknown, "could not be checked")
	})
}

func TestDoctorOfAClusterThatSaysDurable(t *testing.T) {
	t.Parallel()
	binaries := redistest.Binaries(t)
	if len(binaries) == 0 {
		redistest.Missing(t, "a real server")
	}
	c := redistest.StartCluster(t, binaries[0], 3, 0)
	for _, node := range c.Nodes {
		do(t, node, "CONFIG", "SET", "appendonly", "yes")
	}
	url := "redis+cluster://" + strings.Join(c.Addrs(), ",")
	owner := c.Nodes[int(c.Slot("{Raven}"))*3/16384]
	do(t, owner, "HSET", "{Raven}/ServerPrefixForHilo", "Durable", "everysec")
	runDoctor(t, exit.Fault, "--redis", "east="+url).must(t, "durable", "east", finding.Fault, "it is a node of a cluster")
}

// A server without settings is new or lost its data. Only a person can tell.
func TestDoctorFindsAServerWithoutSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		settings := func() string {
			for _, f := range runDoctor(t, exit.Fault, "--redis", s.URL()).Findings {
				if f.Check == "settings" && f.Level == finding.Fault {
					return f.What + " " + f.Do
				}
			}
			return ""
		}
		do(t, s, "FLUSHALL")
		for _, want := range []string{"it has neither settings nor counters", "hilo init --redis URL", "hilo help recover"} {
			if got := settings(); !strings.Contains(got, want) {
				t.Errorf("an empty server: got %q, want %q", got, want)
			}
		}
		do(t, s, "HSET", "{Raven}/HiLo/orders", "Max", 100)
		for _, want := range []string{"it has counters and no settings", "hilo init --yes", "hilo help recover"} {
			if got := settings(); !strings.Contains(got, want) {
				t.Errorf("a server with a counter: got %q, want %q", got, want)
			}
		}
		do(t, s, "HSET", "{Raven}/ServerPrefixForHilo", "NewCounters", "no")
		clitest.Decode[diagnosis](t, clitest.Hilo(t, "doctor", "--output", "json", "--redis", s.URL()).Stdout).
			must(t, "settings", "", finding.Note, "it makes no counters")
	})
}

// A worker that has numbers of a server which lost its data makes its counters again, so that the server is not empty.
func TestDoctorOfAnEmptiedServerWithAWorker(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client, err := allocator.Connect(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		worker, err := allocator.New(client, allocator.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = worker.Close(context.Background()) })
		take := func() {
			orders, err := worker.Collection("orders")
			if err == nil {
				_, err = orders.Take(t.Context(), 1000)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		take()
		do(t, s, "FLUSHALL")
		runDoctor(t, exit.Fault, "--redis", s.URL()).must(t, "settings", "", finding.Fault, "it has neither settings nor counters")
		take()
		runDoctor(t, exit.Fault, "--redis", s.URL()).must(t, "settings", "", finding.Fault, "it has counters and no settings")
		clitest.Must(t, "init", "--yes", "--redis", s.URL())
		runDoctor(t, exit.Done, "--redis", s.URL()).must(t, "reset", "", finding.Warning, "1 counter jumped and issued few ranges: {Raven}/HiLo/orders")
	})
}

// A counter of the doctor's own goes up to 2^63-1, wherever the interval of the server is.
func TestDoctorOfAServerWithAnInterval(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if s.Real() {
			do(t, s, "CONFIG", "SET", "appendonly", "yes")
		}
		clitest.Must(t, "prefix", "set", "--min-value", "1000000000001", "--max-value", "2000000000000", "--redis", s.URL())
		got := clitest.Decode[diagnosis](t, clitest.Hilo(t, "doctor", "--output", "json", "--redis", s.URL()).Stdout)
		got.must(t, "exactness", "", finding.OK, "it counts exactly")
		got.must(t, "prefix", "", finding.OK, "numbers 1000000000001 to 2000000000000")
	})
}
