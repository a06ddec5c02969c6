package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"
)

// What a request may be. No request has a use for a body.
const (
	longestURL    = 8 << 10
	longestBody   = 64 << 10
	longestHeader = 32 << 10
)

// bounded is the status for a request that is too large, and why; 0: it is not.
// The body is read and dropped, so that nothing is done for one that is.
func bounded(w http.ResponseWriter, r *http.Request) (status int, why string) {
	if len(r.RequestURI) > longestURL {
		return http.StatusRequestURITooLong, fmt.Sprintf("the URL is %d bytes long: at most %d", len(r.RequestURI), longestURL)
	}
	if r.Body == nil || r.Body == http.NoBody {
		return 0, ""
	}
	_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, longestBody))
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case err == nil:
		return 0, ""
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes: none is wanted", longestBody)
	}
	return http.StatusBadRequest, "the body did not arrive"
}

// NewServer is a server for a handler of New, with limits on what a client may
// send and on the time that it may take. Its listener is to be limited, too: see
// LimitConnections. Nil for log: silent.
func NewServer(handler http.Handler, log *zap.Logger) *http.Server {
	if log == nil {
		log = zap.NewNop()
	}
	return &http.Server{
		Handler:           handler,
		MaxHeaderBytes:    longestHeader,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          zap.NewStdLog(log.WithOptions(zap.WrapCore(quoting))),
	}
}

// LimitConnections is a listener that accepts a connection more only when fewer
// than most are open; others wait.
func LimitConnections(listener net.Listener, most int) net.Listener {
	return &limited{Listener: listener, places: make(chan struct{}, most), closed: make(chan struct{})}
}

type limited struct {
	net.Listener
	places chan struct{} // one element for each connection
	closed chan struct{}
	once   sync.Once
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &counted{Conn: conn, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// quoted is text as it can be logged, whoever sent it.
func quoted(text string) string {
	q := strconv.Quote(text)
	return q[1 : len(q)-1]
}
