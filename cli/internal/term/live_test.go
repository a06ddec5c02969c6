package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAScreenWritesOverItsLineOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewLive(&out, time.Hour)
	s.terminal = true
	s.Show("1%")
	fmt.Fprintln(s, "something happened")
	s.Show(strings.Repeat("é", 100))
	s.End()
	s.End()
	fmt.Fprintln(s, "after the end")
	want := eraseLine + "1%" + eraseLine + "something happened\n" + "1%" + eraseLine + strings.Repeat("é", usualWidth-1) + eraseLine + "after the end\n"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAScreenWritesALineNowAndThenElsewhere(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewLive(&out, time.Hour)
	s.Show("1%")
	s.Show("2%")
	s.every = 0
	s.Show("3%")
	fmt.Fprintln(s, "something happened")
	s.End()
	if got := out.String(); got != "1%\n3%\nsomething happened\n" {
		t.Errorf("%q", got)
	}
}

func TestNamedLinesAreWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	n := Named(&out, "worker 1")
	for _, part := range []string{"a", "b\nc", "\n\nrest"} {
		fmt.Fprint(n, part)
	}
	if got, want := out.String(), "worker 1: ab\nworker 1: c\nworker 1: \n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
