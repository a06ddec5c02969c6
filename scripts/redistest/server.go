package redistest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Server is one running server, real or miniredis, that belongs to one test.
type Server struct {
	t             testing.TB
	name          string
	network, addr string   // where Options dials
	tcp           string   // host:port, for URL
	process       *process // nil on miniredis
	mini          *mini    // nil on a real server
}

// Name returns "miniredis", or kind and version of the real server, such as "redis-7.0.15" or "valkey-8.1.1".
func (s *Server) Name() string { return s.name }

// Real reports whether the server is a real one, and not miniredis.
func (s *Server) Real() bool { return s.process != nil }

// Network returns the network of Addr, which is "unix" for a real server and "tcp" for miniredis.
func (s *Server) Network() string { return s.network }

// Addr returns the path of a real server's socket, or host and port of miniredis. Restart does not change it.
func (s *Server) Addr() string { return s.addr }

// URL returns the server's TCP address as redis://127.0.0.1:port/0. Restart does not change it.
func (s *Server) URL() string { return "redis://" + s.tcp + "/0" }

// HostPort returns the server's TCP address as 127.0.0.1:port. Restart does not change it.
func (s *Server) HostPort() string { return s.tcp }

// Dir returns a real server's directory, where its persistence writes.
func (s *Server) Dir() string {
	s.t.Helper()
	s.mustBeReal("Dir")
	return s.process.dir
}

// defaultNamespace is the one of an allocator without options.
const defaultNamespace = "Raven"

// Initialize makes the settings of namespaces, as hilo init does on a new server. A server that was started has those of the
// default one, unless it requires a password, until a Restart loses them.
func (s *Server) Initialize(namespaces ...string) {
	s.t.Helper()
	for _, namespace := range namespaces {
		if err := s.initialize(namespace); err != nil {
			s.t.Fatalf("initializing %s: %v", s.name, err)
		}
	}
}

func (s *Server) initialize(namespace string) error {
	client := redis.NewClient(Options(s))
	defer func() { _ = client.Close() }()
	return initialize(client, namespace)
}

func initialize(client redis.Cmdable, namespace string) error {
	return client.HSet(context.Background(), "{"+namespace+"}/ServerPrefixForHilo", "Initialized", "2026-11-28T00:00:00Z").Err()
}

// Client returns a new client of this server, which is closed when t ends. It serves packages that need no *redis.Client,
// as NewClient returns it.
func (s *Server) Client(t testing.TB) Client {
	t.Helper()
	return NewClient(t, s)
}

// Kill ends the server as kill -9 does and returns when it is gone. Killing it again does nothing.
func (s *Server) Kill() { s.engine().kill() }

// Terminate ends a real server as kill -15 does and returns when it is gone.
func (s *Server) Terminate() {
	s.t.Helper()
	s.mustBeReal("Terminate")
	if err := s.process.terminate(); err != nil {
		s.t.Fatalf("terminating %s: %v", s.name, err)
	}
}

// Restart kills the server, if it still runs, and starts it again at the same addresses. It comes back empty, unless
// arguments of Start gave it persistence, and with another replication id.
func (s *Server) Restart() {
	s.t.Helper()
	s.engine().kill()
	err := s.engine().start()
	deadline := time.After(startTimeout)
	for wait := time.Millisecond; errors.Is(err, errPortTaken); wait = min(2*wait, 100*time.Millisecond) {
		select { // another process, trying for a port of its own, may have ours for a moment
		case <-time.After(wait):
			err = s.engine().start()
		case <-deadline:
			s.t.Fatalf("restarting %s: %v", s.name, err)
		}
	}
	if err != nil {
		s.t.Fatalf("restarting %s: %v", s.name, err)
	}
}

// Pause stops the process of a real server (SIGSTOP). Its connections stay open, and nothing is answered.
func (s *Server) Pause() {
	s.t.Helper()
	s.mustBeReal("Pause")
	if err := pause(s.process.cmd.Process); err != nil {
		s.t.Fatalf("pausing %s: %v", s.name, err)
	}
}

// Resume continues a paused server.
func (s *Server) Resume() {
	s.t.Helper()
	s.mustBeReal("Resume")
	if err := resume(s.process.cmd.Process); err != nil {
		s.t.Fatalf("resuming %s: %v", s.name, err)
	}
}

// Mini returns the miniredis that runs now, or nil on a real server. Restart replaces it, and its own Addr is not where
// this server listens.
func (s *Server) Mini() *miniredis.Miniredis {
	if s.mini == nil {
		return nil
	}
	return s.mini.current()
}

// RequireLogin makes miniredis require this user and password until the next Restart. Call it before the first login. Unlike
// Miniredis.RequireUserAuth it does not race with commands then.
func (s *Server) RequireLogin(user, password string) {
	s.t.Helper()
	s.mustBeMini("RequireLogin")
	s.mini.requireLogin(user, password)
}

// SetReplicationID changes the master_replid that miniredis reports, until the next Restart.
func (s *Server) SetReplicationID(id string) {
	s.t.Helper()
	s.mustBeMini("SetReplicationID")
	s.mini.setReplicationID(id)
}

// SetInfo sets a field that miniredis reports besides master_replid: aof_… in INFO persistence, cluster_… in INFO cluster, uptime_…
// in INFO server, any other in INFO replication. It reports none by default. An empty value removes a field.
func (s *Server) SetInfo(field, value string) {
	s.t.Helper()
	s.mustBeMini("SetInfo")
	s.mini.setInfo(field, value)
}

// DurableInfo returns the fields of INFO, for SetInfo, of a server that may be durable: its append-only file is in order, it has no
// replica, and it continues no other server.
func DurableInfo() map[string]string {
	return map[string]string{
		"aof_enabled": "1", "aof_last_write_status": "ok", "aof_last_bgrewrite_status": "ok", "aof_pending_bio_fsync": "0",
		"aof_rewrite_in_progress": "0", "aof_rewrite_scheduled": "0",
		"cluster_enabled": "0", "connected_slaves": "0", "master_replid2": strings.Repeat("0", 40),
	}
}

// ReportDurable lets miniredis report DurableInfo.
func (s *Server) ReportDurable() {
	s.t.Helper()
	for field, value := range DurableInfo() {
		s.SetInfo(field, value)
	}
}

// Hook calls hook with every command before miniredis runs it, also with those of Lua scripts and INFO. A reply other than "" is
// sent as the command's error ("READONLY …"), and the command does not run. cmd is in upper case. A nil hook removes the one
// before. Restart does not remove it. The hook must be safe for concurrent use and must not use the server.
func (s *Server) Hook(hook func(cmd string, args []string) (errReply string)) {
	s.t.Helper()
	s.mustBeMini("Hook")
	s.mini.setHook(hook)
}

// engine runs the server behind a Server.
type engine interface {
	start() error // returns when the server answers
	kill()        // returns when it is gone; harmless when it is gone already
}

func (s *Server) engine() engine {
	if s.process != nil {
		return s.process
	}
	return s.mini
}

func (s *Server) mustBeReal(method string) {
	s.t.Helper()
	if !s.Real() {
		s.t.Fatalf("%s works on real servers only, not on miniredis", method)
	}
}

func (s *Server) mustBeMini(method string) {
	s.t.Helper()
	if s.Real() {
		s.t.Fatalf("%s works on miniredis only, not on %s", method, s.name)
	}
}
