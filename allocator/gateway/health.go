package gateway

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// health bounds the checks of the servers that /readyz makes to one per second.
type health struct {
	ids *allocator.Allocator

	mu  sync.Mutex // guards what follows, and is held during I/O, so that callers wait for the same check
	at  time.Time
	err error
}

const checkInterval = time.Second

func alive(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") }

// ready reports whether a caller could be served now. An allocator that is not ready is checked, because it may not have
// contacted a server yet.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	if !h.ids.Stats().Ready() && h.check(r.Context()) != nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "no numbers in hand, and no server is up", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// check returns the result of the latest check, which is at most a second old.
func (h *health) check(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) < checkInterval {
		return h.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkInterval)
	defer cancel()
	h.err = h.ids.Check(ctx)
	h.at = time.Now()
	return h.err
}
