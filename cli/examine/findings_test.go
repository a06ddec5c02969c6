package examine

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/term"
)

func TestPrintShowsTheWorstFindingLast(t *testing.T) {
	t.Parallel()
	s := finding.Sheet{Server: "north"}
	s.Add("a", finding.Fault, "it %s", "burns").Because("Fire spreads.").Remedy("Put it out: %s.", strings.Repeat("more water, ", 10)+"now")
	s.Server = ""
	s.Add("b", finding.OK, "it is cold")
	s.Add("c", finding.Warning, "it smokes")
	s.Add("d", finding.Unknown, "whose it is")
	s.Add("e", finding.Note, "it is Monday")
	shown := finding.Of(s.Findings)
	var out strings.Builder
	if err := shown.Print(&out, term.Style{}); err != nil {
		t.Fatal(err)
	}
	const want = `ok       it is cold
note     it is Monday
unknown  whose it is
warning  it smokes
fault    north: it burns
         Fire spreads.
      →  Put it out: more water, more water, more water, more water, more water,
         more water, more water, more water, more water, more water, now.

1 fault, 1 warning, 1 unknown
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
	var colored strings.Builder
	if err := shown.Print(&colored, term.Style{Color: true}); err != nil || ansi.Strip(colored.String()) != want {
		t.Errorf("in colour: %v, %q", err, colored.String())
	}
	for _, part := range []string{"\x1b[32mok\x1b[m       it", "\x1b[33mwarning\x1b[m  it", "\x1b[31mfault\x1b[m    north", "\x1b[31m1 fault\x1b[m, \x1b[33m1 warning\x1b[m,"} {
		if !strings.Contains(colored.String(), part) {
			t.Errorf("%q is not in %q", part, colored.String())
		}
	}
	if err := shown.Verdict(); exit.Code(err) != exit.Fault || !strings.Contains(err.Error(), "1 fault found") {
		t.Errorf("%v", err)
	}
	if err := finding.Of(shown.Findings[1:]).Verdict(); err != nil {
		t.Errorf("%v", err)
	}
}
