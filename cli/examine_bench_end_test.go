package cli

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestBenchWithoutTheRightToRemoveKeysWritesNothing(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	s.Hook(func(cmd string, _ []string) string {
		if cmd == "DEL" {
			return "NOPERM this user has no permissions to run the 'del' command"
		}
		return ""
	})
	clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "bench", "--count", "100", "--redis", s.URL()), "denies this user a command (NOPERM")
	clitest.CheckEmpty(t, s)
	s.Initialize("Mine")
	clitest.Must(t, "bench", "orders", "--namespace", "Mine", "--count", "100", "--redis", s.URL()) // nothing to remove
}

func TestBenchReportsKeysThatItCannotRemove(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	var written sync.Once
	wrote := make(chan struct{})
	s.Hook(func(cmd string, _ []string) string {
		switch cmd {
		case "EVALSHA":
			written.Do(func() { close(wrote) })
		case "DEL":
			select {
			case <-wrote:
				return "ERR not now"
			default:
			}
		}
		return ""
	})
	r := clitest.Hilo(t, "bench", "--count", "100", "--redis", s.URL())
	if !strings.Contains(r.Stdout, "100 in ") {
		t.Errorf("stdout %q", r.Stdout)
	}
	r.Stdout = ""
	clitest.MustFail(t, exit.Failed, r, "the keys of the benchmark, {hilo-bench-", "}/HiLo/orders and {hilo-bench-", "}/ServerPrefixForHilo, could not be removed (ERR not now); remove them with redis-cli")
}

func TestBenchOnATerminal(t *testing.T) {
	t.Parallel()
	paced := []string{"--rate", "10000"} // leaves the processors to other tests
	for _, test := range []struct {
		columns int
		output  string
		pace    []string
		want    []string
		not     string
	}{
		{80, "text", nil, []string{"Next  ", "%", " ids/s", "s left", "wait", "\x1b[1m", "█", " ids/s\x1b[m at full speed"}, "\nall "},
		{50, "text", paced, []string{"Next  ", "s left", "\nCOLLECTION  "}, "WAITS"},
		{80, "json", paced, nil, "\x1b"},
	} {
		t.Run(fmt.Sprint(test.columns, test.output), func(t *testing.T) {
			t.Parallel()
			terminal := &clitest.Terminal{Width: test.columns}
			code := clitest.Run(t.Context(), append([]string{"hilo", "bench", "--duration", "500ms", "--redis", "embedded:", "--output", test.output}, test.pace...),
				base.Env{Stdout: terminal, Stderr: terminal})
			seen := terminal.String()
			if code != exit.Done {
				t.Errorf("exit %d", code)
			}
			for _, want := range test.want {
				if !strings.Contains(seen, want) {
					t.Errorf("%q is not in %q", want, seen)
				}
			}
			if strings.Contains(seen, test.not) {
				t.Errorf("%q is in %q", test.not, seen)
			}
			for line := range strings.FieldsFuncSeq(seen, func(r rune) bool { return r == '\n' || r == '\r' }) {
				if got := ansi.StringWidth(line); test.output == "text" && got > test.columns {
					t.Errorf("%d columns: %q", got, line)
				}
			}
		})
	}
}
