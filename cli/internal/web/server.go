// Package web implements the HTTP servers of commands: the flags, TLS and sign-in with files that are reloaded when they change,
// and a graceful shutdown. It may import base and the packages that base imports.
package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// Server is an HTTP server with the configuration of the flags.
type Server struct {
	*base.Session
	// SignIn is for the handler, which has to enforce it.
	SignIn access.SignIn
	// Loopback reports whether only this machine can reach the server.
	Loopback bool

	address        string
	maxConnections int
	idleTimeout    time.Duration
	drain          time.Duration
	tls            *reloaded[*tls.Config] // nil means plain HTTP
}

// Serve prints the URL and serves until ctx ends, and for --drain beyond that. Then it accepts no more requests, waits up to
// --timeout for those in flight, and returns nil.
func (s *Server) Serve(ctx context.Context, handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return &exit.Error{Code: exit.Failed, Text: fmt.Sprintf("cannot listen: %v; choose another address with --%s", err, FlagListen), Cause: err}
	}
	ending := &draining{Handler: handler}
	server := access.NewServer(ending, s.Log)
	server.IdleTimeout = s.idleTimeout
	scheme, serve := "http", server.Serve
	if s.tls != nil {
		scheme = "https"
		server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return s.tls.get(), nil
		}}
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	limited := access.LimitConnections(listener, s.maxConnections)
	defer limited.Close()
	url := scheme + "://" + listener.Addr().String()
	if err := s.Show(served{url}, func() error { return s.Printf("%s\n", url) }); err != nil {
		return err
	}
	ended := make(chan struct{})
	running := context.AfterFunc(ctx, func() {
		defer close(ended)
		ending.wait(s.drain)
		s.shutDown(ctx, server)
	})
	err = serve(limited)
	if running() { // ctx has not ended
		return &exit.Error{Code: exit.Failed, Text: "the listener failed: " + err.Error(), Cause: err}
	}
	<-ended
	if !errors.Is(err, http.ErrServerClosed) {
		s.Log.Warn("the listener failed at the end", zap.Error(err))
	}
	return nil
}

// shutDown closes the server after the requests in flight.
func (s *Server) shutDown(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	began := time.Now()
	if err := server.Shutdown(ctx); err != nil {
		s.Log.Warn("some requests were cut off", zap.Duration("after", time.Since(began)))
		_ = server.Close()
	}
}

// served is the output of --output json.
type served struct {
	URL string `json:"url"`
}
