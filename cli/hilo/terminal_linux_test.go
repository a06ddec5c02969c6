package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestTopLeavesTheTerminalAsItWas ends hilo top in several ways. Each restores the screen, the cursor, and the settings.
func TestTopLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	tests := []struct {
		name string
		end  func(t *testing.T, terminal *os.File, process *os.Process)
	}{
		{"q", func(t *testing.T, terminal *os.File, _ *os.Process) { typeKey(t, terminal, "q") }},
		{"Ctrl-C", func(t *testing.T, terminal *os.File, _ *os.Process) { typeKey(t, terminal, "\x03") }},
		{"SIGTERM", func(t *testing.T, _ *os.File, process *os.Process) { signalTo(t, process, syscall.SIGTERM) }},
		{"SIGINT", func(t *testing.T, _ *os.File, process *os.Process) { signalTo(t, process, os.Interrupt) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			terminal, inside := openTerminal(t)
			before := settings(t, inside)
			command := exec.CommandContext(t.Context(), hilo, "top", "--redis", "embedded:")
			command.Env = append(os.Environ(), "TERM=xterm-256color")
			command.Stdin, command.Stdout, command.Stderr = inside, inside, inside
			command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			screen := &screen{}
			var reading sync.WaitGroup
			reading.Go(func() { _, _ = io.Copy(screen, terminal) })

			screen.wait(t, "q quit") // of the first picture: of later ones only what is different is written
			if settings(t, inside) == before {
				t.Error("the terminal is not in raw mode: this test shows nothing")
			}
			test.end(t, terminal, command.Process)
			if err := command.Wait(); err != nil {
				t.Errorf("%v: %q", err, screen.text())
			}
			if after := settings(t, inside); after != before {
				t.Errorf("settings %+v, before %+v", after, before)
			}
			_ = inside.Close()
			reading.Wait() // the other side is closed, so everything was read
			text := screen.text()
			for _, pair := range [][2]string{{"\x1b[?1049h", "\x1b[?1049l"}, {"\x1b[?25l", "\x1b[?25h"}} {
				if on, off := strings.LastIndex(text, pair[0]), strings.LastIndex(text, pair[1]); on < 0 || off < on {
					t.Errorf("%q at %d, undone by %q at %d", pair[0], on, pair[1], off)
				}
			}
		})
	}
}

// screen is the output that was written to a terminal.
type screen struct {
	mu      sync.Mutex
	written bytes.Buffer
	waiting chan struct{} // closed at the next write
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil {
		close(s.waiting)
		s.waiting = nil
	}
	return s.written.Write(p)
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written.String()
}

// wait waits until a text is on the screen.
func (s *screen) wait(t *testing.T, text string) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		if s.waiting == nil {
			s.waiting = make(chan struct{})
		}
		waiting, there := s.waiting, strings.Contains(s.written.String(), text)
		s.mu.Unlock()
		if there {
			return
		}
		select {
		case <-waiting:
		case <-late:
			t.Fatalf("%q does not come: %q", text, s.text())
		}
	}
}

// openTerminal opens a terminal of 80x24 and returns both its ends. Programs run in the second one.
func openTerminal(t *testing.T) (terminal, inside *os.File) {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	number := 0
	control(t, terminal, func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0) })
	control(t, terminal, func(fd int) (err error) { number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); return err })
	control(t, terminal, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	})
	inside, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inside.Close() })
	return terminal, inside
}

func settings(t *testing.T, terminal *os.File) unix.Termios {
	t.Helper()
	var found unix.Termios
	control(t, terminal, func(fd int) error {
		got, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			found = *got
		}
		return err
	})
	return found
}

func control(t *testing.T, terminal *os.File, do func(fd int) error) {
	t.Helper()
	connection, err := terminal.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := connection.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

func typeKey(t *testing.T, terminal *os.File, key string) {
	t.Helper()
	if _, err := terminal.WriteString(key); err != nil {
		t.Error(err)
	}
}

func signalTo(t *testing.T, process *os.Process, signal os.Signal) {
	t.Helper()
	if err := process.Signal(signal); err != nil {
		t.Error(err)
	}
}

// TestOutputWrapsBetweenWordsOnATerminal uses 80 columns. Long lines are broken between words, also those of errors and of the log. In a
// pipe an error is one line.
func TestOutputWrapsBetweenWordsOnATerminal(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	long := strings.Repeat("a-long-name-", 5) // of 60 characters
	server := redistest.StartMini(t)
	for _, name := range []string{long + "a", long + "b"} {
		seed := exec.CommandContext(t.Context(), hilo, "seed", name, "--max", "9223372036854775806", "--redis", server.URL())
		if output, err := seed.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"help", []string{"seed", "--help"}, "Usage:"},
		{"a mistake", []string{"prefix", "set", "North1"}, "hilo: "},
		{"a log line", []string{"next", long, "--timeout", "1s", "--redis", "north=redis://127.0.0.1:1", "--redis", "south=redis://127.0.0.1:1"}, " warn "},
		{"no such counter", []string{"inspect", long, "--redis", "embedded:"}, "hilo: "},
		{"a counter that is raised", []string{"seed", long + "c", "--max", "9223372036854775806", "--redis", server.URL()}, " is"},
		{"a counter that stays", []string{"seed", long + "b", "--max", "4", "--redis", server.URL()}, "stays"},
		{"a counter", []string{"inspect", long + "a", "--redis", server.URL()}, "HGETALL"},
		{"counters", []string{"list", "--redis", server.URL()}, "MAX"},
		{"a demo", []string{"demo"}, "Verified:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			terminal, inside := openTerminal(t)
			command := exec.CommandContext(t.Context(), hilo, test.args...)
			command.Env = append(os.Environ(), "TERM=xterm-256color")
			command.Stdin, command.Stdout, command.Stderr = inside, inside, inside
			shown := &screen{}
			var reading sync.WaitGroup
			reading.Go(func() { _, _ = io.Copy(shown, terminal) })
			_ = command.Run() // some fail, as they should
			_ = inside.Close()
			reading.Wait()
			plain := ansi.Strip(shown.text())
			if !strings.Contains(plain, test.want) {
				t.Errorf("got %s, want %q in it", plain, test.want)
			}
			for line := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '\r' || r == '\n' }) { // a live line begins with \r
				if width := ansi.StringWidth(line); width > 80 {
					t.Errorf("got %d columns, want at most 80: %q", width, line)
				}
			}
		})
	}
	command := exec.CommandContext(t.Context(), hilo, "prefix", "set", "North1")
	var piped bytes.Buffer
	command.Stderr = &piped
	if err := command.Run(); err == nil || strings.Count(piped.String(), "\n") != 1 {
		t.Errorf("in a pipe: %v, %q", err, &piped)
	}
}
