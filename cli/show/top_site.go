package show

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/access"
)

//go:embed page
var page embed.FS

const (
	// firstPollTimeout limits how long the start waits for the first polls.
	firstPollTimeout = 2 * time.Second
	// A viewer that is maxBehind frames behind is dropped, as is one that does not accept a frame within writeTimeout.
	maxBehind    = 16
	writeTimeout = 10 * time.Second
	// keepAlive is the interval of empty messages, without which proxies close an idle connection.
	keepAlive = 15 * time.Second
)

// site serves one state to any number of viewers.
type site struct {
	top
	done <-chan struct{} // closed on shutdown

	mu      sync.Mutex // guards what follows
	state   *state
	whole   []byte // the state as an event; nil if it is outdated
	viewers map[chan []byte]struct{}
}

// serve serves the page until ctx ends.
func (t top) serve(ctx context.Context) error {
	s := &site{top: t, done: ctx.Done(), state: t.newState(), viewers: make(map[chan []byte]struct{})}
	waiting, ready := context.WithTimeout(ctx, firstPollTimeout)
	defer ready()
	report := func(r pollResult) {
		if s.merge(r) {
			ready()
		}
	}
	return t.watch(ctx, report, func() error {
		<-waiting.Done()
		return t.web.Serve(ctx, s.handler())
	})
}

// merge adds a poll result to the state and sends the changes to all viewers. It reports whether every server was polled.
func (s *site) merge(r pollResult) (complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.merge(r)
	s.whole = nil
	if len(s.viewers) > 0 {
		frame := newEvent(s.changes(s.state, time.Now()))
		for viewer := range s.viewers {
			select {
			case viewer <- frame:
			default: // too slow
				delete(s.viewers, viewer)
				close(viewer)
			}
		}
	}
	return !slices.ContainsFunc(s.state.servers, func(one *server) bool { return one.seq == 0 })
}

// subscribe returns the whole state and a channel of later changes, as events that all viewers share. The channel is closed if
// the viewer is too slow.
func (s *site) subscribe() (whole []byte, viewer chan []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	viewer = make(chan []byte, maxBehind)
	s.viewers[viewer] = struct{}{}
	return s.encode(), viewer
}

// encode returns the whole state as an event. The caller holds mu.
func (s *site) encode() []byte {
	if s.whole == nil {
		s.whole = newEvent(s.snapshot(s.state, time.Now()))
	}
	return s.whole
}

// eventBegin is what stands before the JSON of an event.
const eventBegin = "data: "

// newEvent returns a value as an event. It is encoded once for all viewers: a viewer that stalls holds several.
func newEvent(value any) []byte { return fmt.Appendf(nil, eventBegin+"%s\n\n", mustMarshal(value)) }

func mustMarshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return text
}

// handler returns the handler of the site. Its headers restrict the page to content of the site itself.
func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /state", s.serveState)
	mux.HandleFunc("GET /events", s.serveEvents)
	mux.HandleFunc("GET /history", s.serveHistory)
	mux.HandleFunc("GET /", http.NotFound) // so that other methods are refused at every path
	for name, kind := range map[string]string{"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			http.ServeFileFS(w, r, page, "page/"+name)
		})
	}
	inner := access.ForBrowsers(s.web.SignIn, s.web.Loopback, mux)
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
		if r.URL.Path == "/healthz" && (r.Method == http.MethodGet || r.Method == http.MethodHead) { // health checks send no token
			return
		}
		inner.ServeHTTP(w, r)
	})
}

func (s *site) serveState(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	whole := s.encode()
	s.mu.Unlock()
	writeJSON(w, bytes.TrimSpace(whole[len(eventBegin):]))
}

func writeJSON(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// serveEvents streams one frame for each poll result until the viewer disconnects or is too slow.
func (s *site) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for nginx
	if r.Method == http.MethodHead {
		return
	}
	text, viewer := s.subscribe()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.viewers, viewer)
	}()
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{}) // the server's read timeout would end the stream
	for open := true; open; {
		_ = connection.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(text); err != nil || connection.Flush() != nil {
			return
		}
		select {
		case text, open = <-viewer:
		case <-time.After(keepAlive):
			text = []byte(": \n\n")
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		}
	}
}

// shownHistory is the output of GET /history: the history of one counter since the first poll.
type shownHistory struct {
	Readings []shownReading `json:"readings"` // the oldest first
	Jumps    []jump         `json:"jumps"`
}

type shownReading struct {
	Time   string  `json:"time"`
	Max    int64   `json:"max"`
	Ranges int64   `json:"ranges"`
	Rate   float64 `json:"perSecond"`
}

// serveHistory serves the history of a counter. The parameters are server, and collection or identity.
func (s *site) serveHistory(w http.ResponseWriter, r *http.Request) {
	query, shown := r.URL.Query(), shownHistory{Readings: []shownReading{}, Jumps: []jump{}}
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
			shown.Readings = append(shown.Readings, shownReading{h.at.Format(time.RFC3339), h.max, h.ranges, h.rate})
		}
		shown.Jumps = append(shown.Jumps, c.jumps...)
	}
	s.mu.Unlock()
	if c == nil {
		http.Error(w, "unknown counter; the parameters are server, and collection or identity", http.StatusNotFound)
		return
	}
	writeJSON(w, mustMarshal(shown))
}
