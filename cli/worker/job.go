package worker

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
)

// job is one run of a worker.
type job struct {
	worker
	name      string // of this process, for the documents
	ids       *allocator.Allocator
	documents *documents // nil: none are stored
	explain   func(error) error
	began     time.Time
	unstored  atomic.Int64
	closing   atomic.Bool
	outage    *alarm            // about all collections
	refusals  map[string]*alarm // about a collection each: what stands there refuses it

	mu   sync.Mutex              // guards what follows
	adds map[prefix.Server]int64 // identifiers, by what servers added
}

func newJob(w worker) *job {
	unserved := func(log *zap.Logger) *alarm {
		return &alarm{log: log, failed: "no ids to be had, trying on", over: "ids again"}
	}
	s := &job{worker: w, name: workerName(), began: time.Now(), refusals: make(map[string]*alarm), adds: make(map[prefix.Server]int64)}
	s.outage = unserved(w.Log)
	for _, name := range w.Collections {
		s.refusals[name] = unserved(w.Log.With(zap.String("collection", name)))
	}
	return s
}

// workerName is unique to this process.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), crand.Text()[:8])
}

// run takes identifiers until the end, closes the allocator and tells what became of it all. Its error says why the
// exit code is not 0.
func (s *job) run(signaled context.Context) (report, error) {
	ctx, cancel := context.WithCancel(signaled)
	if s.Duration > 0 {
		ctx, cancel = context.WithTimeout(signaled, s.Duration)
	}
	defer cancel()
	late, lateEnd := s.afterwards(ctx)
	defer lateEnd()
	var before allocator.Stats
	closed := sync.OnceFunc(func() {
		s.closing.Store(true)
		before = s.ids.Stats()
		s.CloseAllocator(signaled, s.ids)
	})
	// While what was taken is stored: neither is to use up the time that the other has.
	defer context.AfterFunc(ctx, closed)()
	_ = s.ids.Warm(ctx, s.Collections...) // a collection that has no range then is asked again, and its error told
	program := fleet.Program{
		IDs: s.ids, Collections: s.Collections, Goroutines: s.Goroutines, Count: s.Count, Rate: float64(s.Rate), Batch: 256,
		Call:    fleet.NextID,
		Sink:    func(runs []fleet.Run) error { s.store(late, runs); return nil },
		Lasting: lasting,
		Failed:  s.failed,
		Served:  func(name string) { s.refusals[name].end(name); s.outage.end(name) },
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
	took := time.Since(s.began)
	closed()
	found := s.report(stopped, took, before, s.ids.Stats())
	return found, s.verdict(found, err)
}

// afterwards is for what was taken and has to be stored: it ends some time after ctx.
func (s *job) afterwards(ctx context.Context) (late context.Context, end func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(s.Timeout, cancel) })
	return late, func() { stop(); cancel() }
}

// lasting reports whether it makes no sense to try again: everything else can be put right while a worker waits.
func lasting(err error) bool {
	return errors.Is(err, allocator.ErrExhausted) || errors.Is(err, allocator.ErrMixed)
}

// failed says that a collection gives nothing, or that none does.
func (s *job) failed(name string, err error, news bool) {
	why := s.explain(err)
	if errors.Is(err, allocator.ErrNotSeeded) || errors.Is(err, allocator.ErrCorrupt) {
		s.refusals[name].add(name, why, news)
		s.outage.end(name)
		return
	}
	s.outage.add(name, why, news)
}

// serverErrors is how many attempts failed.
func (s *job) serverErrors() int64 {
	n := s.outage.errors.Load()
	for _, refusal := range s.refusals {
		n += refusal.errors.Load()
	}
	return n
}

// store counts identifiers, and returns when their documents are stored, or when it is too late for that.
func (s *job) store(late context.Context, runs []fleet.Run) {
	s.mu.Lock()
	for _, r := range runs {
		s.adds[prefix.Server{ServerPrefix: r.ServerPrefix, NodeTag: r.NodeTag}] += r.Count
	}
	s.mu.Unlock()
	if s.documents == nil {
		return
	}
	var texts []string
	for _, r := range runs {
		for range r.Count {
			texts = append(texts, string(r.Append(nil, s.Separator)))
			r.Number++
		}
	}
	s.unstored.Add(int64(s.documents.store(late, texts)))
}
