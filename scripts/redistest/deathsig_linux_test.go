package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// victimEnv is set in a test process that is started to be killed. Its value is the name of the server that it starts.
const victimEnv = "REDISTEST_VICTIM"

func TestServerDiesWithItsTestProcess(t *testing.T) {
	t.Parallel()
	binaries := Binaries(t)
	if name := os.Getenv(victimEnv); name != "" {
		i := slices.IndexFunc(binaries, func(b Binary) bool { return b.Name == name })
		fmt.Println(Start(t, binaries[i]).Addr())
		_, _ = io.Copy(io.Discard, os.Stdin) // until killed
		return
	}
	for _, b := range binaries {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			testServerDies(t, b)
		})
	}
}

func testServerDies(t *testing.T, b Binary) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hilo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	victim := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithItsTestProcess$")
	victim.Env = append(os.Environ(), victimEnv+"="+b.Name, "TMPDIR="+dir)
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
	socket, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	server, err := net.Dial("unix", strings.TrimSpace(socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })

	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()

	if err := server.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading from the dead process's server gave %v, want a closed connection: it lives on", err)
	}
}
