package base

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"next", "seed", "list", "inspect", "prefix", "dev", "h", "log-level"}
	tests := []struct{ name, word, want string }{
		{"a letter missing", "nxt", "next"},
		{"a letter extra", "nextt", "next"},
		{"a letter wrong", "lisp", "list"},
		{"two letters swapped", "sede", "seed"},
		{"cut short", "insp", "inspect"},
		{"a word that is far", "frobnicate", ""},
		{"a word as short as its slips", "x", ""},
		{"nothing", "", ""},
		{"another dash", "log_level", "log-level"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := nearest(test.word, known); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
