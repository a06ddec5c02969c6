// Package workload runs the load of one program of a fleet. It takes identifiers of several collections in turn, on several
// goroutines and at a given rate, skips collections that fail, and passes the identifiers to a sink. A Report holds the
// statistics of the allocators. Of the internal packages it may import base and term.
package workload

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/prefix"
)

// Run represents Count consecutive identifiers, beginning with ID.
type Run struct {
	prefix.ID
	Count int64
}

// Program takes identifiers. It can run once, and calls its functions concurrently.
type Program struct {
	IDs         *allocator.Allocator
	Collections []string
	Goroutines  int
	Count       int64   // number of identifiers to take
	Rate        float64 // identifiers a second; 0 means full speed
	Batch       int64   // maximum number of identifiers in a call of Sink; less at a low rate
	Prompt      bool    // empty the batch into Sink before a call that may wait

	// Call takes one identifier of a collection, or up to limit, and passes each to note. It does not wait if ctx has ended.
	Call func(ctx context.Context, from *allocator.Collection, limit int64, note func(prefix.ID)) error
	// Sink receives the identifiers of a batch. An error ends the program.
	Sink func(runs []Run) error
	// Failed receives the error of a collection. If the call waited, the collection is skipped from then on, except for
	// retries that do not wait. If not, another goroutine may have been served meanwhile. An error of Failed ends the program.
	Failed func(collection string, err error, waited bool) error
	// Served, unless it is nil, is called when a failed collection issues identifiers again.
	Served func(collection string)

	sources []*source
	limiter *rate.Limiter
	claimed atomic.Int64
}

// source is a collection with its state of failure.
type source struct {
	*allocator.Collection
	failing atomic.Bool
	retry   *rate.Limiter // limits the calls while failing is set
}

// retryInterval adds to the back-off of the allocator.
const retryInterval = 50 * time.Millisecond

// NextID is a Program.Call that takes one identifier.
func NextID(ctx context.Context, from *allocator.Collection, _ int64, note func(prefix.ID)) error {
	id, err := from.NextID(ctx)
	if err == nil {
		note(id)
	}
	return err
}

// Run takes Count identifiers. It returns the error that ended the program, or the cause if ctx ends.
func (p *Program) Run(ctx context.Context) error {
	for _, name := range p.Collections {
		c, err := p.IDs.Collection(name)
		if err != nil {
			return err
		}
		p.sources = append(p.sources, &source{Collection: c, retry: rate.NewLimiter(rate.Every(retryInterval), 1)})
	}
	p.limiter = rate.NewLimiter(rate.Inf, 0)
	if p.Rate > 0 {
		const ticks = 20 // batches a second of each goroutine
		p.Batch = max(1, min(p.Batch, int64(p.Rate)/int64(p.Goroutines)/ticks))
		p.limiter = rate.NewLimiter(rate.Limit(p.Rate), int(p.Batch+int64(p.Rate)/10))
	}
	running, working := errgroup.WithContext(ctx)
	for i := range p.Goroutines {
		running.Go(func() error { return p.work(working, i) })
	}
	return cmp.Or(running.Wait(), context.Cause(ctx))
}

// work takes identifiers on one goroutine.
func (p *Program) work(ctx context.Context, number int) error {
	t := &rotation{Program: p, next: number % len(p.sources), runOf: make([]int, len(p.sources))}
	t.noteFunc = t.note
	for n := p.claim(ctx); n > 0; n = p.claim(ctx) {
		for n > 0 && ctx.Err() == nil {
			err := t.take(ctx, n)
			if n -= t.got; t.got > 0 {
				err = cmp.Or(p.Sink(t.runs), err)
			}
			if err != nil {
				return err
			}
			if t.got == 0 {
				base.Sleep(ctx, retryInterval)
			}
		}
	}
	return nil
}

// claim waits until the next batch is due and returns its size. The size is 0 at the end.
func (p *Program) claim(ctx context.Context) int64 {
	n := max(0, min(p.Batch, p.Count-(p.claimed.Add(p.Batch)-p.Batch)))
	if n > 0 && p.limiter.WaitN(ctx, int(n)) != nil {
		<-ctx.Done() // WaitN returns early if it cannot meet the deadline of ctx
		return 0
	}
	return n
}

// rotation takes identifiers from the sources in turn, on one goroutine.
type rotation struct {
	*Program
	next     int   // index of the next source
	runOf    []int // index in runs of the newest run of each source
	got      int64
	runs     []Run
	noteFunc func(prefix.ID) // note, since a method value for each call would cost more than the call
}

// canceled is a canceled context. A call with it fails rather than wait.
var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// take takes up to n identifiers. It takes fewer if all sources fail, or if a prompt program would have to wait. An error
// ends the program.
func (t *rotation) take(ctx context.Context, n int64) error {
	t.got, t.runs = 0, t.runs[:0]
	for skipped := 0; t.got < n && skipped < len(t.sources); t.next = (t.next + 1) % len(t.sources) {
		s := t.sources[t.next]
		failing := s.failing.Load()
		if failing && !s.retry.Allow() {
			skipped++
			continue
		}
		callCtx := ctx //nolint:contextcheck // a call with canceled does not wait
		if failing || t.Prompt && t.got > 0 {
			callCtx = canceled
		}
		err := t.Call(callCtx, s.Collection, n-t.got, t.noteFunc)
		waited := !errors.Is(err, context.Canceled)
		switch {
		case err == nil:
			skipped = 0
			if failing && s.failing.Swap(false) && t.Served != nil {
				t.Served(s.Name())
			}
			continue
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the program ends
		case !waited && !failing: // the next batch begins with this source, and may wait
			return nil
		}
		if err := t.Failed(s.Name(), withoutCanceled(err), waited); err != nil {
			return err
		}
		if waited {
			s.failing.Store(true) // not before Failed, since Served has to follow it
		}
		skipped++
	}
	return nil
}

// note adds an identifier of the current source to the run that it continues, or begins a new run.
func (t *rotation) note(id prefix.ID) {
	t.got++
	if at := t.runOf[t.next]; at < len(t.runs) {
		next := t.runs[at].ID
		next.Number += t.runs[at].Count
		if next == id {
			t.runs[at].Count++
			return
		}
	}
	t.runOf[t.next] = len(t.runs)
	t.runs = append(t.runs, Run{ID: id, Count: 1})
}

// withoutCanceled returns the first part of an error that is joined with context.Canceled.
func withoutCanceled(err error) error {
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || !errors.Is(err, context.Canceled) {
		return err
	}
	return joined.Unwrap()[0]
}
