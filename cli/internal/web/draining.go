package web

import (
	"net/http"
	"sync/atomic"
	"time"
)

// draining is a handler that fails the readiness check before its server ends, so that balancers send their requests elsewhere.
type draining struct {
	http.Handler
	begun atomic.Bool
}

func (d *draining) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" && d.begun.Load() {
		http.Error(w, "ending", http.StatusServiceUnavailable)
		return
	}
	d.Handler.ServeHTTP(w, r)
}

// wait makes the readiness check fail, and returns after a time for which other requests are served.
func (d *draining) wait(delay time.Duration) {
	d.begun.Store(true)
	<-time.After(delay)
}
