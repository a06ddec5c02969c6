package gateway

import (
	"cmp"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/allocator/metrics"
)

// measured counts requests and their outcomes.
type measured struct {
	page     http.Handler // of all metrics
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	under    prometheus.Gauge
	series   sync.Map  // answered -> series, which takes fewer allocations than a search by labels
	writers  sync.Pool // of *measuring
}

// answered identifies the series of a request.
type answered struct {
	route  string
	status int
}

type series struct {
	requests prometheus.Counter
	took     prometheus.Observer
	refusals prometheus.Counter // nil if it was no refusal
}

func newMeasured(ids *allocator.Allocator, raven *ravendb.Handler, opts Options) (*measured, error) {
	collector, err := metrics.New(metrics.Options{}, ids)
	if err != nil {
		return nil, err
	}
	m := &measured{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hilo_gateway_requests_total", Help: "Requests that were answered, by route and status.",
		}, []string{"route", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hilo_gateway_request_seconds", Help: "How long requests took, by route.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5},
		}, []string{"route"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hilo_gateway_refusals_total", Help: "Requests that were refused, by reason: the caller's fault, no sign-in, too large, a rule, or no server.",
		}, []string{"reason"}),
		under: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hilo_gateway_requests_under_way", Help: "Requests that are not answered yet.",
		}),
	}
	all := []prometheus.Collector{
		collector, m.requests, m.took, m.refusals, m.under,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
	if raven != nil {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "hilo_gateway_jumps_total", Help: "Jumps of counters that RavenDB's clients use, on evidence of lost writes.",
		}, func() float64 { return float64(jumps(raven)) }))
	}
	registry := prometheus.NewRegistry()
	for _, c := range append(all, opts.Collectors...) {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	m.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: zap.NewStdLog(opts.Logger)})
	for _, reason := range []string{"request", "sign-in", "size", "rule", "server"} {
		m.refusals.WithLabelValues(reason)
	}
	return m, nil
}

// measuring is a ResponseWriter that records the status.
type measuring struct {
	http.ResponseWriter
	status int
	began  time.Time
}

func (w *measuring) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *measuring) Write(text []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(text)
}

// Unwrap is for http.ResponseController.
func (w *measuring) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (m *measured) begin(w http.ResponseWriter) *measuring {
	m.under.Inc()
	writer, ok := m.writers.Get().(*measuring)
	if !ok {
		writer = new(measuring)
	}
	*writer = measuring{ResponseWriter: w, began: time.Now()}
	return writer
}

// end counts a request. Its route is the pattern that it matched, of which there are few, and not its path.
func (m *measured) end(w *measuring, r *http.Request) {
	m.under.Dec()
	of := answered{r.Pattern, w.status}
	if of.route == "" || of.route == "/" {
		of.route = "other"
	}
	found, ok := m.series.Load(of)
	if !ok {
		found, _ = m.series.LoadOrStore(of, m.newSeries(of))
	}
	s := found.(series)
	s.requests.Inc()
	s.took.Observe(time.Since(w.began).Seconds())
	if s.refusals != nil {
		s.refusals.Inc()
	}
	w.ResponseWriter = nil
	m.writers.Put(w)
}

func (m *measured) newSeries(of answered) series {
	code := strconv.Itoa(of.status)
	if of.status == 0 { // the caller left
		code = "none"
	}
	s := series{requests: m.requests.WithLabelValues(of.route, code), took: m.took.WithLabelValues(of.route)}
	if of.status >= http.StatusBadRequest {
		s.refusals = m.refusals.WithLabelValues(cmp.Or(reasons[of.status], "request"))
	}
	return s
}

// reasons maps the status of a refusal to its label. A status without an entry has the label "request".
var reasons = map[int]string{
	http.StatusUnauthorized:          "sign-in",
	http.StatusForbidden:             "sign-in",
	http.StatusRequestEntityTooLarge: "size",
	http.StatusRequestURITooLong:     "size",
	http.StatusConflict:              "rule",
	http.StatusTooManyRequests:       "rule",
	http.StatusUnprocessableEntity:   "rule",
	http.StatusInternalServerError:   "rule",
	http.StatusServiceUnavailable:    "server",
}

// jumps returns how often a counter that RavenDB's clients use jumped.
func jumps(raven *ravendb.Handler) (all int64) {
	for _, ids := range raven.Allocators() {
		for _, times := range ids.Stats().Servers[0].Jumps {
			all += times
		}
	}
	return all
}
