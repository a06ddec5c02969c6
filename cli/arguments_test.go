package cli

import (
	"slices"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
)

func TestLineMovesEveryFlagToItsCommand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args string // separated by spaces, where '' is the empty argument
		want string
	}{
		{"nothing", "", ""},
		{"a command", "list", "list"},
		{"an argument", "next orders", "next -- orders"},
		{"a flag before the argument", "next --count 5 orders", "next --count 5 -- orders"},
		{"a flag after the argument", "next orders --count 5", "next --count 5 -- orders"},
		{"a flag with =", "next orders --count=5", "next --count=5 -- orders"},
		{"a single dash", "next orders -count 5", "next -count 5 -- orders"},
		{"a negative value", "next orders --count -1", "next --count -1 -- orders"},
		{"a value that looks like a flag", "next orders --count --force", "next --count --force -- orders"},
		{"a value that is --", "next orders --count --", "next --count -- -- orders"},
		{"a global flag first", "--redis u next orders", "--redis u next -- orders"},
		{"a global flag in the middle", "next --redis u orders", "--redis u next -- orders"},
		{"a global flag last", "next orders --count 5 --redis u", "--redis u next --count 5 -- orders"},
		{"a global flag with =", "next orders --redis=u?a=b", "--redis=u?a=b next -- orders"},
		{"several of one flag", "list --redis a=u --redis b=v", "--redis a=u --redis b=v list"},
		{"a flag without a value", "seed orders --force --max 3", "seed --force --max 3 -- orders"},
		{"a flag without a value given one", "seed orders --force=false --max 3", "seed --force=false --max 3 -- orders"},
		{"no value is taken by such a flag", "seed --force orders --max 3", "seed --force --max 3 -- orders"},
		{"what follows -- is no flag", "next -- --count", "next -- --count"},
		{"the command may follow --", "-- next orders", "-- next orders"},
		{"a lone dash is an argument", "next -", "next -- -"},
		{"the empty argument", "next ''", "next -- ''"},
		{"the empty argument among others", "id companies/ '' --redis u x", "--redis u id -- companies/ '' x"},
		{"an argument that is a command's name", "next list", "next -- list"},
		{"a collection named help", "next help", "next -- help"},
		{"a command below a command", "settings set North/ --tag A", "settings set --tag A -- North/"},
		{"a global flag between the two", "prefix --redis u set North/", "--redis u prefix set -- North/"},
		{"help of a command", "next --help", "next --help"},
		{"help asked for before the command", "-h next", "-h next"},
		{"help after an argument", "next orders -h", "next -h -- orders"},
		{"the version", "--version", "--version"},
		{"extra arguments are kept, to be refused", "list a b", "list -- a b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := base.NewLine(New(base.Env{}), clitest.Words("hilo "+test.args)).Sorted()
			if want := clitest.Words("hilo " + test.want); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestLineWithoutAProgramName(t *testing.T) {
	t.Parallel()
	if got := base.NewLine(New(base.Env{}), nil).Sorted(); !slices.Equal(got, []string{"hilo"}) {
		t.Errorf("%q", got)
	}
}

// FuzzLine checks that no argument is lost or added, and that nothing panics.
func FuzzLine(f *testing.F) {
	f.Add("next orders --count 5")
	f.Add("--redis a prefix set -- -x --tag")
	f.Add("-- -- - -h --=x")
	f.Fuzz(func(t *testing.T, text string) {
		args := clitest.Words("hilo " + text)
		got := base.NewLine(New(base.Env{}), args).Sorted()
		sortedArgs, sortedGot := without(args, "--"), without(got, "--")
		slices.Sort(sortedArgs)
		slices.Sort(sortedGot)
		if !slices.Equal(sortedArgs, sortedGot) {
			t.Errorf("%q became %q", args, got)
		}
	})
}

func without(list []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == word })
}
