package access

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

// Bound returns the status for a request that is too large and the reason, or 0. It reads and drops the body first.
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
		return 0, ""
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes: no request needs one", maxBody)
	}
	return http.StatusBadRequest, "the body did not arrive"
}

// NewServer returns a server with limits on the size and duration of requests. LimitConnections limits its listener. A nil log
// is silent. A handler that streams moves both deadlines of its connection, with http.ResponseController.
func NewServer(handler http.Handler, log *zap.Logger) *http.Server {
	if log == nil {
		log = zap.NewNop()
	}
	return &http.Server{
		Handler:           handler,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          zap.NewStdLog(log.WithOptions(zap.WrapCore(quoting))),
	}
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
