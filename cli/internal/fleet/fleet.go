// Package fleet takes identifiers as a program of a fleet does: of several collections in turn, on several goroutines, at a
// rate, and past a collection that fails. What it takes goes to a sink. A
// Report has what the allocators counted meanwhile. It may import base and term beside it, and the library.
package fleet

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

// Run is consecutive identifiers: ID is the first of them.
type Run struct {
	prefix.ID
	Count int64
}

// Program takes identifiers, once. Its functions are called on all of its goroutines.
type Program struct {
	IDs         *allocator.Allocator
	Collections []string
	Goroutines  int
	Count       int64   // identifiers in all
	Rate        float64 // identifiers a second in all; 0 means full speed
	Batch       int64   // size of what goes to the sink, or less at a low rate
	Prompt      bool    // what was taken goes to the sink before a call waits for more

	// Call takes one identifier of a collection, or up to limit, and notes each. With a ctx that is over it does not wait.
	Call func(ctx context.Context, from *allocator.Collection, limit int64, note func(prefix.ID)) error
	// Sink receives what was taken. An error ends the program.
	Sink func(runs []Run) error
	// Failed receives the error of a collection. If the call waited for it, the collection is skipped from then on, and tried
	// now and then without waiting. If not, the collection may have been served meanwhile. An error of Failed ends the program.
	Failed func(collection string, err error, waited bool) error
	// Served is called when a collection that failed is served again; it may be nil.
	Served func(collection string)

	sources []*source
	limiter *rate.Limiter
	claimed atomic.Int64
}

// source is a collection. While it is failing, its retry limits how often it is tried.
type source struct {
	*allocator.Collection
	failing atomic.Bool
	retry   *rate.Limiter
}

// retryAfter adds to the allocator's own back-off, which every error has passed.
const retryAfter = 50 * time.Millisecond

// NextID implements Call with one NextID of the collection.
func NextID(ctx context.Context, from *allocator.Collection, _ int64, note func(prefix.ID)) error {
	id, err := from.NextID(ctx)
	if err == nil {
		note(id)
	}
	return err
}

// Run returns when all identifiers are taken, with the cause when ctx ends, or with the error that ended the program.
func (p *Program) Run(ctx context.Context) error {
	for _, name := range p.Collections {
		c, err := p.IDs.Collection(name)
		if err != nil {
			return err
		}
		p.sources = append(p.sources, &source{Collection: c, retry: rate.NewLimiter(rate.Every(retryAfter), 1)})
	}
	p.limiter = rate.NewLimiter(rate.Inf, 0)
	if p.Rate > 0 {
		const ticks = 20 // a second, for each goroutine
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
	t := &turns{Program: p, at: number % len(p.sources), runOf: make([]int, len(p.sources))}
	t.noted = t.note
	for n := p.claim(ctx); n > 0; n = p.claim(ctx) {
		for n > 0 && ctx.Err() == nil {
			err := t.take(ctx, n)
			n -= t.got
			if t.got > 0 {
				if refused := p.Sink(t.runs); refused != nil {
					return refused
				}
			}
			if err != nil {
				return err
			}
			if t.got == 0 {
				base.Sleep(ctx, retryAfter)
			}
		}
	}
	return nil
}

// claim waits until the next batch is due, and returns its size, which is 0 at the end.
func (p *Program) claim(ctx context.Context) int64 {
	n := max(0, min(p.Batch, p.Count-(p.claimed.Add(p.Batch)-p.Batch)))
	if n > 0 && p.limiter.WaitN(ctx, int(n)) != nil {
		<-ctx.Done() // with a deadline WaitN returns early when it cannot be met
		return 0
	}
	return n
}

// turns takes from the sources in turn, on one goroutine.
type turns struct {
	*Program
	at    int   // which of the sources is next
	runOf []int // where in runs the newest of each source was
	got   int64
	runs  []Run
	noted func(prefix.ID) // is note; making a method value for each call would cost more than the call
}

// gone is a ctx that is over: a call with it returns what is in hand, or at once the error.
var gone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// take takes up to n identifiers: fewer where all sources fail, or where the program is prompt and the call would wait. It
// returns an error that ends the program.
func (t *turns) take(ctx context.Context, n int64) error {
	t.got, t.runs = 0, t.runs[:0]
	for missed := 0; t.got < n && missed < len(t.sources); t.at = (t.at + 1) % len(t.sources) {
		s := t.sources[t.at]
		failing := s.failing.Load()
		if failing && !s.retry.Allow() {
			missed++
			continue
		}
		call := ctx //nolint:contextcheck // gone does not wait, and so needs no other
		if failing || t.Prompt && t.got > 0 {
			call = gone
		}
		err := t.Call(call, s.Collection, n-t.got, t.noted)
		waited := !errors.Is(err, context.Canceled)
		switch {
		case err == nil:
			missed = 0
			if failing && s.failing.Swap(false) && t.Served != nil {
				t.Served(s.Name())
			}
			continue
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it is the end
		case !waited && !failing: // the next batch begins with it, and waits
			return nil
		}
		if lasting := t.Failed(s.Name(), withoutItsEnd(err), waited); lasting != nil {
			return lasting
		}
		if waited {
			s.failing.Store(true) // now, so that Served is called after Failed
		}
		missed++
	}
	return nil
}

// note adds an identifier of the current source to the run that it continues, or else begins one.
func (t *turns) note(id prefix.ID) {
	t.got++
	if at := t.runOf[t.at]; at < len(t.runs) {
		next := t.runs[at].ID
		next.Number += t.runs[at].Count
		if next == id {
			t.runs[at].Count++
			return
		}
	}
	t.runOf[t.at] = len(t.runs)
	t.runs = append(t.runs, Run{ID: id, Count: 1})
}

// withoutItsEnd returns err without the end of the context of its call.
func withoutItsEnd(err error) error {
	both, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || !errors.Is(err, context.Canceled) {
		return err
	}
	return both.Unwrap()[0]
}
