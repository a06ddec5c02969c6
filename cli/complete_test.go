package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// completers make a shell complete a command line after it has loaded the script, and print one candidate a line.
var completers = map[string]struct {
	flags  []string
	script string
}{
	// bash splits a word at = and : before it completes.
	"bash": {[]string{"--norc"}, `source "$1"; shift
COMP_WORDS=(); for word; do case $word in
  -*=*) COMP_WORDS+=("${word%%=*}" = "${word#*=}") ;;
  *) COMP_WORDS+=("$word") ;;
esac; done
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _hilo; printf '%s\n' "${COMPREPLY[@]}"`},
	// zsh completes at a terminal only, so this prints what its completion system would receive.
	"zsh": {[]string{"-f"}, `compdef() { true }
_describe() { local name=$argv[-1] word; for word in "${(@P)name}"; do word=${word%%:*}; [[ $word == $words[CURRENT]* ]] && print -r -- $word; done }
compset() { words[CURRENT]=${words[CURRENT]#*=} }
compadd() { shift; for word; do [[ $word == $words[CURRENT]* ]] && print -r -- $word; done }
_files() { print -rl -- $words[CURRENT]*(N) }
source "$1"; shift
words=("$@"); CURRENT=$#; _hilo; true`},
	"fish": {[]string{"--no-config"}, `source $argv[1]
complete -C (string join ' ' -- $argv[2..-1]) | string replace -r '\t.*' '' | string replace -r '^-.*=' ''; true`},
}

func TestShellsComplete(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "counters.csv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable() // which TestMain makes hilo where it has that name
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(folder, "bin", "hilo")); err != nil {
		t.Fatal(err)
	}
	var globals []string
	for _, flag := range base.GlobalFlags() {
		globals = append(globals, base.Dashed(flag.Names()[0]))
	}
	tests := []struct {
		name, line string
		want       []string
	}{
		{"commands", "hilo ide", []string{"identity"}},
		{"all commands", "hilo ", names(New(base.Env{}).Commands)},
		{"commands of a command", "hilo settings s", []string{"set"}},
		{"a command behind flags", "hilo --redis list --output json sett", []string{"settings"}},
		{"the flags of a command, and the global ones", "hilo settings set --", append([]string{"--tag", "--identities", "--durable", "--min-value", "--max-value", "--seeded-only", "--yes", "--prefer", "--replicas-none", "--help"}, globals...)},
		{"the flags of the whole", "hilo --", append([]string{"--version", "--help"}, globals...)},
		{"a flag", "hilo next orders --cou", []string{"--count"}},
		{"a flag's values", "hilo list --output ", []string{"text", "json"}},
		{"keys to sort by", "hilo list --sort h", []string{"headroom"}},
		{"other keys to sort by", "hilo top --sort ", []string{"alarm", "epoch", "left", "max", "name", "ranges", "rate"}},
		{"kinds", "hilo seed --kind ", []string{"hilo", "identity"}},
		{"whose prefix", "hilo import --prefix=", []string{"keep", "take"}},
		{"a value that can be anything", "hilo verify --rate ", nil},
		{"a flag's values behind =", "hilo list --output=j", []string{"json"}},
		{"a flag's value that could be a command", "hilo --namespace list sett", []string{"settings"}},
		{"a global flag's values before the command", "hilo --log-level w", []string{"warn"}},
		{"no values where there are many", "hilo next --count ", nil},
		{"files", "hilo list --tls-ca co", []string{"counters.csv"}},
		{"the file of an import", "hilo import co", []string{"counters.csv"}},
		{"arguments that are a few", "hilo completion ", []string{"bash", "zsh", "fish"}},
		{"no arguments where there are many", "hilo next o", nil},
		{"nothing that is a flag behind --", "hilo next -- --", nil},
	}
	for shell, complete := range completers {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			program := shellOrSkip(t, shell)
			script := filepath.Join(t.TempDir(), "hilo."+shell)
			if err := os.WriteFile(script, []byte(clitest.Must(t, "completion", shell)), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					got := runShell(t, program, folder, append(append(slices.Clone(complete.flags), "-c", complete.script),
						afterCommand(shell, append([]string{script}, strings.Split(test.line, " ")...))...)...)
					want := slices.Sorted(slices.Values(test.want))
					if !slices.Equal(got, want) {
						t.Errorf("%q: %q, want %q", test.line, got, want)
					}
				})
			}
		})
	}
}

// afterCommand returns the arguments of a script behind -c. For all shells except fish the first of them is the shell's own name.
func afterCommand(shell string, arguments []string) []string {
	if shell == "fish" {
		return arguments
	}
	return append([]string{shell}, arguments...)
}

func runShell(t *testing.T, program, folder string, args ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = folder
	command.Env = []string{"PATH=" + filepath.Join(folder, "bin") + ":" + os.Getenv("PATH"), "HOME=" + folder, "LC_ALL=C"}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v, %s", err, &stderr)
	}
	return slices.Sorted(slices.Values(strings.Fields(string(output))))
}

// shellOrSkip finds a shell. If it is missing, the test is skipped, or fails in CI where all shells are required, and always for
// bash.
func shellOrSkip(t *testing.T, shell string) string {
	t.Helper()
	program, err := exec.LookPath(shell)
	if err != nil {
		if shell == "bash" || os.Getenv("HILO_TEST_SHELLS_REQUIRED") != "" {
			t.Fatalf("%s is not installed, and HILO_TEST_SHELLS_REQUIRED wants it", shell)
		}
		redistest.Missing(t, shell)
	}
	return program
}

func TestCompletionAsJSON(t *testing.T) {
	t.Parallel()
	for _, shell := range shells {
		got := clitest.Decode[printed](t, clitest.Must(t, "completion", shell, "--output", "json"))
		if got.Shell != shell || got.Script != clitest.Must(t, "completion", shell) {
			t.Errorf("%+v", got)
		}
	}
}

func TestCompletionRefusesUnknownShellsAndFlags(t *testing.T) {
	t.Parallel()
	clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "completion"), "SHELL", "bash|zsh|fish")
	clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "completion", "tcsh"), `"tcsh"`, "bash, zsh, fish")
	clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "completion", "bash", "--redis", "embedded:"), "uses no server; remove --redis")
}

// TestCompletionAnswersShells expects one candidate a line, whatever precedes it, and never an error message.
func TestCompletionAnswersShells(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, line, want string }{
		{"what a word does", "sett", "\nsettings\tshow or change what a server adds and states\n"},
		{"a flag, without its quotes and variable", "next --", "\n--timeout\tDURATION that the server may take for one operation\n"},
		{"values", "list --output ", "\ntext\njson\n"},
		{"values behind =", "list --output=j", "\ntext\njson\n"},
		{"a file", "list --tls-ca ", "\n:files\n"},
		{"the file of an import", "import ", "\n:files\n"},
		{"nothing", "next o", "\n"},
		{"a URL with a login before it", "--redis redis://ann:S3cr3t@h list --log-level ", "\ndebug\ninfo\nwarn\nerror\n"},
		{"a flag that is unknown before it", "list --nope --output ", "\ntext\njson\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := "\n" + clitest.Must(t, append([]string{"__complete"}, strings.Split(test.line, " ")...)...)
			if whole := !strings.Contains(test.want, "\t"); whole && got != test.want || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if got := clitest.Must(t, "__complete", "verify", "--"); strings.Contains(got, "as-worker") {
		t.Errorf("a hidden flag is offered: %s", got)
	}
	clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "__complete"), "no command")
}
