// Service is an HTTP service that issues ids from Redis with hilo, to copy from. POST /orders answers 201 with the id of a new order.
//
// It starts without Redis, and is ready when it can issue ids. SIGTERM makes it unready, so that no new requests are sent to it,
// then it answers those in flight, and returns the numbers that it did not use. docker/compose.yaml runs it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/metrics"
)

const (
	collection     = "orders"
	requestTimeout = 2 * time.Second  // for an id that is not in hand
	endTimeout     = 20 * time.Second // for requests in flight, and again for the return of numbers
)

func main() {
	log := zap.Must(zap.NewProduction(zap.AddStacktrace(zap.DPanicLevel)))
	if err := run(log); err != nil {
		log.Error("the service failed", zap.Error(err))
		os.Exit(1)
	}
}

// run serves until a signal.
func run(log *zap.Logger) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	drain, err := time.ParseDuration(cmp.Or(os.Getenv("HILO_SERVICE_DRAIN"), "5s"))
	if err != nil {
		return fmt.Errorf("HILO_SERVICE_DRAIN: %w", err)
	}
	redis.SetLogger(redisLog{log.Sugar()})
	ids, disconnect, err := connect(os.Getenv("HILO_REDIS_URL"), allocator.Options{Logger: log})
	if err != nil {
		return fmt.Errorf("HILO_REDIS_URL: %w", err)
	}
	defer disconnect()
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("HILO_SERVICE_LISTEN"), ":8080"))
	if err != nil {
		return fmt.Errorf("HILO_SERVICE_LISTEN: %w", err)
	}
	s := &service{ids: ids, log: log}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("serving", zap.Stringer("address", listener.Addr()))
	preparing, stopPreparing := context.WithCancel(context.Background())
	defer stopPreparing()
	go s.prepare(preparing)

	select {
	case err := <-served:
		return err
	case received := <-signals:
		log.Info("not ready any more", zap.Stringer("signal", received), zap.Duration("drain", drain))
	}
	s.ending.Store(true)
	stopPreparing()
	select { // until load balancers have seen that it is not ready
	case <-time.After(drain):
	case <-signals:
	}
	return s.end(server)
}

// service issues ids of orders.
type service struct {
	ids              *allocator.Allocator
	log              *zap.Logger
	prepared, ending atomic.Bool
}

// prepare checks the servers and fetches the first range, and retries until that succeeds: a server may be down or not yet set up
// when the service is deployed.
func (s *service) prepare(ctx context.Context) {
	sometimes := rate.Sometimes{Interval: 30 * time.Second}
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := s.ids.Check(attempt, collection)
		if err == nil {
			err = s.ids.Warm(attempt, collection)
		}
		cancel()
		if err == nil {
			s.prepared.Store(true)
			s.log.Info("ready")
			return
		}
		sometimes.Do(func() { s.log.Warn("not ready yet, retrying", zap.Error(err)) })
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// end answers the requests in flight, and then returns the numbers that were not used. Those that it cannot return are a gap.
func (s *service) end(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	returning, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := s.ids.Close(returning); err != nil {
		s.log.Warn("numbers could not be returned", zap.Error(err))
	}
	var sum allocator.CollectionStats
	for _, c := range s.ids.Stats().Collections {
		sum.Add(c)
	}
	s.log.Info("ended", zap.Int64("reserved", sum.Reserved), zap.Int64("issued", sum.Issued), zap.Int64("returned", sum.Returned), zap.Int64("burnt", sum.Burnt))
	return err
}

func (s *service) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	ids, err := metrics.New(metrics.Options{}, s.ids)
	if err != nil {
		panic("bug: " + err.Error()) // of these options none is wrong
	}
	registry.MustRegister(ids)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.createOrder)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: zap.NewStdLog(s.log)}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.ending.Load() || !s.prepared.Load() || !s.ids.Stats().Ready(collection) {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// createOrder answers with the id of a new order. The rest of the order is left to the program that this becomes.
func (s *service) createOrder(w http.ResponseWriter, r *http.Request) {
	var order map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&order); err != nil && !errors.Is(err, io.EOF) {
		http.Error(w, "the order is no JSON object", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	id, err := s.ids.Next(ctx, collection)
	switch {
	case allocator.Retryable(err):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "no id available", http.StatusServiceUnavailable)
		return
	case err != nil: // an operator has to act; the allocator logs why
		http.Error(w, "no id available", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/"+id)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]string{"id": id}) // a caller that is gone leaves a gap
}
