package redistest

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// settleTimeout bounds how long servers take to agree among themselves.
const settleTimeout = 30 * time.Second

// StartReplica starts a replica of a real server, of the same kind, and returns when it receives what the primary writes.
func StartReplica(t testing.TB, primary *Server, args ...string) *Server {
	t.Helper()
	primary.mustBeReal("StartReplica")
	replica := Start(t, primary.process.binary, args...)
	replica.Follow(primary)
	return replica
}

// Follow makes the server a replica of another and returns when it receives what the primary writes. Restart ends that.
func (s *Server) Follow(primary *Server) {
	s.t.Helper()
	host, port, _ := net.SplitHostPort(primary.HostPort())
	s.do("REPLICAOF", host, port)
	s.Await("to be in sync", func(ctx context.Context) bool {
		return s.info(ctx, "master_port") == port && s.info(ctx, "master_link_status") == "up"
	})
	s.awaitStream(primary, "PUBLISH", "redistest", "")
}

// awaitStream waits until a replica in sync receives what its primary writes. The primary may still send nothing: it starts at an
// ACK that arrives after it has noticed the end of its snapshot, and a busy one can miss the first; the next is sent a second
// later. command, which shows the start, is replicated and leaves nothing.
func (s *Server) awaitStream(primary *Server, command ...any) {
	s.t.Helper()
	primary.do(command...)
	want := primary.replOffset(context.WithoutCancel(s.t.Context()), "master_repl_offset")
	s.Await("to receive what its primary writes", func(ctx context.Context) bool {
		return s.replOffset(ctx, "slave_repl_offset") >= want
	})
}

// replOffset returns one offset of INFO, or 0 if there is none.
func (s *Server) replOffset(ctx context.Context, name string) int64 {
	offset, _ := strconv.ParseInt(s.info(ctx, name), 10, 64)
	return offset
}

// Promote makes a replica a primary.
func (s *Server) Promote() {
	s.t.Helper()
	s.do("REPLICAOF", "NO", "ONE")
}

// AwaitUptime waits until the server has run for some seconds. Scripts distinguish a promotion from a restart by the uptime.
func (s *Server) AwaitUptime(seconds int) {
	s.t.Helper()
	s.Await("to have run for a while", func(ctx context.Context) bool {
		uptime, err := strconv.Atoi(s.info(ctx, "uptime_in_seconds"))
		return err == nil && uptime >= seconds
	})
}

// ChangeReplicationID changes the server's replication id, as a restart does, and keeps its data.
func (s *Server) ChangeReplicationID() {
	s.t.Helper()
	if s.Real() {
		s.do("DEBUG", "CHANGE-REPL-ID")
	} else {
		s.SetReplicationID(randomReplicationID())
	}
}

// flood is more than the sockets between a server and its replica hold.
const flood = 48 << 20

// PauseReplica pauses a replica of s, so that nothing that s writes from now on reaches it. The buffers of the connection
// are filled first, with a key of that name, because the replica would read them when it resumes.
func (s *Server) PauseReplica(replica *Server, key string) {
	s.t.Helper()
	replica.Pause()
	value := strings.Repeat("x", 1<<20)
	for n := 0; n < flood; n += len(value) {
		s.do("SET", key, value)
	}
}

// Await waits until so reports true, and fails the test if that takes too long. what describes the condition.
func (s *Server) Await(what string, so func(ctx context.Context) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), settleTimeout)
	defer cancel()
	for !so(ctx) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			s.t.Fatalf("waiting for %s %s: %v", s.name, what, ctx.Err())
		}
	}
}

// info returns one value of INFO, or "" if there is none.
func (s *Server) info(ctx context.Context, name string) string {
	client := s.once()
	defer func() { _ = client.Close() }()
	text, _ := client.Info(ctx, "everything").Result()
	return field(text, name)
}

// do runs one command, on a connection of its own.
func (s *Server) do(args ...any) any {
	s.t.Helper()
	client := s.once()
	defer func() { _ = client.Close() }()
	reply, err := client.Do(context.WithoutCancel(s.t.Context()), args...).Result()
	if err != nil {
		s.t.Fatalf("%s: %v: %v", s.name, args[0], err)
	}
	return reply
}

// once returns a client for a few commands, which the caller closes.
func (s *Server) once() Client { return redis.NewClient(Options(s)) }
