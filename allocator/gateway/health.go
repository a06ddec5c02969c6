package gateway

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// health is what /readyz knows of the servers. It asks them once a second at
// most, however often it is asked itself.
type health struct {
	mu   sync.Mutex // guards what follows, and is held during I/O: callers wait for the same answer
	at   time.Time
	down error
}

const askedAgain = time.Second

func (*gateway) alive(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") }

func (g *gateway) ready(w http.ResponseWriter, r *http.Request) {
	if held(g.ids.Stats()) {
		fmt.Fprintln(w, "ready")
		return
	}
	if err := g.health.ask(r.Context(), g.opts); err != nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "no numbers in hand, and no server is up", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// held reports whether some caller could be served without any server.
func held(stats allocator.Stats) bool {
	for i := range stats.Collections {
		if stats.Collections[i].Held > 0 {
			return true
		}
	}
	return false
}

// ask is nil where some server answers.
func (h *health) ask(ctx context.Context, opts Options) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.at.IsZero() && time.Since(h.at) < askedAgain {
		return h.down
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	h.down = nil
	for _, m := range opts.Masters {
		if h.down = m.Client.Time(ctx).Err(); h.down == nil { // PING is no right of a worker
			break
		}
	}
	h.at = time.Now()
	return h.down
}
