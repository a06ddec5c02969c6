package worker

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/fleet"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// prepare is about the state of one that begins.
func (w *worker) prepare() {
	unserved := func(log *zap.Logger) *alarm {
		return &alarm{log: log, failed: "no ids to be had, trying on", over: "ids again"}
	}
	host, _ := os.Hostname()
	w.name = fmt.Sprintf("%s-%d-%s", cmp.Or(host, "host"), os.Getpid(), crand.Text()[:8])
	w.outage, w.refusals = unserved(w.Log), make(map[string]*alarm)
	for _, name := range w.Collections {
		w.refusals[name] = unserved(w.Log.With(zap.String("collection", name)))
	}
	w.storing = alarm{log: w.Log, failed: "documents cannot be stored, trying on", over: "documents are stored again"}
	w.adds = make(map[prefix.Server]int64)
}

// run takes identifiers until the end, closes the allocator and tells what became of it all. Its error says why the
// exit code is not 0.
func (w *worker) run(signaled context.Context, o target.Opened) (report, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(signaled, cmp.Or(w.Duration, math.MaxInt64))
	defer cancel()
	late, end := context.WithCancel(context.WithoutCancel(ctx)) // for what was taken and has to be stored
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(w.Timeout, end) })()
	if w.client != nil { // go-redis heeds a deadline while it reads, but no cancellation
		defer context.AfterFunc(late, func() { _ = w.client.Close() })()
	}
	var before allocator.Stats
	closed := sync.OnceFunc(func() {
		w.closing.Store(true)
		before = w.ids.Stats()
		base.CloseAllocator(signaled, w.Session, w.ids)
	})
	// While what was taken is stored: neither is to use up the time that the other has.
	defer context.AfterFunc(ctx, closed)()
	_ = w.ids.Warm(ctx, w.Collections...) // a collection that has no range then is asked again, and its error told
	program := fleet.Program{
		IDs: w.ids, Collections: w.Collections, Goroutines: w.Goroutines, Count: cmp.Or(w.Count, math.MaxInt64), Rate: float64(w.Rate), Batch: 256,
		Call: fleet.NextID,
		Sink: func(runs []fleet.Run) error { w.sink(late, runs); return nil },
		Failed: func(name string, err error, news bool) error {
			return w.failed(name, err, o.Explain(signaled, err), news)
		},
		Served: func(name string) { w.refusals[name].end(name); w.outage.end(name) },
	}
	stopped, err := "count", program.Run(ctx)
	switch {
	case signaled.Err() != nil:
		stopped, err = "signal", nil
	case errors.Is(err, context.DeadlineExceeded):
		stopped, err = "duration", nil
	case err != nil:
		stopped = "failed"
	}
	took := time.Since(began)
	closed()
	found := w.report(stopped, took, before, w.ids.Stats())
	return found, w.verdict(found, err)
}

// failed says why a collection gives nothing, or that none does. Its error cannot be put right while the worker waits.
func (w *worker) failed(name string, err, why error, news bool) error {
	if errors.Is(err, allocator.ErrExhausted) || errors.Is(err, allocator.ErrMixed) {
		return err
	}
	w.failures.Add(1)
	if errors.Is(err, allocator.ErrNotSeeded) || errors.Is(err, allocator.ErrCorrupt) {
		w.refusals[name].add(name, why, news)
		w.outage.end(name)
		return nil
	}
	w.outage.add(name, why, news)
	return nil
}

// sink counts identifiers, and returns when their documents are stored, or when it is too late for that.
func (w *worker) sink(late context.Context, runs []fleet.Run) {
	w.mu.Lock()
	for _, r := range runs {
		w.adds[prefix.Server{ServerPrefix: r.ServerPrefix, NodeTag: r.NodeTag}] += r.Count
	}
	w.mu.Unlock()
	if w.client == nil {
		return
	}
	var open []document
	for _, r := range runs {
		for range r.Count {
			open = append(open, document{string(r.Append(nil, w.Separator)), fmt.Sprintf("%s #%d", w.name, w.written.Add(1))})
			r.Number++
		}
	}
	w.unstored.Add(int64(w.store(late, open)))
}

// alarm warns that something fails, once and then every 30 s, and tells when it is over.
type alarm struct {
	log          *zap.Logger
	failed, over string

	mu       sync.Mutex // guards what follows
	on       map[string]bool
	reminder *rate.Sometimes
}

// add is about an error, which is somebody's. One that is no news does not begin an alarm.
func (t *alarm) add(whose string, err error, news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !news && !t.on[whose] {
		return
	}
	if len(t.on) == 0 {
		t.on, t.reminder = make(map[string]bool), &rate.Sometimes{Interval: 30 * time.Second}
	}
	t.on[whose] = true
	t.reminder.Do(func() { t.log.Warn(t.failed, zap.String("error", exit.Plain(err))) })
}

// end is about somebody who has no more errors. The alarm is over when nobody has.
func (t *alarm) end(whose string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.on[whose] {
		return
	}
	if delete(t.on, whose); len(t.on) == 0 {
		t.log.Info(t.over)
	}
}
