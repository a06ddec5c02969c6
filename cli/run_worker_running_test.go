package cli

import (
	"context"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
)

// runningWorker is a hilo worker that runs in the background.
type runningWorker struct {
	cancel         context.CancelFunc // has the effect of a signal
	stdout, stderr clitest.Watched
	ended          chan int
}

// startWorker starts hilo worker, at most until the test ends.
func startWorker(t *testing.T, environment map[string]string, args ...string) *runningWorker {
	t.Helper()
	w := &runningWorker{ended: make(chan int, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		w.ended <- clitest.Run(ctx, append([]string{"hilo", "worker"}, args...), base.Env{
			Stdout: &w.stdout, Stderr: &w.stderr,
			LookupEnv: func(name string) (string, bool) { value, ok := environment[name]; return value, ok },
		})
		close(w.ended)
	}()
	t.Cleanup(func() { cancel(); <-w.ended })
	return w
}

// wait waits for the end and returns the result.
func (w *runningWorker) wait() clitest.Result {
	code := <-w.ended
	return clitest.Result{Code: code, Stdout: w.stdout.String(), Stderr: w.stderr.String()}
}
