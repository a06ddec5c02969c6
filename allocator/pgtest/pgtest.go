// Package pgtest gives a test a PostgreSQL of its own: a real one, of the
// programs that this machine has, empty, on a socket in a directory of its own.
// It listens on no port, keeps nothing on disk that matters, and is gone with
// its directory when the test ends, also when the test's process is killed.
//
// PostgreSQL refuses to run as root. A test that runs as root has it run as the
// user postgres, or as nobody where there is no such user.
//
// It depends on the standard library and on package redistest, which says what
// happens to a test for want of a PostgreSQL: it is skipped, and in CI it fails.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

const (
	superuser    = "postgres"
	database     = "postgres"
	startTimeout = 60 * time.Second // for each of the two programs, on a machine that has much else to do
)

// Server is a running PostgreSQL that belongs to one test.
type Server struct {
	dir  string
	cmd  *exec.Cmd
	gone <-chan struct{} // closed when the process has ended
}

// Start starts a PostgreSQL, which ends with the test. It has one database and
// one user, who may do everything and needs no password; only the user that
// the test runs as, and root, can reach it.
func Start(t testing.TB) *Server {
	t.Helper()
	programs, err := find()
	if err != nil {
		redistest.Missing(t, err.Error())
	}
	// Not t.TempDir, whose name contains the test's: a socket's path may be no longer than about 104 bytes.
	dir, err := os.MkdirTemp("", "hilo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{dir: dir}
	if err := handOver(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.create(t, programs); err != nil {
		t.Fatal(err)
	}
	if err := s.start(programs); err != nil {
		t.Fatalf("starting PostgreSQL: %v; it said:\n%s", err, s.output())
	}
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("PostgreSQL said:\n%s", s.output())
		}
	})
	return s
}

// URL returns the address for clients, in the form that all of them accept:
// postgres://postgres@/postgres?host=%2Ftmp%2Fhilo1&sslmode=disable.
func (s *Server) URL() string {
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.User(superuser),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {s.dir}, "sslmode": {"disable"}}.Encode(),
	}).String()
}

// Environment returns the variables, NAME=value, by which psql and other programs
// that use libpq find the server.
func (s *Server) Environment() []string {
	return []string{"PGHOST=" + s.dir, "PGPORT=5432", "PGUSER=" + superuser, "PGDATABASE=" + database}
}

func (s *Server) data() string    { return filepath.Join(s.dir, "data") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// empty has the files of an empty database, which the servers of tests that run at the
// same time copy: initdb takes as long as all else that most of them do.
var empty struct {
	sync.Mutex
	dir   string
	tests int // that use it; the last one removes it
}

// create makes the files of an empty database.
func (s *Server) create(t testing.TB, programs string) error {
	t.Helper()
	empty.Lock()
	defer empty.Unlock()
	if empty.tests == 0 {
		dir, err := os.MkdirTemp("", "hilo")
		if err != nil {
			return err
		}
		if err := initialize(t.Context(), dir, programs); err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}
		empty.dir = dir
	}
	empty.tests++
	t.Cleanup(func() {
		empty.Lock()
		defer empty.Unlock()
		if empty.tests--; empty.tests == 0 {
			_ = os.RemoveAll(empty.dir)
		}
	})
	return run(t.Context(), s.dir, "cp", "-R", filepath.Join(empty.dir, "data"), s.data())
}

func initialize(ctx context.Context, dir, programs string) error {
	if err := handOver(dir); err != nil {
		return err
	}
	return run(ctx, dir, filepath.Join(programs, "initdb"), "--pgdata", filepath.Join(dir, "data"), "--username", superuser,
		"--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
}

// run runs a program as the user of the server, in dir. It has no death signal:
// it ends by itself in a second or two.
func run(ctx context.Context, dir, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	if err := asUser(cmd); err != nil {
		return err
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w; it said:\n%s", filepath.Base(program), err, output)
	}
	return nil
}

func (s *Server) start(programs string) error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(filepath.Join(programs, "postgres"), "-D", s.data(), "-k", s.dir, "-p", "5432", "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off",
		"-c", "dynamic_shared_memory_type=mmap", "-c", "log_min_messages=fatal")
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := asUser(cmd); err != nil {
		return err
	}
	gone, err := redistest.StartChild(cmd)
	if err != nil {
		return err
	}
	s.cmd, s.gone = cmd, gone
	return s.awaitReady()
}

// awaitReady returns when the server takes connections, with an error and the
// process gone when it does not.
func (s *Server) awaitReady() error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	for !s.ready() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.gone:
			return errors.New("it ended at once")
		case <-deadline.C:
			s.stop()
			return fmt.Errorf("it took no connections within %v", startTimeout)
		}
	}
	return nil
}

// ready tells whether the server says so in the eighth line of its lock file,
// which is what pg_ctl goes by.
func (s *Server) ready() bool {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	return err == nil && len(lines) >= 8 && strings.TrimSpace(lines[7]) == "ready" && lines[0] == strconv.Itoa(s.cmd.Process.Pid)
}

// stop ends the server at once, without writing down what only matters to a
// next start, and returns when it is gone.
func (s *Server) stop() {
	for _, signal := range []os.Signal{immediately, os.Kill} {
		if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			panic(fmt.Sprintf("bug: a process of our own cannot be ended: %v", err))
		}
		select {
		case <-s.gone:
			return
		case <-time.After(startTimeout):
		}
	}
	<-s.gone
}

// output returns what the server logged.
func (s *Server) output() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
