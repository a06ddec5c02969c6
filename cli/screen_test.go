package cli

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
	s := newScreen(&out, time.Hour)
	s.terminal = true
	s.show("1%")
	fmt.Fprintln(s, "something happened")
	s.show(strings.Repeat("é", 100))
	s.end()
	s.end()
	fmt.Fprintln(s, "after the end")
	want := eraseLine + "1%" + eraseLine + "something happened\n" + "1%" + eraseLine + strings.Repeat("é", lineWidth) + eraseLine + "after the end\n"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAScreenWritesALineNowAndThenElsewhere(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := newScreen(&out, time.Hour)
	s.show("1%")
	s.show("2%")
	s.every = 0
	s.show("3%")
	fmt.Fprintln(s, "something happened")
	s.end()
	if got := out.String(); got != "1%\n3%\nsomething happened\n" {
		t.Errorf("%q", got)
	}
}

func TestNamedLinesAreWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	n := &named{to: &out, name: "worker 1"}
	for _, part := range []string{"a", "b\nc", "\n\nrest"} {
		fmt.Fprint(n, part)
	}
	if got, want := out.String(), "worker 1: ab\nworker 1: c\nworker 1: \n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
