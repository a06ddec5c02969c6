// Package clitest runs command lines in tests, and has the helpers that tests of several commands share: streams that tests
// wait on, masters, findings, and initial state.
//
// It may import base, exit and finding, and is imported by tests only.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// program runs a command line.
var program func(ctx context.Context, args []string, env base.Env) int

// Main implements TestMain for package cli, whose tests run the whole program with run. Tests that see a command from outside
// are there too: in the package of the command they would need an external test package that imports the program, for which
// Go compiles everything between the two once more.
func Main(m *testing.M, run func(ctx context.Context, args []string, env base.Env) int) {
	if slices.Contains(os.Args, "--as-worker") { // hilo verify starts its own executable, which is the test
		os.Exit(run(context.Background(), os.Args, base.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	program = run
	redistest.Parallel(12) // twice as many as redistest.Main, because more of these tests wait
	redistest.Main(m)
}

// Timeout is the default of HILO_TIMEOUT in tests. Servers share the machine with all other tests, and may take longer than
// the normal default for one operation.
const Timeout = "1m"

// Run runs a command line with an environment and streams of the test's own.
func Run(ctx context.Context, args []string, env base.Env) int {
	own := env
	env.LookupEnv = func(name string) (string, bool) {
		if value, ok := own.Lookup(name); ok || name != "HILO_TIMEOUT" {
			return value, ok
		}
		return Timeout, true
	}
	return program(ctx, args, env)
}

// Result is the output and exit code of a run of hilo.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Hilo runs a command line with no environment.
func Hilo(t *testing.T, args ...string) Result {
	t.Helper()
	return HiloWith(t, nil, args...)
}

// HiloWith runs a command line with environment variables.
func HiloWith(t *testing.T, environment map[string]string, args ...string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), append([]string{"hilo"}, args...), base.Env{
		Stdin:     strings.NewReader(""),
		Stdout:    &stdout,
		Stderr:    &stderr,
		LookupEnv: func(name string) (string, bool) { value, ok := environment[name]; return value, ok },
	})
	return Result{code, stdout.String(), stderr.String()}
}

// Must runs a command line that has to succeed and print nothing on stderr, and returns its output.
func Must(t *testing.T, args ...string) string {
	t.Helper()
	r := Hilo(t, args...)
	if note := strings.HasPrefix(r.Stderr, "no counters ") || strings.HasPrefix(r.Stderr, "no identities "); r.Code != exit.Done || r.Stderr != "" && !note {
		t.Fatalf("hilo %q: exit %d, stderr %q", args, r.Code, r.Stderr)
	}
	return r.Stdout
}

// MustFail checks the exit code, that stdout is empty, and that stderr is one sentence with all of what in it.
func MustFail(t *testing.T, code int, r Result, what ...string) {
	t.Helper()
	if r.Code != code {
		t.Errorf("exit %d, want %d; stderr %q", r.Code, code, r.Stderr)
	}
	if r.Stdout != "" {
		t.Errorf("stdout %q, want none", r.Stdout)
	}
	if !strings.HasPrefix(r.Stderr, "hilo: ") || strings.Count(r.Stderr, "\n") != 1 || !strings.HasSuffix(r.Stderr, "\n") {
		t.Errorf("stderr is not one sentence: %q", r.Stderr)
	}
	for _, part := range what {
		if !strings.Contains(r.Stderr, part) {
			t.Errorf("stderr %q does not say %q", r.Stderr, part)
		}
	}
}

// Decode decodes output that has to be one JSON value.
func Decode[T any](t *testing.T, output string) T {
	t.Helper()
	var value T
	decoder := json.NewDecoder(strings.NewReader(output))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%q is no JSON: %v", output, err)
	}
	if decoder.More() {
		t.Fatalf("%q is more than one JSON value", output)
	}
	return value
}

// Writer is a function that implements io.Writer.
type Writer func(p []byte) (int, error)

func (w Writer) Write(p []byte) (int, error) { return w(p) }

// RunTo runs a command line with streams and a context of the test's own.
func RunTo(ctx context.Context, stdout, stderr *Writer, args ...string) int {
	return Run(ctx, append([]string{"hilo"}, args...), base.Env{Stdout: stdout, Stderr: stderr})
}

// HiloIn runs a command line that reads stdin.
func HiloIn(t *testing.T, stdin string, args ...string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), append([]string{"hilo"}, args...), base.Env{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr})
	return Result{code, stdout.String(), stderr.String()}
}
