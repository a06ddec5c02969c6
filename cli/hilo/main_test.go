package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// command is the name under which the test binary runs hilo. Signals, closed pipes and many processes need processes of their
// own.
const command = "hilo"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == command {
		main()
	}
	if err := os.Setenv("HILO_TIMEOUT", clitest.Timeout); err != nil {
		panic(err)
	}
	redistest.Main(m)
}

// binary returns the path of hilo.
func binary(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		redistest.Missing(t, "signals and pipes as Unix has them")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), command)
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestManyProcessesShareOneCounter takes 10,000 identifiers with each of 16 processes.
func TestManyProcessesShareOneCounter(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const processes, each, rangeSize = 16, 10_000, 1000
		var running sync.WaitGroup
		outputs := make([]bytes.Buffer, processes)
		for i := range outputs {
			command := exec.CommandContext(t.Context(), hilo, "next", "orders", "--count", "10000", "--redis", s.URL())
			command.Stdout, command.Stderr = &outputs[i], os.Stderr
			running.Go(func() {
				if err := command.Run(); err != nil {
					t.Errorf("process %d: %v", i, err)
				}
			})
		}
		running.Wait()

		given := make(map[string]bool)
		for i := range outputs {
			for id := range strings.Lines(outputs[i].String()) {
				if given[id] {
					t.Errorf("%q was given twice", id)
				}
				given[id] = true
			}
		}
		if len(given) != processes*each {
			t.Errorf("%d different identifiers, want %d", len(given), processes*each)
		}
		top, err := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Int64()
		if err != nil {
			t.Fatal(err)
		}
		if most := int64(processes*each + 16*rangeSize); top > most {
			t.Errorf("Max is %d, want at most %d: more than 16 ranges are gaps", top, most)
		}
	})
}

func TestNextReturnsUnusedNumbersOnASignal(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
		if !signal.Ignored(syscall.SIGHUP) { // otherwise it has to be ignored
			signals = append(signals, syscall.SIGHUP)
		}
		for _, signal := range signals {
			command := exec.CommandContext(t.Context(), hilo, "next", "orders", "--count", "1000000000", "--redis", s.URL())
			var stderr bytes.Buffer
			command.Stderr = &stderr
			stdout, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			output := bufio.NewReader(stdout)
			if _, err := output.ReadString('\n'); err != nil { // it is running
				t.Fatal(err)
			}
			if err := command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(output)
			if err != nil {
				t.Fatal(err)
			}
			_ = command.Wait()
			if code := command.ProcessState.ExitCode(); code != 1 || !strings.HasPrefix(stderr.String(), "hilo: interrupted after ") {
				t.Errorf("%v: exit %d, stderr %q", signal, code, stderr.String())
			}
			last := string(rest[bytes.LastIndexByte(bytes.TrimSpace(rest), '/')+1:])
			if top := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val() + "\n"; top != last {
				t.Errorf("%v: Max is %q and the last identifier %q: not all was returned", signal, top, last)
			}
		}
	})
}

func TestClosedPipeIsAnError(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	command := exec.CommandContext(t.Context(), hilo, "next", "orders", "--count", "1000000", "--redis", "embedded:")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	if code := command.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "broken pipe): ") {
		t.Errorf("exit %d, stderr %q", code, stderr.String())
	}
}

// A signal is the normal way to end hilo dev.
func TestDevEndsWithASignal(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	command := exec.CommandContext(t.Context(), hilo, "dev", "--addr", "127.0.0.1:0")
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	next := exec.CommandContext(t.Context(), hilo, "next", "orders")
	next.Env = append(os.Environ(), "HILO_REDIS_URL="+strings.TrimSpace(url))
	if output, err := next.CombinedOutput(); err != nil || string(output) != "orders/1\n" {
		t.Errorf("%q, %v", output, err)
	}
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
}
