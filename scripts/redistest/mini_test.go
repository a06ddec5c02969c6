package redistest

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestInfoReplicationReadsTheSameInsideAScriptAndOutside(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		client := s.Client(t)
		info, err := client.Info(t.Context(), "replication").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"role:master", "master_replid:" + replicationID(t.Context(), t, client)} {
			if !strings.Contains(info, "\r\n"+line+"\r\n") {
				t.Errorf("INFO replication has no line %s:\n%s", line, info)
			}
		}
	})
}

func TestKillLetsCommandsOfMiniredisEnd(t *testing.T) {
	t.Parallel()
	s := StartMini(t)
	arrived, proceed := make(chan bool), make(chan bool)
	s.Hook(func(string, []string) string {
		arrived <- true
		<-proceed
		return ""
	})
	conn, err := net.Dial("tcp", s.HostPort())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "*1\r\n$4\r\nINFO\r\n"); err != nil {
		t.Fatal(err)
	}
	<-arrived
	killed := make(chan bool)
	go func() { s.Kill(); close(killed) }()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("got a reply of a server that is killed, want the connection closed")
	}
	close(proceed)
	<-killed
}

func TestSetReplicationIDChangesIt(t *testing.T) {
	t.Parallel()
	s := StartMini(t)
	id := strings.Repeat("0123456789", 4)
	s.SetReplicationID(id)
	if got := replicationID(t.Context(), t, s.Client(t)); got != id {
		t.Errorf("the replication id is %s, want %s", got, id)
	}
}

func TestHookAnswersInPlaceOfMiniredis(t *testing.T) {
	t.Parallel()
	s := StartMini(t)
	client := s.Client(t)
	s.Hook(func(cmd string, args []string) string {
		switch {
		case cmd == "EVALSHA":
			return "READONLY You can't write against a read only replica."
		case cmd == "INFO" && args[0] == "replication":
			return "NOPERM no permissions to run the 'info' command"
		}
		return ""
	})
	if err := client.EvalSha(t.Context(), "0", nil).Err(); !redis.IsReadOnlyError(err) {
		t.Errorf("EVALSHA gave %v, want READONLY", err)
	}
	refusal, err := client.Eval(t.Context(), "return redis.pcall('INFO', 'replication').err", nil).Text()
	if err != nil || !strings.HasPrefix(refusal, "NOPERM") {
		t.Errorf("INFO in a script gave %q, %v, want NOPERM", refusal, err)
	}

	s.Restart()
	if err := client.EvalSha(t.Context(), "0", nil).Err(); !redis.IsReadOnlyError(err) {
		t.Errorf("EVALSHA after a restart gave %v, want READONLY", err)
	}

	s.Hook(nil)
	if err := client.EvalSha(t.Context(), "0", nil).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Errorf("EVALSHA without the hook gave %v, want NOSCRIPT", err)
	}
}
