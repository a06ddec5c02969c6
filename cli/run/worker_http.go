package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/allocator/metrics"
)

// serve serves metrics and health until stop is called.
func (w *worker) serve(ctx context.Context) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", w.MetricsAddr)
	if err != nil {
		return nil, fmt.Errorf("cannot serve metrics: %w; choose another address with --metrics-addr", err)
	}
	server := access.NewServer(w.handler(), w.Log)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			w.Log.Error("metrics are not served any more", zap.Error(err))
		}
	})
	fmt.Fprintf(w.Stderr, "metrics at http://%s/metrics\n", listener.Addr())
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		serving.Wait()
	}, nil
}

func (w *worker) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(w.collectors()...)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: zap.NewStdLog(w.Log)}))
	mux.HandleFunc("GET /healthz", func(to http.ResponseWriter, _ *http.Request) { fmt.Fprintln(to, "alive") })
	mux.HandleFunc("GET /readyz", func(to http.ResponseWriter, _ *http.Request) {
		switch {
		case w.closing.Load():
			http.Error(to, "stopping", http.StatusServiceUnavailable)
		case !w.ids.Stats().Ready():
			http.Error(to, "no numbers in hand, and no server is up", http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(to, "ready")
		}
	})
	return mux
}

// collectors returns the collectors of the allocator and of the worker.
func (w *worker) collectors() []prometheus.Collector {
	ids, err := metrics.New(metrics.Options{}, w.ids)
	if err != nil {
		panic("bug: " + err.Error())
	}
	failures := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "hilo_worker_errors_total", Help: "Attempts of the worker that failed and were repeated.",
	}, func() float64 { return float64(w.failures.Load()) })
	return []prometheus.Collector{ids, failures}
}
