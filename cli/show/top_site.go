package show

import (
	"context"
	"embed"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/access"
)

//go:embed page
var page embed.FS

const (
	// firstLooks is how long the first looks may take before the page is served without.
	firstLooks = 2 * time.Second
	// A viewer is dropped if it is so many frames behind, or one cannot be written in that time.
	maxBehind = 16
	maxWrite  = 10 * time.Second
	// keepAlive is the longest silence, for what stands between a viewer and this program.
	keepAlive = 15 * time.Second
)

// site shows one state to any number of viewers.
type site struct {
	top
	done <-chan struct{} // closed at the end

	mu      sync.Mutex // guards what follows
	state   *state
	whole   []byte // the state as JSON; nil after a look
	viewers map[chan []byte]struct{}
}

// serve serves the page until ctx ends.
func (t top) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return t.open(ctx, func(lookers []*looker) error {
		s := &site{top: t, done: ctx.Done(), state: newState(t.targets, t.Limit), viewers: make(map[chan []byte]struct{})}
		var watching, first sync.WaitGroup
		first.Add(len(lookers))
		for _, l := range lookers {
			looked := sync.OnceFunc(first.Done)
			watching.Go(func() {
				defer looked()
				l.watch(ctx, func(found look) { s.take(found); looked() })
			})
		}
		waiting, ready := context.WithTimeout(ctx, firstLooks)
		watching.Go(func() { first.Wait(); ready() })
		<-waiting.Done()
		err := t.web.Serve(ctx, s.handler())
		cancel()
		watching.Wait()
		return err
	})
}

// take merges a look into the state and sends every viewer what it changed.
func (s *site) take(l look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.take(l)
	s.whole = nil
	if len(s.viewers) == 0 {
		return
	}
	frame := encode(s.changes(s.state, time.Now()))
	for viewer := range s.viewers {
		select {
		case viewer <- frame:
		default:
			s.drop(viewer)
		}
	}
}

// drop ends a viewer. The caller holds mu.
func (s *site) drop(viewer chan []byte) {
	if _, ok := s.viewers[viewer]; ok {
		delete(s.viewers, viewer)
		close(viewer)
	}
}

// join returns the whole state and a channel of what each look changes from then on. It is closed when the viewer is too slow.
func (s *site) join() (whole []byte, viewer chan []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	viewer = make(chan []byte, maxBehind)
	s.viewers[viewer] = struct{}{}
	return s.encoded(), viewer
}

// encoded returns the whole state as JSON. The caller holds mu.
func (s *site) encoded() []byte {
	if s.whole == nil {
		s.whole = encode(s.snapshot(s.state, time.Now()))
	}
	return s.whole
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic("bug: what is shown is no JSON: " + err.Error())
	}
	return text
}

// handler returns all of the site. Its headers permit what the page needs from here, and nothing from elsewhere.
func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.servePage)
	mux.HandleFunc("/state", s.serveState)
	mux.HandleFunc("/events", s.serveEvents)
	mux.HandleFunc("/history", s.serveHistory)
	for name, kind := range map[string]string{"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"} {
		content, err := page.ReadFile("page/" + name)
		if err != nil {
			panic("bug: " + err.Error())
		}
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			_, _ = w.Write(content)
		})
	}
	inner := access.ForBrowsers(s.web.SignIn, s.web.Loopback, readOnly(mux))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Cache-Control": "no-store",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Referrer-Policy":              "no-referrer",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
		} {
			w.Header().Set(name, value)
		}
		if r.URL.Path == "/healthz" && r.Method == http.MethodGet { // health checks have no token
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// readOnly refuses all methods but GET and HEAD.
func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are served here", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *site) serveState(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	whole := s.encoded()
	s.mu.Unlock()
	writeJSON(w, whole)
}

func writeJSON(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// serveEvents streams one frame for each look, until the viewer leaves or is too slow.
func (s *site) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for nginx
	if r.Method == http.MethodHead {
		return
	}
	frame, viewer := s.join()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(viewer)
	}()
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{}) // that of a request does not hold for a stream
	text, open := append(append([]byte("data: "), frame...), "\n\n"...), true
	for open {
		_ = connection.SetWriteDeadline(time.Now().Add(maxWrite))
		if _, err := w.Write(text); err != nil || connection.Flush() != nil {
			return
		}
		select {
		case frame, open = <-viewer:
			text = append(append([]byte("data: "), frame...), "\n\n"...)
		case <-time.After(keepAlive):
			text = []byte(": \n\n")
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		}
	}
}

// shownHistory is what GET /history shows of one counter, since the first look.
type shownHistory struct {
	Readings []shownReading `json:"readings"` // the oldest first
	Jumps    []shownJump    `json:"jumps"`
}

type shownReading struct {
	Time   string  `json:"time"`
	Max    int64   `json:"max"`
	Ranges int64   `json:"ranges"`
	Rate   float64 `json:"perSecond"`
}

// serveHistory shows the past of the collection or identity of a server, all of which are parameters.
func (s *site) serveHistory(w http.ResponseWriter, r *http.Request) {
	query, found := r.URL.Query(), shownHistory{Readings: []shownReading{}, Jumps: []shownJump{}}
	label := query.Get("collection")
	if query.Has("identity") {
		label = query.Get("identity") + "|"
	}
	s.mu.Lock()
	var c *counter
	for _, server := range s.state.servers {
		if server.name == query.Get("server") {
			c = server.counters[label]
		}
	}
	if c != nil {
		for _, h := range c.history {
			found.Readings = append(found.Readings, shownReading{h.at.Format(time.RFC3339), h.max, h.ranges, h.rate})
		}
		for _, j := range c.jumps {
			found.Jumps = append(found.Jumps, j.shown())
		}
	}
	s.mu.Unlock()
	if c == nil {
		http.Error(w, "no such counter: name server, and collection or identity", http.StatusNotFound)
		return
	}
	writeJSON(w, encode(found))
}
