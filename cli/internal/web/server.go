// Package web is the HTTP server of a command: its flags, TLS and sign-in from files that are read again when they change, and
// an end that answers the requests in flight. It may import base and what is below it.
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
)

// Server is an HTTP server that Read made of the flags.
type Server struct {
	*base.Session
	// SignIn is required of requests, by the handler.
	SignIn access.SignIn
	// Loopback reports that only this machine can reach the server.
	Loopback bool

	address        string
	maxConnections int
	tls            *reloaded[*tls.Config] // nil means plain HTTP
}

// Serve prints the URL and serves until ctx ends, which is no error. Then it accepts no more requests, and gives those in
// flight --timeout to end.
func (s *Server) Serve(ctx context.Context, handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("cannot listen: %w; choose another address with --%s", err, FlagListen)
	}
	server := access.NewServer(handler, s.Log)
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
	running := context.AfterFunc(ctx, func() { s.end(ctx, server); close(ended) })
	err = serve(limited)
	if running() { // ctx has not ended
		return fmt.Errorf("the listener failed: %w", err)
	}
	<-ended
	if !errors.Is(err, http.ErrServerClosed) {
		s.Log.Warn("the listener failed at the end", zap.Error(err))
	}
	return nil
}

// end answers the requests in flight and accepts no others.
func (s *Server) end(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	began := time.Now()
	if err := server.Shutdown(ctx); err != nil {
		s.Log.Warn("some requests were cut off", zap.Duration("after", time.Since(began)))
		_ = server.Close()
	}
}

// served is what --output json shows.
type served struct {
	URL string `json:"url"`
}
