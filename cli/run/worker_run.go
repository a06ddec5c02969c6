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
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/fleet"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// prepare initializes the state of a worker.
func (w *worker) prepare() {
	unserved := func(log *zap.Logger) *alarm {
		return &alarm{log: log, failed: "no ids available, retrying", over: "ids available again"}
	}
	host, _ := os.Hostname()
	w.name = fmt.Sprintf("%s-%d-%s", cmp.Or(host, "host"), os.Getpid(), crand.Text()[:8])
	w.outage, w.refusals = unserved(w.Log), make(map[string]*alarm)
	for _, name := range w.Collections {
		w.refusals[name] = unserved(w.Log.With(zap.String("collection", name)))
	}
	w.storing = alarm{log: w.Log, failed: "cannot store documents, retrying", over: "documents are stored again"}
	w.byPrefix = make(map[prefix.Server]int64)
}

// run takes identifiers until the end, and returns the worker's report with the error of its exit code. The end has a timeline:
//
//	ctx ends         No more identifiers are taken. Unused ranges are returned, and identifiers that
//	                 were taken are stored, side by side, so that each has the whole timeout.
//	Timeout later    Storing is given up: its context ends and its client is closed, because go-redis
//	                 does not heed a cancellation while it reads.
func (w *worker) run(signaled context.Context, o target.Opened) (report, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(signaled, cmp.Or(w.Duration, math.MaxInt64))
	defer cancel()
	storing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var before allocator.Stats
	closeIDs := sync.OnceFunc(func() {
		w.closing.Store(true)
		before = w.ids.Stats()
		base.CloseAllocator(signaled, w.Session, w.ids)
	})
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(w.Timeout, func() {
			stop()
			if w.client != nil {
				_ = w.client.Close()
			}
		})
		closeIDs()
	})()
	endLine := w.showRate(ctx, began)
	_ = w.ids.Warm(ctx, w.Collections...) // a collection that fails is requested again, and its error shown then
	program := fleet.Program{
		IDs: w.ids, Collections: w.Collections, Goroutines: w.Goroutines, Count: cmp.Or(w.Count, math.MaxInt64), Rate: float64(w.Rate), Batch: 256,
		Call: fleet.NextID,
		Sink: func(runs []fleet.Run) error { w.sink(storing, runs); return nil },
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
	closeIDs()
	found := w.report(stopped, took, before, w.ids.Stats())
	return found, w.verdict(found, err)
}

// showRate writes a line at the start, and on a terminal a live line until the function that it returns is called.
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
			bar.Set(w.taken.Load(), share, w.note())
		}
	})
	return func() { cancel(); showing.Wait(); bar.End() }
}

// note returns the errors so far, for the live line.
func (w *worker) note() string {
	if n := w.failures.Load() + w.storeErrors.Load(); n > 0 {
		return term.Plural(n, "error")
	}
	return ""
}

// failed raises the alarm of a collection, or of all. It returns an error that does not end while the worker waits.
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

// sink counts identifiers, and returns when their documents are stored or ctx ends.
func (w *worker) sink(ctx context.Context, runs []fleet.Run) {
	w.mu.Lock()
	for _, r := range runs {
		w.byPrefix[prefix.Server{ServerPrefix: r.ServerPrefix, NodeTag: r.NodeTag}] += r.Count
		w.taken.Add(r.Count)
	}
	w.mu.Unlock()
	if w.client == nil {
		return
	}
	var open []target.Document
	for _, r := range runs {
		for range r.Count {
			open = append(open, target.Document{Key: string(r.Append(nil, w.Separator)), Value: fmt.Sprintf("%s #%d", w.name, w.written.Add(1))})
			r.Number++
		}
	}
	w.unstored.Add(int64(w.store(ctx, open)))
}

// alarm logs that something fails, once and then every 30 s, and that it is over. It may fail for several names.
type alarm struct {
	log          *zap.Logger
	failed, over string

	mu       sync.Mutex // guards what follows
	failing  map[string]bool
	reminder *rate.Sometimes
}

// raise adds an error of a name. Only an error that a caller waited for begins an alarm.
func (t *alarm) raise(name string, err error, waited bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !waited && !t.failing[name] {
		return
	}
	if len(t.failing) == 0 {
		t.failing, t.reminder = make(map[string]bool), &rate.Sometimes{Interval: 30 * time.Second}
	}
	t.failing[name] = true
	t.reminder.Do(func() { t.log.Warn(t.failed, zap.String("error", exit.Plain(err))) })
}

// end removes a name. The alarm is over when none is left.
func (t *alarm) end(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.failing[name] {
		return
	}
	if delete(t.failing, name); len(t.failing) == 0 {
		t.log.Info(t.over)
	}
}
