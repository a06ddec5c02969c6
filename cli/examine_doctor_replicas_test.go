package cli

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDoctorOfReplicas(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		runDoctor(t, exit.Done, "--redis", s.URL()).must(t, "replicas", "", finding.Note, "it has no replicas")

		replica := startReplica(t, s)
		got := runDoctor(t, exit.Done, "--redis", s.URL())
		got.must(t, "replicas", "", finding.Note, "it has 1 replica: "+replica.HostPort())
		got.must(t, "replica-priority", "", finding.OK, "")
		got.must(t, "min-replicas", "", finding.Warning, "min-replicas-to-write is 0, and it has 1 replica")
		do(t, replica, "CONFIG", "SET", "replica-priority", "0")
		do(t, s, "CONFIG", "SET", "min-replicas-to-write", "1")
		got = runDoctor(t, exit.Done, "--redis", s.URL())
		got.must(t, "replica-priority", "", finding.Warning, "replica-priority is 0 at each")
		got.must(t, "min-replicas", "", finding.OK, "")
		runDoctor(t, exit.Fault, "--redis", replica.URL()).must(t, "role", "", finding.Fault, "it is a replica, of "+s.HostPort())

		got = runDoctor(t, exit.Fault, "--redis", "a="+s.URL(), "--redis", "b="+replica.URL())
		got.must(t, "shared", "", finding.Fault, "a and b have the same data (same replication id)")
		got.must(t, "role", "b", finding.Fault, "it is a replica")

		replica.Pause()
		got = runDoctor(t, exit.Done, "--redis", s.URL())
		got.must(t, "replica-priority", "", finding.Unknown, "it did not answer")
		replica.Resume()
		mustLeaveNothing(t, s, replica)
	})
}

func TestDoctorExaminesThePrimaryOfSentinels(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		replica := startReplica(t, s)
		do(t, replica, "CONFIG", "SET", "replica-priority", "0")
		sentinels := redistest.StartSentinels(t, s, 1, 1)
		url := "redis+sentinel://" + strings.Join(sentinels.Addrs(), ",") + "/" + redistest.MasterName
		got := runDoctor(t, exit.Done, "--redis", url)
		got.must(t, "role", "", finding.OK, "")
		got.must(t, "replicas", "", finding.Note, "it has 1 replica: ")
		got.must(t, "replica-priority", "", finding.Warning, "")
		got.must(t, "min-replicas", "", finding.Warning, "")

		replica.Kill() // and the sentinels may promote it when it is back
		client := s.Client(t)
		s.Await("to have no replica", func(ctx context.Context) bool {
			return strings.Contains(client.Info(ctx, "replication").Val(), "connected_slaves:0")
		})
		got = runDoctor(t, exit.Done, "--redis", url)
		got.must(t, "replicas", "", finding.Warning, "which its sentinels know, does not follow it")
		got.must(t, "min-replicas", "", finding.Warning, "")
		for _, f := range got.Findings {
			if f.Check == "durable" || strings.Contains(f.What, "no replicas") {
				t.Errorf("got %+v, want nothing that ignores the sentinels", f)
			}
		}
		do(t, s, "HSET", "{Raven}/ServerPrefixForHilo", "Durable", "everysec")
		runDoctor(t, exit.Fault, "--redis", url).must(t, "durable", "", finding.Fault, "its sentinels know replicas")
	})
}

// A tool that copies the data, such as RedisShake, follows as a replica does, and answers no command.
func TestDoctorOfAToolThatFollowsAsAReplica(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		tool, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.HostPort())
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		t.Cleanup(func() { _ = tool.Close(); <-ended })
		go func() {
			defer close(ended)
			send := "REPLCONF listening-port 1\r\n"
			for _, next := range []string{"PSYNC ? -1\r\n", "REPLCONF ACK 1\r\n"} {
				_, _ = io.WriteString(tool, send)
				_, _ = tool.Read(make([]byte, 1000)) // a command behind another one is refused
				send = next
			}
			for received := make([]byte, 1000); ; {
				if _, err := tool.Read(received); err != nil {
					return
				}
				_, _ = io.WriteString(tool, send)
			}
		}()
		awaitReplica(t, s)
		got := runDoctor(t, exit.Done, "--redis", s.URL())
		got.must(t, "replicas", "", finding.Note, "it has 1 replica: 127.0.0.1:1")
		got.must(t, "replica-priority", "", finding.Unknown, "the priority of 127.0.0.1:1 is unknown: it did not answer")
		for _, f := range got.Findings {
			if (f.Check == "replicas" || f.Check == "replica-priority") && !strings.Contains(f.Why, "RedisShake") {
				t.Errorf("got %+v, want that it may be a tool", f)
			}
		}
	})
}
