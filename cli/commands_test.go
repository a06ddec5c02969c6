package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// tried describes how the tests of every command run one of them.
type tried struct {
	before     string            // command lines that precede it, one a line
	line       string            // a complete command line, without the program, where $DIR is a folder with files
	files      map[string]string // by name
	stdin      string
	json       string // the type that --output json prints
	lines      bool   // prints one value a line instead of a single one
	serverless bool   // uses no server, and refuses one
	endless    bool   // runs until it is stopped
	slow       bool   // for seconds, so it has tests of its own
	// uninitialized means that it is for a server without settings.
	uninitialized bool
	code          int    // of its exit
	note          string // about the JSON, for the reference
}

// everyCommand contains all commands that do something, by their words. The tests fail if one is missing.
var everyCommand = map[string]tried{
	"demo":           {line: "demo", json: "show.outcome", serverless: true, slow: true},
	"next":           {line: "next orders --count 2", json: "[]string"},
	"id":             {line: "id companies/ products/ravendb", json: "[]string"},
	"seed":           {line: "seed orders --max 3", json: "counters.seeded", note: "with --file, --scan or --dry-run that of hilo import, with --scan also `scanned`, `matched` and `leftOut`"},
	"list":           {before: "next orders", line: "list", json: "[]counters.listed"},
	"inspect":        {before: "next orders", line: "inspect orders", json: "counters.inspected", note: "of several servers a list of these"},
	"export":         {before: "next orders", line: "export", json: "counters.record", lines: true},
	"import":         {line: "import --from-namespace Raven --prefix take", stdin: clitest.Furnished, json: "counters.imported"},
	"identity next":  {line: "identity next companies", json: "[]string"},
	"identity seed":  {line: "identity seed companies --value 3", json: "counters.seededIdentity"},
	"identity list":  {before: "identity next companies", line: "identity list", json: "[]counters.listedIdentity"},
	"init":           {line: "init North/ --yes", json: "counters.initialized", uninitialized: true},
	"settings get":   {before: "settings set North/ --tag A", line: "settings get", json: "counters.shownSettings"},
	"settings set":   {line: "settings set North/", json: "counters.shownSettings"},
	"settings clear": {before: "settings set North/", line: "settings clear --yes", json: "counters.shownSettings"},
	"serve":          {line: "serve --listen 127.0.0.1:0", json: "web.served", endless: true},
	"settings check": {before: "settings set North/", line: "settings check", json: "counters.comparison"},
	"doctor":         {line: "doctor", json: "examine.diagnosis"},
	"bench":          {line: "bench orders --count 20", json: "examine.measured"},
	"verify":         {line: "verify --ids 20 --workers 1", json: "examine.report"},
	"top":            {before: "next orders", line: "top --interval 100ms --count 1", json: "show.snapshot"},
	"probe":          {line: "probe http://127.0.0.1:1/readyz", json: "run.answer", serverless: true, code: exit.Failed}, // nobody is there
	"dev":            {line: "dev --addr 127.0.0.1:0", json: "show.started", serverless: true, endless: true},
	"completion":     {line: "completion bash", json: "printed", serverless: true},
	"version":        {line: "version", json: "build", serverless: true},
}

func TestEveryCommandIsCovered(t *testing.T) {
	t.Parallel()
	var known []string
	eachLeaf(New(base.Env{}).Commands, "", func(path string, _ *cli.Command) {
		known = append(known, path)
		if command := everyCommand[path]; command.json == "" || command.line != path && !strings.HasPrefix(command.line, path+" ") {
			t.Errorf("hilo %s is not in everyCommand with a command line and the type of its JSON", path)
		}
	})
	for path := range everyCommand {
		if !slices.Contains(known, path) {
			t.Errorf("everyCommand has %q, which is no command", path)
		}
	}
}

func TestEveryCommandRefusesAnArgumentTooMany(t *testing.T) {
	t.Parallel()
	for path, command := range everyCommand {
		if path == "id" || path == "serve" { // which take any number of them
			continue
		}
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(command.line), "surplus", "surplus") // hilo import has one that may be left out
			r := clitest.HiloWith(t, map[string]string{"HILO_REDIS_URL": "redis://127.0.0.1:1/0"}, args...)
			clitest.MustFail(t, exit.Usage, r, `"surplus" is one too many`)
		})
	}
}

// eachLeaf calls do with each command that does something itself, and the words that lead to it.
func eachLeaf(commands []*cli.Command, above string, do func(path string, c *cli.Command)) {
	for _, c := range commands {
		path := strings.TrimSpace(above + " " + c.Name)
		switch {
		case c.Name == base.HelpName:
		case len(c.Subcommands) > 0:
			eachLeaf(c.Subcommands, path, do)
		default:
			do(path, c)
		}
	}
}

// run runs the command, after those that precede it, with additional flags. An endless command is stopped when it has printed
// something, and after a while in any case.
func (c tried) run(t *testing.T, environment map[string]string, flags ...string) clitest.Result {
	t.Helper()
	for line := range strings.Lines(c.before) {
		if r := clitest.HiloWith(t, environment, append(strings.Fields(line), flags...)...); r.Code != exit.Done {
			return r
		}
	}
	folder := t.TempDir()
	for name, content := range c.files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"hilo"}, strings.Fields(strings.ReplaceAll(c.line, "$DIR", folder))...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr bytes.Buffer
	var out clitest.Writer = stdout.Write
	if c.endless {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Second)
		defer stop()
		out = func(p []byte) (int, error) { cancel(); return stdout.Write(p) }
	}
	code := clitest.Run(ctx, append(args, flags...), base.Env{
		Stdin:     strings.NewReader(c.stdin),
		Stdout:    out,
		Stderr:    &stderr,
		LookupEnv: func(name string) (string, bool) { value, ok := environment[name]; return value, ok },
	})
	return clitest.Result{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

func TestCommandsThatAreInterruptedBeforeTheyBegin(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, command := range append(commandsOnAServer(), "demo") {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(command)
			if command != "demo" {
				args = append(args, "--redis", "embedded:")
			}
			var stdout, stderr bytes.Buffer
			out, err := clitest.Writer(stdout.Write), clitest.Writer(stderr.Write)
			code := clitest.RunTo(ctx, &out, &err, args...)
			if code != exit.Failed || !strings.HasPrefix(stderr.String(), "hilo: interrupted") || stdout.Len() > 0 {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
			}
		})
	}
}
