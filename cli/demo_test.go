package cli

import (
	"strings"
	"testing"
)

func TestDemoGivesNothingTwice(t *testing.T) {
	t.Parallel()
	text := must(t, "demo")
	for _, want := range []string{"worker 8 begins with  orders/NorthServer/", "companies", "200000 ids", "\n0 duplicates"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestDemoAsJSON(t *testing.T) {
	t.Parallel()
	got := decode[outcome](t, must(t, "demo", "--output", "json", "--namespace", "Other", "--separator", ":"))
	var ids int64
	for _, c := range got.Collections {
		ids += c.IDs
		if c.Ranges == 0 || c.Max < c.IDs || c.Unused != c.Max-c.IDs {
			t.Errorf("%+v", c)
		}
	}
	if got.IDs != 200_000 || ids != 200_000 || got.Duplicates != 0 || len(got.Samples) == 0 || !strings.HasPrefix(got.Samples[0], "orders:NorthServer/") {
		t.Errorf("%+v", got)
	}
}

// TestDuplicatesAreFound: the proof of the demo is worth something.
func TestDuplicatesAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		texts []string
		want  int
	}{
		{"none", nil, 0},
		{"all different", []string{"b", "a", "c"}, 0},
		{"one twice", []string{"b", "a", "b"}, 1},
		{"one three times, one twice", []string{"b", "a", "b", "a", "b"}, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := duplicates(test.texts); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

func TestADemoWithDuplicatesFails(t *testing.T) {
	t.Parallel()
	err := verdict(outcome{Duplicates: 2})
	if exitCode(err) != exitFault || !strings.Contains(err.Error(), "2 identifiers were given twice") {
		t.Errorf("%v", err)
	}
	if err := verdict(outcome{}); err != nil {
		t.Errorf("%v", err)
	}
}
