// Package webservice is an HTTP service with one allocator for the whole
// process, and the order in which such a process ends.
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

// drain is how long requests under way, and then what goes back to Redis, may
// take at the end.
const drain = 10 * time.Second

// Run serves on a listener until ctx ends, which is to be the context of
// signal.NotifyContext.
func Run(ctx context.Context, listener net.Listener, client redis.UniversalClient) (err error) {
	ids, err := allocator.New(client, allocator.Options{}) // one, which all requests share
	if err != nil {
		return err
	}
	if err := ids.Warm(ctx, "orders"); err != nil {
		log.Printf("no ids yet, and requests try again: %v", err)
	}
	server := &http.Server{Handler: Handler(ids), ReadHeaderTimeout: drain}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err = <-served:
	}

	// First no more requests, then no more ids, then no more Redis.
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	return errors.Join(err, server.Shutdown(over), ids.Close(over))
}

// Handler answers POST /orders with the id of a new order. A request that
// finds no id in hand waits as long as its client does, and no longer than 2 s.
func Handler(ids *allocator.Allocator) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		id, err := ids.Next(ctx, "orders")
		if err != nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "no identifier can be had now", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Location", "/"+id)
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintln(w, id)
	})
	return mux
}
