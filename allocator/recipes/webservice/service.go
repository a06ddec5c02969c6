// Package webservice is an HTTP service with one allocator for the whole
// process, a readiness probe, and an orderly shutdown.
package webservice

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

// drain bounds the shutdown: first the requests in flight, then the return of
// unused ranges.
const drain = 10 * time.Second

// Run serves on a listener until ctx ends, usually the context of
// signal.NotifyContext.
func Run(ctx context.Context, listener net.Listener, client redis.UniversalClient) (err error) {
	ids, err := allocator.New(client, allocator.Options{}) // one allocator for all requests
	if err != nil {
		return err
	}
	if err := ids.Warm(ctx, "orders"); err != nil {
		log.Printf("starting without ids; they are fetched when Redis answers: %v", err)
	}
	server := &http.Server{Handler: Handler(ids), ReadHeaderTimeout: drain}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err = <-served:
	}

	// The order matters: end the requests, then close the allocator, then the Redis client.
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err = errors.Join(err, server.Shutdown(over))
	if err := ids.Close(over); err != nil {
		log.Printf("unused numbers could not be returned and are a gap: %v", err) // not fatal
	}
	return err
}

// Handler answers POST /orders with the id of a new order, and GET /readyz with
// 200 while ids can be issued and 503 otherwise. A request that finds no id in
// hand waits until its client gives up, at most 2 s.
func Handler(ids *allocator.Allocator) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		id, err := ids.Next(ctx, "orders")
		if allocator.Retryable(err) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "no id available", http.StatusServiceUnavailable)
			return
		}
		if err != nil { // an operator has to act: not seeded, exhausted, corrupt
			log.Printf("no id for an order: %v", err)
			http.Error(w, "no id available", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Location", "/"+id)
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintln(w, id)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if !ids.Stats().Ready("orders") { // no request was served since, so ask Redis
			ctx, cancel := context.WithTimeout(r.Context(), time.Second)
			defer cancel()
			if err := ids.Check(ctx, "orders"); err != nil {
				http.Error(w, "no id available", http.StatusServiceUnavailable)
				return
			}
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
	return mux
}
