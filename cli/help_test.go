package cli

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

func TestHelpOfTheWhole(t *testing.T) {
	t.Parallel()
	want := clitest.Must(t, "--help")
	for _, part := range append([]string{"Usage:", "HILO_REDIS_URL", "Exit codes:", "hilo help urls"}, names(New(base.Env{}).Commands)...) {
		if !strings.Contains(want, part) {
			t.Errorf("%q is not in the help", part)
		}
	}
	for _, args := range []string{"help", "-h", "--redis bad --help"} {
		if got := clitest.Must(t, strings.Fields(args)...); got != want {
			t.Errorf("hilo %s: %q", args, got)
		}
	}
}

func TestOverviewFitsAScreenOf24Lines(t *testing.T) {
	t.Parallel()
	got := clitest.Must(t)
	if n := strings.Count(got, "\n"); n > 24 {
		t.Errorf("got %d lines, want at most 24", n)
	}
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("got %d columns, want at most 80: %q", n, line)
		}
	}
	for _, c := range New(base.Env{}).Commands {
		if want := c.Name + " "; c.Name != base.HelpName && (c.Category == "" || !strings.Contains(got, want)) {
			t.Errorf("%s, of category %q, is not in the overview", c.Name, c.Category)
		}
	}
	if all := clitest.Must(t, "--help"); !strings.HasPrefix(all, got) {
		t.Errorf("hilo --help does not begin with the overview: %q", all)
	}
}

func TestHelpOfURLs(t *testing.T) {
	t.Parallel()
	got := clitest.Must(t, "help", "urls")
	for _, want := range []string{"HOST:PORT ", "redis://", "unix://", "redis+sentinel://", "redis+cluster://", "embedded:", "HILO_REDIS_URL"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the help of URLs", want)
		}
	}
	clitest.MustFail(t, exit.Usage, clitest.HiloWith(t, nil, "help", "urls", "next"), `"next" is one too many`)
	clitest.MustFail(t, exit.Usage, clitest.HiloWith(t, nil, "settings", "help", "urls"), `hilo settings has no command "urls"`)
}

func TestHelpAfterALossHasItsSteps(t *testing.T) {
	t.Parallel()
	got := clitest.Must(t, "help", "recover")
	for _, want := range []string{"--min-value", "--seeded-only", "--after-loss", "--seeded-only=false", "hilo doctor", "backup", "4,194,304"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the help after a loss", want)
		}
	}
	if n := strings.Count(got, "\n"); n > 48 {
		t.Errorf("got %d lines, want at most two screens of 24", n)
	}
	clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "help", "recover", "now"), `"now" is one too many`)
}

func TestEveryCommandHasItsHelp(t *testing.T) {
	t.Parallel()
	for _, path := range paths(New(base.Env{}).Commands, nil) {
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			t.Parallel()
			got := clitest.Must(t, append(path, "--help")...)
			for _, want := range []string{"hilo " + strings.Join(path, " ") + " - ", "Usage:\n   hilo ", "Examples:\n   hilo ", "--help, -h"} {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
			if n := strings.Count(got, "\n"); n > 45 {
				t.Errorf("got %d lines, want at most 45:\n%s", n, got)
			}
			if exits, flags := strings.Index(got, "\nExit codes:"), strings.Index(got, "\nFlags:"); exits >= 0 && exits < flags {
				t.Errorf("exit codes precede the flags:\n%s", got)
			}
			for _, args := range [][]string{
				append([]string{"help"}, path...),
				append([]string{"-h"}, path...),
				append(slices.Clone(path), "--redis", "bad", "-h"),
			} {
				if again := clitest.Must(t, args...); again != got {
					t.Errorf("hilo %q: %q", args, again)
				}
			}
		})
	}
}

// paths returns the words that lead to each command.
func paths(commands []*cli.Command, above []string) [][]string {
	var all [][]string
	for _, c := range commands {
		if c.Name == base.HelpName {
			continue
		}
		path := append(slices.Clone(above), c.Name)
		all = append(append(all, path), paths(c.Subcommands, path)...)
	}
	return all
}

func names(commands []*cli.Command) []string {
	var all []string
	for _, c := range commands {
		all = append(all, c.Name)
	}
	return all
}

func TestHelpMayBeAskedForBehindArguments(t *testing.T) {
	t.Parallel()
	want := clitest.Must(t, "next", "--help")
	for _, args := range []string{"next orders --help", "next -h orders", "--help next orders users", "next --count=-1 orders --help=true"} {
		if got := clitest.Must(t, strings.Fields(args)...); got != want {
			t.Errorf("hilo %s: %q", args, got)
		}
	}
	if got := clitest.Must(t, "--redis", "embedded:", "next", "orders", "--help=false"); got != "orders/1\n" {
		t.Errorf("%q", got)
	}
}

// The output of hilo --help | head -1 depends on this.
func TestHelpIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"help", "next --help", "prefix"} {
		var to countedWrites
		if code := Run(t.Context(), append([]string{"hilo"}, strings.Fields(line)...), Env{Stdout: &to}); code != exit.Done || to != 1 {
			t.Errorf("hilo %s: %d, in %d writes", line, code, to)
		}
	}
}

type countedWrites int

func (w *countedWrites) Write(p []byte) (int, error) {
	*w++
	return len(p), nil
}

func TestHelpRefusesWhatIsNoCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"help next orders":          `there is no help about "orders"`,
		"identity help next orders": `there is no help about "orders"`,
		"help nxt":                  `did you mean "next"`,
		"help prefix nope":          `hilo settings has no command "nope"`,
	} {
		if r := clitest.HiloWith(t, nil, strings.Fields(line)...); r.Code != exit.Usage || !strings.Contains(r.Stderr, want) {
			t.Errorf("hilo %s: %+v", line, r)
		}
	}
}

func TestHelpOfACommandWithCommands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"settings", "prefix"} { // the latter is an alias
		want := clitest.Must(t, name, "--help")
		for _, args := range []string{name, name + " help", "help " + name} {
			if got := clitest.Must(t, strings.Fields(args)...); got != want {
				t.Errorf("hilo %s: %q", args, got)
			}
		}
	}
	if got, want := clitest.Must(t, "settings", "help", "set"), clitest.Must(t, "settings", "set", "-h"); got != want {
		t.Errorf("hilo settings help set: %q", got)
	}
}

func TestHelpShowsNothingOfTheEnvironment(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"HILO_REDIS_URL": "redis://ann:S3cr3t@h", "HILO_NAMESPACE": "S3cr3t"}
	for _, args := range []string{"help", "next --help", "prefix", "--redis redis://ann:S3cr3t@h help"} {
		if r := clitest.HiloWith(t, environment, strings.Fields(args)...); r.Code != exit.Done || strings.Contains(r.Stdout+r.Stderr, "S3cr3t") {
			t.Errorf("hilo %s: %+v", args, r)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	got := clitest.Must(t, "version")
	if !strings.HasPrefix(got, "hilo ") || !strings.Contains(got, runtime.Version()) || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
	if again := clitest.Must(t, "--version"); again != got {
		t.Errorf("%q", again)
	}
	shown := clitest.Decode[build](t, clitest.Must(t, "version", "--output", "json"))
	if shown.Go != runtime.Version() || shown.Version == "" {
		t.Errorf("%+v", shown)
	}
}

func TestVersionOfABuildWithARevision(t *testing.T) {
	t.Parallel()
	var b build
	b.read(&debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		},
	})
	if want := (build{Version: "v1.2.3", Revision: "abc", Time: "2026-01-02T03:04:05Z", Modified: true}); b != want {
		t.Errorf("%+v, want %+v", b, want)
	}
	if got := b.String(); !strings.HasPrefix(got, "hilo v1.2.3 (abc, modified)") {
		t.Errorf("%q", got)
	}
}

// New has no side effects, so that an application can be built at any time, and its own Run works too.
func TestNewHasNoSideEffects(t *testing.T) {
	t.Parallel()
	var stdout, stderr strings.Builder
	env := base.Env{Stdout: &stdout, Stderr: &stderr}
	if err := New(env).RunContext(t.Context(), []string{"hilo", "--redis", "embedded:", "next", "--count", "2", "orders"}); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != "orders/1\norders/2\n" {
		t.Errorf("%q", stdout.String())
	}
	for _, args := range [][]string{{"hilo", "nxt"}, {"hilo", "next", "--nope"}, {"hilo", "settings", "nope"}, {"hilo", "next", "--count"}} {
		if err := New(env).RunContext(t.Context(), args); exit.Code(err) != exit.Usage {
			t.Errorf("%q: %v", args, err)
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("%q", stderr.String())
	}
}

func TestHelpFitsATerminalOf80Columns(t *testing.T) {
	t.Parallel()
	texts := [][]string{{"--help"}, {"help", "urls"}, {"help", "recover"}, {"help", "sign-in"}, {"help", "ravendb"}}
	for _, path := range paths(New(base.Env{}).Commands, nil) {
		texts = append(texts, append(path, "--help"))
	}
	for _, path := range texts {
		for line := range strings.Lines(clitest.Must(t, path...)) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 80 {
				t.Errorf("hilo %s: %q", strings.Join(path, " "), line)
			}
		}
	}
}
