// Package fleet takes identifiers as a program of a fleet does: of several collections in turn, on several goroutines, at a
// rate, and past a collection that fails. What it takes goes to a sink. It may import base beside it, and the library.
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
	Rate        float64 // identifiers a second in all; 0: full speed
	Batch       int64   // so many, or fewer at a low rate, are taken for the sink at once
	Prompt      bool    // what was taken goes to the sink before anybody waits for more

	// Call gets one identifier of a collection, or up to most, and notes each. With a ctx that is over it does not wait.
	Call func(ctx context.Context, from *allocator.Collection, most int64, note func(prefix.ID)) error
	// Sink is given what was taken. An error ends the program.
	Sink func(runs []Run) error
	// Failed is told why a collection gives nothing. It is news where somebody waited for it: the collection is passed by
	// from then on, and asked now and then without waiting. It may have been served meanwhile where it is no news. Its error
	// ends the program: to try again makes no sense.
	Failed func(collection string, err error, news bool) error
	// Served is told that a collection which failed gives identifiers again; nil: nobody is.
	Served func(collection string)

	sources []*source
	limiter *rate.Limiter
	claimed atomic.Int64
}

// source is a collection and how it fares. A failing one is asked again when its retry allows it.
type source struct {
	*allocator.Collection
	failing atomic.Bool
	retry   *rate.Limiter
}

// retryAfter is beside the allocator's own back-off, which every error has behind it.
const retryAfter = 50 * time.Millisecond

// NextID is the simplest Call.
func NextID(ctx context.Context, from *allocator.Collection, _ int64, note func(prefix.ID)) error {
	id, err := from.NextID(ctx)
	if err == nil {
		note(id)
	}
	return err
}

// Run returns when all are taken, with the cause when ctx has ended, or with the error that ended the program.
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

// work is one goroutine.
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

// claim waits until so many may be taken, and gives 0 at the end.
func (p *Program) claim(ctx context.Context) int64 {
	n := max(0, min(p.Batch, p.Count-(p.claimed.Add(p.Batch)-p.Batch)))
	if n > 0 && p.limiter.WaitN(ctx, int(n)) != nil {
		<-ctx.Done() // with a deadline WaitN knows beforehand that it would not be in time
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
	noted func(prefix.ID) // is note; to make it for each call would cost more than the call
}

// gone is a ctx that is over: a call with it gets what is in hand, or at once why there is nothing.
var gone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// take takes up to n identifiers: fewer where no source gives any, or where it is to be prompt and would have to wait. Its
// error is a lasting one.
func (t *turns) take(ctx context.Context, n int64) error {
	t.got, t.runs = 0, t.runs[:0]
	for missed := 0; t.got < n && missed < len(t.sources); t.at = (t.at + 1) % len(t.sources) {
		s := t.sources[t.at]
		failing := s.failing.Load()
		if failing && !s.retry.Allow() {
			missed++
			continue
		}
		call := ctx //nolint:contextcheck // gone waits for nobody, and so needs no other
		if failing || t.Prompt && t.got > 0 {
			call = gone
		}
		err := t.Call(call, s.Collection, n-t.got, t.noted)
		news := !errors.Is(err, context.Canceled)
		switch {
		case err == nil:
			missed = 0
			if failing && s.failing.Swap(false) && t.Served != nil {
				t.Served(s.Name())
			}
			continue
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it is the end
		case !news && !failing: // the next batch begins with it, and waits
			return nil
		}
		if lasting := t.Failed(s.Name(), withoutItsEnd(err), news); lasting != nil {
			return lasting
		}
		if news {
			s.failing.Store(true) // now, so that whoever is served says so after this
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

// withoutItsEnd is err without the end of the context that was asked with.
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
