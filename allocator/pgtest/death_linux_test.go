package pgtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Set in a test process that is started to be killed.
const victimEnv = "PGTEST_VICTIM"

func TestServerDiesWithItsTestProcess(t *testing.T) {
	t.Parallel()
	if os.Getenv(victimEnv) != "" {
		fmt.Println(Start(t).dir)
		_, _ = io.Copy(io.Discard, os.Stdin) // until killed
		return
	}
	if _, err := find(); err != nil {
		redistest.Missing(t, err.Error())
	}
	dir, err := os.MkdirTemp("", "hilo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL is another user and passes through it
		t.Fatal(err)
	}
	victim := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithItsTestProcess$")
	victim.Env = append(os.Environ(), victimEnv+"=1", "TMPDIR="+dir)
	stdin, err := victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close() })
	stdout, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(strings.TrimSpace(line), ".s.PGSQL.5432")
	if !listens(socket) {
		t.Fatal("the server does not listen")
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()

	deadline := time.After(20 * time.Second)
	for listens(socket) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			t.Fatal("the server of a process that is dead lives on")
		}
	}
}

func listens(socket string) bool {
	connection, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
