package cli

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
)

func TestUnknownNameSuggestsTheNearest(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, word, want string }{
		{"a letter missing", "nxt", "next"},
		{"a letter extra", "nextt", "next"},
		{"a letter wrong", "lisp", "list"},
		{"two letters swapped", "sede", "seed"},
		{"two letters of three swapped", "edv", ""},
		{"letters left out", "lst", "list"},
		{"other letters", "nope", ""},
		{"cut short", "insp", "inspect"},
		{"a word that is far", "frobnicate", ""},
		{"a word as short as its slips", "x", ""},
		{"nothing", "", ""},
		{"another dash", "log_level", "log-level"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := "; see hilo --help"
			if test.want != "" {
				want = `; did you mean "` + test.want + `"?`
			}
			program := &cli.App{Name: "hilo", Action: base.Overview, HideHelp: true, ExitErrHandler: func(*cli.Context, error) {}}
			for _, name := range []string{"next", "seed", "list", "top", "inspect", "prefix", "dev", "h", "log-level"} {
				program.Commands = append(program.Commands, &cli.Command{Name: name})
			}
			if err := base.NewLine(program, []string{"hilo", test.word}).Run(t.Context()); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
