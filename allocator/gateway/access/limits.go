package access

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// The bounds of a request. No request needs a body.
const (
	maxURL    = 8 << 10
	maxBody   = 64 << 10
	maxHeader = 32 << 10
)

// Bound returns the status for a request that is too large and the reason, or 0. It reads and drops the body first. With NewServer,
// the connection is closed after each request whose body it did not read.
func Bound(w http.ResponseWriter, r *http.Request) (status int, why string) {
	if len(r.RequestURI) > maxURL {
		return http.StatusRequestURITooLong, fmt.Sprintf("the URL is %d bytes long: at most %d", len(r.RequestURI), maxURL)
	}
	if r.Body == nil || r.Body == http.NoBody {
		return 0, ""
	}
	_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody))
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case err == nil:
		if !endsUnclear(r) {
			w.Header().Del("Connection")
		}
		return 0, ""
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes: no request needs one", maxBody)
	}
	return http.StatusBadRequest, "the body did not arrive"
}

// closing returns a handler that closes the connection after a request with a body, unless Bound reads it, and after a request whose
// end is unclear. The server could otherwise take what follows for the next request on the connection, although a proxy in front
// of it took that for a part of the body, and did not check it (request smuggling).
func closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && (r.ContentLength != 0 || endsUnclear(r)) { // HTTP/2 has frames
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// endsUnclear reports whether two programs may see the end of a request in different places. net/http ignores a Content-Length
// beside a chunked body, and a chunked body in HTTP/1.0, and shows neither to a handler.
func endsUnclear(r *http.Request) bool { return !r.ProtoAtLeast(1, 1) || r.ContentLength < 0 }

// NewServer returns a server with limits on the size and duration of requests, which closes connections as Bound describes.
// LimitConnections limits its listener. A nil logger is silent. A handler that streams moves both deadlines of its connection,
// with http.ResponseController.
func NewServer(handler http.Handler, logger *zap.Logger) *http.Server {
	if logger == nil {
		logger = zap.NewNop()
	}
	return &http.Server{
		Handler:           closing(handler),
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ConnState:         noteIdle,
		ErrorLog:          log.New(escaping{logger.WithOptions(zap.AddCallerSkip(3))}, "", 0), // the caller is in net/http
	}
}

// escaping writes messages of net/http, which quote clients, with everything escaped that does not print.
type escaping struct{ log *zap.Logger }

func (e escaping) Write(message []byte) (int, error) {
	quoted := strconv.Quote(string(bytes.TrimSpace(message)))
	e.log.Info(quoted[1 : len(quoted)-1])
	return len(message), nil
}

// LimitConnections returns a listener that has at most max connections open. A further one waits until one of them closes. With
// NewServer, the connection that has waited longest for its next request is closed for it: connections that clients keep open and
// do not use would lock out all others.
func LimitConnections(listener net.Listener, max int) net.Listener {
	l := &limited{Listener: listener, max: max, open: make(map[*counted]bool)}
	l.changed.L = &l.mu
	return l
}

type limited struct {
	net.Listener
	max     int
	waiting atomic.Bool // a connection waits for another one to close

	mu      sync.Mutex // guards what follows
	changed sync.Cond  // a connection was closed, or is idle while one waits
	open    map[*counted]bool
	closed  bool
}

func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &counted{Conn: conn, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) >= l.max && !l.closed {
		l.waiting.Store(true)
		if idle := l.longestIdle(); idle != nil {
			delete(l.open, idle)
			_ = idle.Conn.Close()
		} else {
			l.changed.Wait()
		}
		l.waiting.Store(false)
	}
	if l.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	l.open[c] = true
	return c, nil
}

// longestIdle returns the connection that has been idle for the longest time, or nil, with mu held.
func (l *limited) longestIdle() (longest *counted) {
	var since int64
	for c := range l.open {
		if at := c.idle.Load(); at != 0 && (longest == nil || at < since) {
			longest, since = c, at
		}
	}
	return longest
}

func (l *limited) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// counted is a connection that counts as open until it is closed.
type counted struct {
	net.Conn
	of   *limited
	idle atomic.Int64 // since when it waits for its next request, in nanoseconds, or 0
}

func (c *counted) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.changed.Broadcast()
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// noteIdle records for LimitConnections whether a connection waits for its next request.
func noteIdle(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, ok := conn.(*counted)
	switch {
	case !ok:
	case state != http.StateIdle:
		c.idle.Store(0)
	default:
		c.idle.Store(time.Now().UnixNano())
		if c.of.waiting.Load() {
			c.of.mu.Lock()
			c.of.changed.Broadcast()
			c.of.mu.Unlock()
		}
	}
}
