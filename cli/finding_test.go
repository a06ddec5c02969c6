package cli

import (
	"strings"
	"testing"
)

func TestFindingsAreShownWithTheWorstLast(t *testing.T) {
	t.Parallel()
	shown := judged([]finding{
		found("a", levelFault, "it %s", "burns").because("Fire spreads.").remedy("Put it out: %s.", strings.Repeat("more water, ", 10)+"now"),
		found("b", levelOK, "it is cold"),
		found("c", levelWarning, "it smokes"),
		found("d", levelUnknown, "whose it is"),
		found("e", levelNote, "it is Monday"),
	})
	shown.Findings[0].Server = "north"
	var out strings.Builder
	if err := shown.print(&out); err != nil {
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
	if err := shown.verdict(); exitCode(err) != exitFault || !strings.Contains(err.Error(), "1 fault found") {
		t.Errorf("%v", err)
	}
	if err := judged(shown.Findings[1:]).verdict(); err != nil {
		t.Errorf("%v", err)
	}
}
