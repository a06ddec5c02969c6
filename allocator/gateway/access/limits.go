package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
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

// LimitConnections returns a listener that has at most max connections open. Others wait.
func LimitConnections(listener net.Listener, max int) net.Listener {
	return &limited{Listener: listener, slots: make(chan struct{}, max), closed: make(chan struct{})}
}

type limited struct {
	net.Listener
	slots  chan struct{} // one element for each open connection
	closed chan struct{}
	once   sync.Once
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &counted{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	release func()
}

func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
