package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// python returns a Python that has redis-py, or "" if there is none. It prefers Debian's own, since the one in PATH may lack
// Debian's packages.
var python = sync.OnceValue(func() string {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", "import redis; assert redis.VERSION >= (4,)").Run() == nil {
			return name
		}
	}
	return ""
})

// process is a worker, either hilo.py or one in Go.
type process struct {
	*exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// start runs Python with arguments in this folder.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	if python() == "" {
		redistest.Missing(t, "Python 3 with redis-py (Debian: python3-redis)")
	}
	for _, file := range []string{"hilo.py", "play.py"} { // so that go test's cache knows of them
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
	}
	p := &process{Cmd: exec.Command(python(), append([]string{"-B"}, args...)...)}
	p.run(t)
	return p
}

// run starts the process, which ends when t ends.
func (p *process) run(t *testing.T) {
	t.Helper()
	p.Stderr = &p.stderr
	stdout, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(stdout)
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
}

// lines returns the next n lines, or all complete lines if n is below 0.
func (p *process) lines(t *testing.T, n int) []string {
	t.Helper()
	if n < 0 {
		return p.some(math.MaxInt)
	}
	lines := p.some(n)
	if len(lines) < n {
		_ = p.Wait()
		t.Fatalf("%d of %d lines: %s", len(lines), n, p.stderr.String())
	}
	return lines
}

// end waits for the process to end and returns its exit code.
func (p *process) end(t *testing.T) int {
	t.Helper()
	if err := p.Wait(); err != nil {
		if exited := new(exec.ExitError); !errors.As(err, &exited) {
			t.Fatal(err)
		}
	}
	return p.ProcessState.ExitCode()
}

// some returns the next n lines, or fewer if the output ends before. It may be called from any goroutine.
func (p *process) some(n int) []string {
	var lines []string
	for len(lines) < n {
		line, err := p.stdout.ReadString('\n')
		if err != nil { // an incomplete line was not printed
			break
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}
