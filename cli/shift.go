package cli

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// shift is one run of a worker.
type shift struct {
	fleetWorker
	name      string // of this process, for the documents
	ids       *allocator.Allocator
	documents *documents // nil: none are stored
	explain   func(error) error
	began     time.Time
	limiter   *rate.Limiter // nil: full speed
	batch     int64         // so many are taken and stored together
	from      []*shiftCollection
	claimed   atomic.Int64 // of Count
	taken     atomic.Int64
	unstored  atomic.Int64
	closing   atomic.Bool
	trouble   trouble // with the servers, and so with all collections

	mu   sync.Mutex
	adds map[prefix.Server]int64 // identifiers, by what servers added; guarded by mu
}

const (
	greatestBatch = 256
	// retryAfter is beside the allocator's own back-off, which every error has behind it.
	retryAfter = 50 * time.Millisecond
)

func newShift(w fleetWorker) *shift {
	s := &shift{fleetWorker: w, name: workerName(), batch: greatestBatch, began: time.Now(), adds: make(map[prefix.Server]int64)}
	s.trouble = trouble{log: w.Log, failed: "no ids to be had, trying on", over: "ids again"}
	if w.Rate > 0 {
		const ticks = 20 // a second, for each goroutine
		s.batch = min(greatestBatch, max(1, w.Rate/int64(w.Goroutines)/ticks))
		s.limiter = rate.NewLimiter(rate.Limit(w.Rate), int(s.batch+w.Rate/10))
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
func (s *shift) run(signaled context.Context) (shiftReport, error) {
	ctx, cancel := context.WithCancelCause(signaled)
	defer cancel(nil)
	if s.Duration > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, s.Duration)
		defer stop()
	}
	late, lateEnd := s.afterwards(ctx)
	defer lateEnd()
	var before allocator.Stats
	closed := sync.OnceFunc(func() {
		s.closing.Store(true)
		before = s.ids.Stats()
		s.close(signaled, s.ids)
	})
	// While what was taken is stored: neither is to use up the time that the other has.
	defer context.AfterFunc(ctx, closed)()
	var running sync.WaitGroup
	for i := range s.Goroutines {
		running.Go(func() {
			if err := s.work(ctx, late, i); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	stopped, err := "count", context.Cause(ctx)
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
func (s *shift) afterwards(ctx context.Context) (late context.Context, end func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(s.Timeout, cancel) })
	return late, func() { stop(); cancel() }
}

// work is one goroutine of a shift.
func (s *shift) work(ctx, late context.Context, number int) error {
	turns := turns{at: number, adds: make(map[prefix.Server]int64)}
	defer s.count(&turns)
	for n := s.claim(ctx); n > 0; n = s.claim(ctx) {
		for n > 0 && ctx.Err() == nil {
			got, err := s.take(ctx, &turns, n)
			n -= got
			s.store(late, &turns)
			if lasting(err) && ctx.Err() == nil {
				return err
			}
			if n > 0 {
				pause(ctx, retryAfter)
			}
		}
	}
	return nil
}

// claim waits until so many may be taken, and gives 0 at the end.
func (s *shift) claim(ctx context.Context) int64 {
	n := s.batch
	if s.Count > 0 {
		n = max(0, min(n, s.Count-(s.claimed.Add(n)-n)))
	}
	if n == 0 || ctx.Err() != nil {
		return 0
	}
	if s.limiter != nil && s.limiter.WaitN(ctx, int(n)) != nil {
		<-ctx.Done() // with a deadline WaitN knows beforehand that it would not be in time
		return 0
	}
	return n
}

// turns takes from collections in turn, on one goroutine.
type turns struct {
	at    int
	texts []string // taken, and to be stored
	adds  map[prefix.Server]int64
}

// take takes up to n identifiers, and fewer where there is none to be had of any collection, or with a lasting error.
func (s *shift) take(ctx context.Context, t *turns, n int64) (got int64, err error) {
	t.texts = t.texts[:0]
	var adds prefix.Server // those of so many in a row
	var row int64
	for missed := 0; got < n && missed < len(s.from); {
		c := s.from[t.at%len(s.from)]
		t.at++
		id, there, failed := s.ask(ctx, c)
		if lasting(failed) || ctx.Err() != nil && !there {
			err = failed
			break
		}
		if !there {
			missed++
			continue
		}
		missed = 0
		got++
		if from := (prefix.Server{ServerPrefix: id.ServerPrefix, NodeTag: id.NodeTag}); from != adds {
			t.adds[adds] += row
			adds, row = from, 0
		}
		row++
		if s.documents != nil {
			t.texts = append(t.texts, string(id.Append(nil, s.Separator)))
		}
	}
	t.adds[adds] += row
	s.taken.Add(got)
	return got, err
}

// store returns when all are stored, or when it is too late for that.
func (s *shift) store(late context.Context, t *turns) {
	if len(t.texts) > 0 {
		s.unstored.Add(int64(s.documents.store(late, t.texts)))
	}
}

func (s *shift) count(t *turns) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for adds, n := range t.adds {
		s.adds[adds] += n
	}
}

// pause returns after d, or when ctx has ended.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
