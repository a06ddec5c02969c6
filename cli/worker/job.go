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
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
)

// job is one run of a worker.
type job struct {
	worker
	name     string // unique to this process, for the documents
	ids      *allocator.Allocator
	explain  func(error) error
	closing  atomic.Bool
	failures atomic.Int64      // attempts on servers that failed
	outage   *alarm            // about all collections
	refusals map[string]*alarm // about a collection each: what stands there refuses it
	documents

	mu   sync.Mutex              // guards what follows
	adds map[prefix.Server]int64 // identifiers, by what servers added
}

func newJob(w worker) *job {
	unserved := func(log *zap.Logger) *alarm {
		return &alarm{log: log, failed: "no ids to be had, trying on", over: "ids again"}
	}
	host, _ := os.Hostname()
	s := &job{
		worker:   w,
		name:     fmt.Sprintf("%s-%d-%s", cmp.Or(host, "host"), os.Getpid(), crand.Text()[:8]),
		outage:   unserved(w.Log),
		refusals: make(map[string]*alarm),
		adds:     make(map[prefix.Server]int64),
	}
	for _, name := range w.Collections {
		s.refusals[name] = unserved(w.Log.With(zap.String("collection", name)))
	}
	s.storing = alarm{log: w.Log, failed: "documents cannot be stored, trying on", over: "documents are stored again"}
	return s
}

// run takes identifiers until the end, closes the allocator and tells what became of it all. Its error says why the
// exit code is not 0.
func (s *job) run(signaled context.Context) (report, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(signaled, cmp.Or(s.Duration, math.MaxInt64))
	defer cancel()
	late, end := context.WithCancel(context.WithoutCancel(ctx)) // for what was taken and has to be stored
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(s.Timeout, end) })()
	if s.client != nil { // go-redis heeds a deadline while it reads, but no cancellation
		defer context.AfterFunc(late, func() { _ = s.client.Close() })()
	}
	var before allocator.Stats
	closed := sync.OnceFunc(func() {
		s.closing.Store(true)
		before = s.ids.Stats()
		base.CloseAllocator(signaled, s.Session, s.ids)
	})
	// While what was taken is stored: neither is to use up the time that the other has.
	defer context.AfterFunc(ctx, closed)()
	_ = s.ids.Warm(ctx, s.Collections...) // a collection that has no range then is asked again, and its error told
	program := fleet.Program{
		IDs: s.ids, Collections: s.Collections, Goroutines: s.Goroutines, Count: cmp.Or(s.Count, math.MaxInt64), Rate: float64(s.Rate), Batch: 256,
		Call:   fleet.NextID,
		Sink:   func(runs []fleet.Run) error { s.sink(late, runs); return nil },
		Failed: s.failed,
		Served: func(name string) { s.refusals[name].end(name); s.outage.end(name) },
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
	found := s.report(stopped, took, before, s.ids.Stats())
	return found, s.verdict(found, err)
}

// failed says that a collection gives nothing, or that none does. Its error cannot be put right while the worker waits.
func (s *job) failed(name string, err error, news bool) error {
	if errors.Is(err, allocator.ErrExhausted) || errors.Is(err, allocator.ErrMixed) {
		return err
	}
	s.failures.Add(1)
	why := s.explain(err)
	if errors.Is(err, allocator.ErrNotSeeded) || errors.Is(err, allocator.ErrCorrupt) {
		s.refusals[name].add(name, why, news)
		s.outage.end(name)
		return nil
	}
	s.outage.add(name, why, news)
	return nil
}

// sink counts identifiers, and returns when their documents are stored, or when it is too late for that.
func (s *job) sink(late context.Context, runs []fleet.Run) {
	s.mu.Lock()
	for _, r := range runs {
		s.adds[prefix.Server{ServerPrefix: r.ServerPrefix, NodeTag: r.NodeTag}] += r.Count
	}
	s.mu.Unlock()
	if s.client == nil {
		return
	}
	var open []document
	for _, r := range runs {
		for range r.Count {
			open = append(open, document{string(r.Append(nil, s.Separator)), fmt.Sprintf("%s #%d", s.name, s.written.Add(1))})
			r.Number++
		}
	}
	s.unstored.Add(int64(s.store(late, open)))
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
