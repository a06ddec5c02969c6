package cli

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
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

// counted returns a metric of a collection, 0 if there is none. The worker has --metrics-addr.
func (w *runningWorker) counted(t *testing.T, name, collection string) (n int64) {
	t.Helper()
	_, text := sendRequest(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, http.MethodGet, w.address(t)+"/metrics")
	if found := regexp.MustCompile(name + `\{collection="` + collection + `"\} (\S+)`).FindStringSubmatch(text); found != nil {
		value, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		n = int64(value)
	}
	return n
}

// awaitIssued waits until the worker took more than n identifiers of a collection.
func (w *runningWorker) awaitIssued(t *testing.T, collection string, n int64) {
	t.Helper()
	clitest.AwaitTrue(t, "an identifier of "+collection, func() bool { return w.counted(t, "hilo_ids_issued_total", collection) > n })
}
