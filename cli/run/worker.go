// Package run implements the commands that run until they are stopped. worker takes identifiers as a program of a fleet does
// and exposes metrics. serve issues identifiers over HTTP to programs in any language and to RavenDB's own
// clients. probe checks the health of either.
package run

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/cli/internal/workload"
	"github.com/hilo-id/hilo/prefix"
)

// worker takes identifiers as a program of a fleet does. It runs once.
type worker struct {
	*base.Session
	servers     target.Servers
	Collections []string
	Rate        int64 // identifiers per second in total; 0 means full speed
	Goroutines  int
	Count       int64         // identifiers in total; 0 means no limit
	Duration    time.Duration // 0 means no limit
	MetricsAddr string        // "" means no metrics

	name     string // unique to this process
	ids      *allocator.Allocator
	live     *term.Live
	closing  atomic.Bool
	taken    atomic.Int64      // identifiers
	failures atomic.Int64      // failed calls of the allocator
	outage   *alarm            // no server is available
	refusals map[string]*alarm // the state of a collection is refused

	mu       sync.Mutex
	byPrefix map[prefix.Server]int64 // number of identifiers, guarded by mu
}

// showEvery is the interval between updates of the live line.
const showEvery = 100 * time.Millisecond

// WorkerCommand returns hilo worker.
func WorkerCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "worker",
		Usage:     "take ids at a rate, as a worker of a fleet",
		UsageText: "hilo worker COLLECTION... [--rate R] [--metrics-addr ADDR]",
		Description: base.Describe(`
Takes identifiers of the collections in turn until SIGTERM or Ctrl-C. Then it returns
unused ranges, and prints a summary. A second signal kills it. A collection that is
refused is retried, and does not delay the others. hilo verify proves that no identifier
is issued twice.

worker needs no server to start: while no server issues ids, it warns and retries. It
ends by itself only with --count or --duration, or when a collection is exhausted or has
the name of an identity.

--metrics-addr serves /metrics for Prometheus, /healthz, and /readyz, which is 200 when
numbers are in hand or a server is up.

For containers each flag has a variable, $HILO_WORKER_RATE and so on, and so have the
collections: $HILO_WORKER_COLLECTIONS, separated by white space.`+base.AboutServers,
			[]string{
				"hilo worker orders --rate 1000",
				"hilo worker orders users --metrics-addr :9090",
				"hilo worker orders --rate max --count 1000000 --redis embedded:",
			},
			"1 failed", "4 exhausted, or the name of an identity"),
		Flags: base.ServerFlags(
			&cli.GenericFlag{Name: "rate", Usage: "take `R` identifiers a second in all; 0 or max is full speed", Value: base.Number("100", 0, base.MostRate).Or("max")},
			&cli.GenericFlag{Name: "goroutines", Usage: "take them on `N` goroutines", Value: base.Number("4", 1, base.MostWorkers)},
			&cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "end after `N` identifiers", Value: base.Count("", 1)},
			&cli.GenericFlag{Name: "duration", Usage: "end after `D`", Value: base.Duration("", 0)},
			&cli.GenericFlag{Name: "metrics-addr", Usage: "serve metrics and health at `ADDR`, such as :9090", Value: base.Address("")},
		),
		Action: base.Action(env, readWorker),
	}
}

// Run takes identifiers until a limit is reached or ctx ends, which is no error.
func (w *worker) Run(ctx context.Context) error {
	return w.servers.Use(ctx, w.Timeout, func(o target.Opened) error {
		w.live = w.GoLive()
		w.prepare()
		var err error
		if w.ids, err = o.Allocator(base.Options(w.Session, o, w.Log)); err != nil { // logs outages, which do not end the worker
			return err
		}
		if w.MetricsAddr != "" {
			stop, err := w.serve(ctx)
			if err != nil {
				return err
			}
			defer stop()
		}
		found, err := w.run(ctx, o)
		return cmp.Or(err, w.Show(found, func() error { return w.print(found) }))
	})
}

func readWorker(r *base.Reader) base.Runner {
	r.Own = "worker"
	w := &worker{Session: r.Session(), servers: r.Servers()}
	if w.Collections = r.NamedCollections(w.Separator); len(w.Collections) == 0 {
		r.Failf("%s needs a COLLECTION; usage: %s", r.FullName(), r.Command.UsageText)
	}
	w.Rate = r.Number("rate") // 0 for "max"
	w.Goroutines = int(r.Number("goroutines"))
	w.Count, w.Duration = r.Number("count"), r.Period("duration")
	w.MetricsAddr, _ = r.Text("metrics-addr")
	return w
}

func (w *worker) prepare() {
	host, _ := os.Hostname()
	w.name = fmt.Sprintf("%s-%d-%s", cmp.Or(host, "host"), os.Getpid(), crand.Text()[:8])
	w.outage, w.refusals = &alarm{log: w.Log}, make(map[string]*alarm)
	for _, name := range w.Collections {
		w.refusals[name] = &alarm{log: w.Log.With(zap.String("collection", name))}
	}
	w.byPrefix = make(map[prefix.Server]int64)
}

// run takes identifiers and returns the report with the error that determines the exit code. When ctx ends the worker takes no
// more identifiers, and returns unused ranges.
func (w *worker) run(signaled context.Context, o target.Opened) (report, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(signaled, cmp.Or(w.Duration, math.MaxInt64))
	defer cancel()
	endLine := w.showRate(ctx, began)
	_ = w.ids.Warm(ctx, w.Collections...) // the program retries and reports what fails
	program := workload.Program{
		IDs: w.ids, Collections: w.Collections, Goroutines: w.Goroutines, Count: cmp.Or(w.Count, math.MaxInt64), Rate: float64(w.Rate), Batch: 256,
		Call: workload.NextID,
		Sink: func(runs []workload.Run) error { w.sink(runs); return nil },
		Failed: func(name string, err error, waited bool) error {
			return w.failed(name, err, o.Explain(signaled, err), waited)
		},
		Served: func(name string) { w.refusals[name].end(name); w.outage.end(name) },
	}
	stopped, err := "count", program.Run(ctx)
	endLine()
	switch {
	case signaled.Err() != nil:
		stopped, err = "signal", nil
	case errors.Is(err, context.DeadlineExceeded):
		stopped, err = "duration", nil
	case err != nil:
		stopped = "failed"
	}
	took := time.Since(began)
	w.closing.Store(true)
	before := w.ids.Stats()
	base.CloseAllocator(signaled, w.Session, w.ids)
	found := w.report(stopped, took, before, w.ids.Stats())
	return found, exit.After(err, found.IDs)
}

// showRate prints a line, and on a terminal updates a live line until end is called.
func (w *worker) showRate(ctx context.Context, began time.Time) (end func()) {
	rate := "full speed"
	if w.Rate > 0 {
		rate = w.Style(w.Stderr).Sprintf("%d ids/s", w.Rate)
	}
	fmt.Fprintf(w.Stderr, "worker %s takes ids of %s at %s; Ctrl-C ends it\n", w.name, strings.Join(w.Collections, ", "), rate)
	bar := w.live.NewBar(term.Progress{Unit: "ids", Total: w.Count})
	ctx, cancel := context.WithCancel(ctx)
	var showing sync.WaitGroup
	showing.Go(func() {
		for base.Sleep(ctx, showEvery); ctx.Err() == nil; base.Sleep(ctx, showEvery) {
			share := -1.0
			if w.Duration > 0 {
				share = time.Since(began).Seconds() / w.Duration.Seconds()
			}
			note := ""
			if n := w.failures.Load(); n > 0 {
				note = term.Plural(n, "error")
			}
			bar.Set(w.taken.Load(), share, note)
		}
	})
	return func() { cancel(); showing.Wait(); bar.End() }
}

// failed raises the alarm of a collection, or of all. It returns the error if retrying is useless.
func (w *worker) failed(name string, err, explained error, waited bool) error {
	if errors.Is(err, allocator.ErrExhausted) || errors.Is(err, allocator.ErrMixed) {
		return err
	}
	w.failures.Add(1)
	if errors.Is(err, allocator.ErrNotSeeded) || errors.Is(err, allocator.ErrCorrupt) {
		w.refusals[name].raise(name, explained, waited)
		w.outage.end(name)
		return nil
	}
	w.outage.raise(name, explained, waited)
	return nil
}

// sink counts identifiers.
func (w *worker) sink(runs []workload.Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range runs {
		w.byPrefix[prefix.Server{ServerPrefix: r.ServerPrefix, NodeTag: r.NodeTag}] += r.Count
		w.taken.Add(r.Count)
	}
}

// alarm logs at most every 30 s that some names fail, and once that all have recovered.
type alarm struct {
	log *zap.Logger

	mu       sync.Mutex // guards the fields below
	failing  map[string]bool
	reminder *rate.Sometimes
}

// raise reports an error of a name. An error for which no caller waited does not start an alarm.
func (a *alarm) raise(name string, err error, waited bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !waited && !a.failing[name] {
		return
	}
	if len(a.failing) == 0 {
		a.failing, a.reminder = make(map[string]bool), &rate.Sometimes{Interval: 30 * time.Second}
	}
	a.failing[name] = true
	a.reminder.Do(func() { a.log.Warn("no ids available, retrying", zap.String("error", exit.Plain(err))) })
}

// end reports that a name has recovered.
func (a *alarm) end(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.failing[name] {
		return
	}
	if delete(a.failing, name); len(a.failing) == 0 {
		a.log.Info("ids available again")
	}
}
