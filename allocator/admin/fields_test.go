package admin

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// notMoved are the fields of a counter that a script reads and that an export does not have.
var notMoved = map[string]string{
	"Lease":        "a lease ends with a move, as with a seed",
	"Low":          "it belongs to Lease",
	"Minute":       "tallies begin again with the imported ones",
	"IssuedBefore": "it is part of Issued",
}

var (
	listOfFields = regexp.MustCompile(`(?:fields\(key, |local names = \{)([^)}]*)`)
	fieldInList  = regexp.MustCompile(`'([A-Z]\w*)'`)
)

func TestExportCarriesEveryFieldThatAScriptReads(t *testing.T) {
	t.Parallel()
	reads := []string{"Forced"} // which the gateway reads
	for _, file := range []string{"take", "return", "seed", "import"} {
		text, err := os.ReadFile("../../scripts/" + file + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range listOfFields.FindAllSubmatch(text, -1) {
			for _, field := range fieldInList.FindAllSubmatch(list[1], -1) {
				reads = append(reads, string(field[1]))
			}
		}
	}
	slices.Sort(reads)
	reads = slices.DeleteFunc(slices.Compact(reads), func(field string) bool { return notMoved[field] != "" || field == "Value" || field == "Name" })
	if !slices.Contains(reads, "Lowered") || !slices.Contains(reads, "Written") {
		t.Fatalf("the scripts read %v, want Lowered and Written among them", reads)
	}
	client := redistest.NewClient(t, redistest.StartMini(t))
	m := mustNew(t, client, Options{})
	for i, field := range reads {
		client.HSet(t.Context(), "{Raven}/HiLo/orders", field, 1000+i)
	}
	client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 999)
	for state, err := range m.States(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i, field := range reads {
			if want := fmt.Sprint(1000 + i); field != "Max" && !strings.Contains(fmt.Sprintf("%+v", state), want) {
				t.Errorf("%s: got %+v, want %s in it", field, state, want)
			}
		}
	}
}
