package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable()                                           // as main does for the process
	if len(os.Args) > 2 && os.Args[2] == dashed(flagAsWorker) { // hilo verify starts itself, which is the test here
		os.Exit(Run(context.Background(), os.Args, Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	goleak.VerifyTestMain(m)
}

// result is what a run of hilo left behind.
type result struct {
	code           int
	stdout, stderr string
}

// hilo runs a command line with no environment.
func hilo(t *testing.T, args ...string) result {
	t.Helper()
	return hiloWith(t, nil, args...)
}

func hiloWith(t *testing.T, environment map[string]string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), append([]string{"hilo"}, args...), Env{
		Stdin:     strings.NewReader(""),
		Stdout:    &stdout,
		Stderr:    &stderr,
		LookupEnv: func(name string) (string, bool) { value, ok := environment[name]; return value, ok },
	})
	return result{code, stdout.String(), stderr.String()}
}

// must runs a command line that has to succeed and say nothing on stderr, and gives its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	r := hilo(t, args...)
	if r.code != exitDone || r.stderr != "" {
		t.Fatalf("hilo %q: exit %d, stderr %q", args, r.code, r.stderr)
	}
	return r.stdout
}

// mustFail checks the exit code, that stdout is empty, and that stderr is one sentence with all of what in it.
func mustFail(t *testing.T, code int, r result, what ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit %d, want %d; stderr %q", r.code, code, r.stderr)
	}
	if r.stdout != "" {
		t.Errorf("stdout %q, want none", r.stdout)
	}
	if !strings.HasPrefix(r.stderr, "hilo: ") || strings.Count(r.stderr, "\n") != 1 || !strings.HasSuffix(r.stderr, "\n") {
		t.Errorf("stderr is not one sentence: %q", r.stderr)
	}
	for _, part := range what {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("stderr %q does not say %q", r.stderr, part)
		}
	}
}

// decode reads output that has to be one JSON value.
func decode[T any](t *testing.T, output string) T {
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

// writer does with what is written whatever the function does.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// runTo runs a command line with streams and a context of the test's own.
func runTo(ctx context.Context, stdout, stderr *writer, args ...string) int {
	return Run(ctx, append([]string{"hilo"}, args...), Env{Stdout: stdout, Stderr: stderr})
}
