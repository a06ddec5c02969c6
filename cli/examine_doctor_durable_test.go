package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDoctorComparesStatedReplicasWithThoseConnected(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		first, url := startReplica(t, s), s.URL()
		runDoctor(t, exit.Done, "--redis", url).
			must(t, "durable", "", finding.Note, "it has 1 replica, and does not state that what is promoted has every number")
		clitest.Must(t, "prefix", "set", "--durable", "replicas:1", "--redis", url)
		got := runDoctor(t, exit.Done, "--redis", url, "--durable-timeout", "20s")
		got.must(t, "durable", "", finding.OK, "it states replicas:1, which is all of its replicas")
		got.must(t, "durability", "", finding.OK, "a range was confirmed as required")
		if got.Warnings > 0 {
			t.Errorf("warnings about a sound server: got %+v, want none", got)
		}

		second := redistest.StartReplica(t, s)
		client := s.Client(t)
		s.Await("to have two replicas online", func(ctx context.Context) bool {
			return strings.Count(client.Info(ctx, "replication").Val(), "state=online") == 2
		})
		runDoctor(t, exit.Done, "--redis", url).must(t, "durable", "", finding.Note, "it states replicas:1 of 2, of equal replica-priority")
		do(t, second, "CONFIG", "SET", "replica-priority", "90")
		runDoctor(t, exit.Fault, "--redis", url).must(t, "durable", "", finding.Fault, "it states replicas:1 of 2, and replica-priority is ")
		do(t, first, "CONFIG", "SET", "replica-priority", "0")
		do(t, second, "CONFIG", "SET", "replica-priority", "0")
		runDoctor(t, exit.Fault, "--redis", url).must(t, "durable", "", finding.Fault, "0 at "+first.HostPort())
		do(t, first, "CONFIG", "SET", "replica-priority", "100")
		second.Pause()
		runDoctor(t, exit.Done, "--redis", url).must(t, "durable", "", finding.Unknown, "the priority of "+second.HostPort()+" is unknown")
		second.Resume()

		first.Kill()
		second.Kill()
		s.Await("to have no replica", func(ctx context.Context) bool {
			return strings.Contains(client.Info(ctx, "replication").Val(), "connected_slaves:0")
		})
		got = runDoctor(t, exit.Fault, "--redis", url, "--durable-timeout", "20ms")
		got.must(t, "durable", "", finding.Fault, "it states replicas:1, and 0 replicas can acknowledge a write")
		got.must(t, "durability", "", finding.Fault, "a range was not confirmed")
		mustLeaveNothing(t, s)
	})
}

// The sentinels know a replica that is not connected and its priority, which the primary does not.
func TestDoctorReadsReplicasFromSentinels(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		startReplica(t, s)
		away := redistest.StartReplica(t, s, "--replica-priority", "90")
		sentinels := redistest.StartSentinels(t, s, 1, 2)
		url := "redis+sentinel://" + strings.Join(sentinels.Addrs(), ",") + "/" + redistest.MasterName
		clitest.Must(t, "prefix", "set", "--durable", "replicas:1", "--redis", url)
		sentinel := sentinels.Nodes[0].Client(t)
		sentinels.Nodes[0].Await("to know the priority", func(ctx context.Context) bool { // which it asks for every 10 s
			known := fmt.Sprint(sentinel.Do(ctx, "SENTINEL", "REPLICAS", redistest.MasterName).Val())
			return strings.Contains(known, "slave-priority:90") || strings.Contains(known, "slave-priority 90")
		})
		away.Kill()
		client := s.Client(t)
		s.Await("to have one replica", func(ctx context.Context) bool {
			return strings.Contains(client.Info(ctx, "replication").Val(), "connected_slaves:1")
		})
		runDoctor(t, exit.Done, "--redis", s.URL()).must(t, "durable", "", finding.OK, "it states replicas:1, which is all of its replicas")
		runDoctor(t, exit.Fault, "--redis", url).must(t, "durable", "", finding.Fault, "90 at "+away.HostPort())
	})
}

func TestDoctorOfStatedReplicasOfAShard(t *testing.T) {
	t.Parallel()
	b := redistest.Binaries(t)[0]
	c := redistest.StartCluster(t, b, 3, 1)
	for i, node := range c.Nodes {
		if i < 3 {
			awaitReplica(t, node)
		}
		do(t, node, "CONFIG", "SET", "appendonly", "yes")
	}
	url := "redis+cluster://" + strings.Join(c.Addrs(), ",")
	clitest.Must(t, "prefix", "set", "--durable", "replicas:1", "--redis", url)
	got := runDoctor(t, exit.Done, "--redis", "east="+url, "--durable-timeout", "20s")
	got.must(t, "durable", "east", finding.OK, "it states replicas:1, which is all of its replicas")
	got.must(t, "durability", "east", finding.OK, "")
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
