package base

import (
	"testing"

	"github.com/urfave/cli/v3"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	var known []cli.Flag
	for _, name := range []string{"next", "seed", "list", "inspect", "prefix", "dev", "h", "log-level"} {
		known = append(known, &cli.StringFlag{Name: name})
	}
	tests := []struct{ name, word, want string }{
		{"a letter missing", "nxt", "next"},
		{"a letter extra", "nextt", "next"},
		{"a letter wrong", "lisp", "list"},
		{"two letters swapped", "sede", "seed"},
		{"two letters of three swapped", "edv", "dev"},
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
