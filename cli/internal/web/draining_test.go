package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestDrainingFailsTheReadinessCheckAndServesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay = 30 * time.Second
		d := &draining{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
		want := func(readiness int) {
			t.Helper()
			for path, status := range map[string]int{"/readyz": readiness, "/healthz": http.StatusOK, "/v1/ids/orders": http.StatusOK} {
				recorder := httptest.NewRecorder()
				d.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
				if recorder.Code != status {
					t.Errorf("%s: got %d, want %d", path, recorder.Code, status)
				}
			}
		}
		want(http.StatusOK)
		began := time.Now()
		ended := make(chan struct{})
		go func() { defer close(ended); d.wait(delay) }()
		synctest.Wait()
		want(http.StatusServiceUnavailable)
		<-ended
		if took := time.Since(began); took != delay {
			t.Errorf("got %v until the server ends, want %v", took, delay)
		}
	})
}
