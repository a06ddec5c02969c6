package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const startTimeout = 30 * time.Second

// Start starts a real server that keeps nothing, on a socket and a TCP port of its own. args are more of its
// configuration as command line, "--maxmemory", "1mb", and override what it has otherwise, except for where it listens.
func Start(t testing.TB, b Binary, args ...string) *Server {
	t.Helper()
	s := start(t, b, "", args)
	_ = s.initialize(defaultNamespace) // which a password forbids
	return s
}

func start(t testing.TB, b Binary, config string, args []string) *Server {
	t.Helper()
	// Not t.TempDir, whose name contains the test's: a socket's path may be no longer than about 104 bytes.
	dir, err := os.MkdirTemp("", "hilo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	p := &process{binary: b, dir: dir, config: config, args: args}
	if config != "" {
		if err := os.WriteFile(p.configFile(), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := onFreePort(func(addr string) error {
		p.tcp = addr
		return p.start()
	}); err != nil {
		t.Fatalf("starting %s: %v", b.Name, err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", b.Name, p.output())
		}
	})
	return &Server{t: t, name: b.Name, network: "unix", addr: p.socket(), tcp: p.tcp, process: p}
}

// process runs a real server's executable, one process after another at the same addresses.
type process struct {
	binary   Binary
	dir, tcp string
	config   string // text of a file for its configuration, "" for none
	args     []string
	busPort  string          // of a node of a cluster
	cmd      *exec.Cmd       // the newest process
	gone     <-chan struct{} // closed when it has ended; nil before the first
}

func (p *process) socket() string     { return filepath.Join(p.dir, "redis.sock") }
func (p *process) configFile() string { return filepath.Join(p.dir, "server.conf") }
func (p *process) logFile() string    { return filepath.Join(p.dir, "server.log") }

// alwaysDebugs matches the servers that always permit DEBUG and have no setting for it.
var alwaysDebugs = regexp.MustCompile(`^redis-[1-6]\.`)

func (p *process) arguments() []string {
	_, port, _ := net.SplitHostPort(p.tcp)
	defaults := []string{
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning", "--dir", p.dir,
		"--repl-diskless-sync-delay", "0", // replicas need not wait for others
	}
	if !alwaysDebugs.MatchString(p.binary.Name) {
		defaults = append(defaults, "--enable-debug-command", "local")
	}
	listen := []string{"--bind", "127.0.0.1", "--port", port, "--unixsocket", p.socket()}
	arguments := slices.Concat(defaults, p.args, listen)
	if p.config != "" { // a file has to come first
		arguments = slices.Insert(arguments, 0, p.configFile())
	}
	return arguments
}

func (p *process) start() error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()

	cmd := exec.Command(p.binary.Path, p.arguments()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	gone, err := StartChild(cmd)
	if err != nil {
		return err
	}
	p.cmd, p.gone = cmd, gone
	return p.awaitReady()
}

// awaitReady returns when the server answers on its socket, with an error and the process gone when it does not.
func (p *process) awaitReady() error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	for wait := time.Millisecond; !p.answers(); wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-p.gone:
			if output := p.output(); strings.Contains(output, "Address already in use") {
				return errPortTaken
			} else {
				return fmt.Errorf("%s ended at once and said:\n%s", p.binary.Path, output)
			}
		case <-deadline.C:
			p.kill()
			return fmt.Errorf("%s did not answer within %v and said:\n%s", p.binary.Path, startTimeout, p.output())
		}
	}
	return nil
}

// answers reports whether the server accepts commands. Any reply counts, also a request for a password, except that it is
// still loading its data.
func (p *process) answers() bool {
	conn, err := net.DialTimeout("unix", p.socket(), time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && !strings.HasPrefix(reply, "-LOADING")
}

func (p *process) kill() {
	if p.gone == nil {
		return
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(fmt.Sprintf("bug: a process of our own cannot be killed: %v", err))
	}
	<-p.gone
}

func (p *process) terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.gone:
		return nil
	case <-time.After(startTimeout):
		return fmt.Errorf("still running after %v", startTimeout)
	}
}

// output returns what the server and its predecessors logged. That is warnings only, unless arguments raised the log level.
func (p *process) output() string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
