package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestLiveRedrawsItsLineOnATerminal(t *testing.T) {
	t.Parallel()
	out := &fakeTerminal{columns: usualWidth}
	s := Style{Live: true}.NewLive(out)
	s.Show("1%")
	fmt.Fprintln(s, "something happened")
	s.Show(strings.Repeat("é", 100))
	s.End()
	s.End()
	fmt.Fprintln(s, "after the end")
	want := eraseLine + "1%" + eraseLine + "something happened\n" + "1%" + eraseLine + strings.Repeat("é", usualWidth-1) + eraseLine + "after the end\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLiveWritesNoStatusLineToAPipe(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := Style{}.NewLive(&out)
	s.Show("1%")
	fmt.Fprintln(s, "something happened")
	s.Show("2%")
	s.End()
	if got := out.String(); got != "something happened\n" {
		t.Errorf("got %q, want the other line alone", got)
	}
}

func TestNamedWritesWholeLines(t *testing.T) {
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
