package cli

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestWorkerServesMetricsAndHealth(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		s := start()
		s.Kill()
		w := startWorker(t, nil, "orders", "--rate", "1", "--timeout", "1s", "--redis", "north="+s.URL(),
			"--metrics-addr", "127.0.0.1:0")
		base := w.address(t)
		w.stderr.Await(t, "no ids available, retrying")
		wantAnswer(t, base+"/healthz", http.StatusOK, "alive")
		wantAnswer(t, base+"/readyz", http.StatusServiceUnavailable, "no numbers in hand, and no server is up")
		wantAnswer(t, base+"/metrics", http.StatusOK, `hilo_server_up{server="north"} 0`, `hilo_worker_errors_total `)

		s.Restart()
		s.Initialize("Raven")
		w.awaitIssued(t, "orders", 0)
		wantAnswer(t, base+"/readyz", http.StatusOK, "ready")
		wantAnswer(t, base+"/metrics", http.StatusOK, `hilo_server_up{server="north"} 1`, `hilo_ids_issued_total{collection="orders"} `, "go_goroutines ")
		wantAnswer(t, base+"/", http.StatusNotFound)

		s.Kill() // numbers in hand are still issued
		wantAnswer(t, base+"/readyz", http.StatusOK, "ready")
		w.cancel()
		if r := w.wait(); r.Code != exit.Done {
			t.Errorf("%+v", r)
		}
		if response, err := http.Get(base + "/healthz"); err == nil { //nolint:noctx // the server has ended
			_ = response.Body.Close()
			t.Error("it still answers")
		}
	})
}

func TestWorkerEndsAtOnceIfTheMetricsAddressIsInUse(t *testing.T) {
	t.Parallel()
	w := startWorker(t, nil, "orders", "--redis", "embedded:", "--metrics-addr", "127.0.0.1:0")
	taken := strings.TrimPrefix(w.address(t), "http://")
	clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "worker", "orders", "--redis", "embedded:", "--metrics-addr", taken),
		"cannot serve metrics: ", "address already in use", "--metrics-addr")
}

// address returns the URL at which a worker serves its metrics.
func (w *runningWorker) address(t *testing.T) string {
	t.Helper()
	w.stderr.Await(t, "/metrics\n")
	return regexp.MustCompile(`http://[0-9.:]+`).FindString(w.stderr.String())
}

func wantAnswer(t *testing.T, url string, status int, parts ...string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Errorf("%s: %d, want %d: %s", url, response.StatusCode, status, text)
	}
	for _, part := range parts {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s: %q is not in %s", url, part, text)
		}
	}
}
