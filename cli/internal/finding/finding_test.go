package finding

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/exit"
)

func TestFindingsAreShownWithTheWorstLast(t *testing.T) {
	t.Parallel()
	s := Sheet{Server: "north"}
	s.Add("a", Fault, "it %s", "burns").Because("Fire spreads.").Remedy("Put it out: %s.", strings.Repeat("more water, ", 10)+"now")
	s.Server = ""
	s.Add("b", OK, "it is cold")
	s.Add("c", Warning, "it smokes")
	s.Add("d", Unknown, "whose it is")
	s.Add("e", Note, "it is Monday")
	shown := Of(s.Findings)
	var out strings.Builder
	if err := shown.Print(&out); err != nil {
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
	if err := shown.Verdict(); exit.Code(err) != exit.Fault || !strings.Contains(err.Error(), "1 fault found") {
		t.Errorf("%v", err)
	}
	if err := Of(shown.Findings[1:]).Verdict(); err != nil {
		t.Errorf("%v", err)
	}
}
