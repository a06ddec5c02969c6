package examine

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/prefix"
)

// run represents Count consecutive identifiers, beginning with ID.
type run struct {
	prefix.ID
	Count int64
}

// taker takes identifiers of several collections in turn, and skips those that fail. It is for one goroutine.
type taker struct {
	// Call takes one identifier of a collection, or up to limit, and passes each to note. It does not wait if ctx has ended.
	Call func(ctx context.Context, from *allocator.Collection, limit int64, note func(prefix.ID)) error
	// Sink receives what was taken, before a call that may wait. An error ends the load.
	Sink func(runs []run) error
	// Failed receives the error of a collection, which is skipped from then on, except for retries that do not wait. An error ends
	// the load.
	Failed func(err error) error

	sources  []*source
	next     int // index of the next source
	got      int64
	runs     []run
	noteFunc func(prefix.ID) // note, since a method value for each call would cost more than the call
}

// source is a collection with its state of failure.
type source struct {
	*allocator.Collection
	failing bool
	retry   *rate.Limiter // limits the calls while failing is set
	run     int           // index in runs of the newest run
}

// retryInterval adds to the back-off of the allocator.
const retryInterval = 50 * time.Millisecond

// open sets the collections.
func (t *taker) open(ids *allocator.Allocator, collections []string) error {
	t.noteFunc = t.note
	for _, name := range collections {
		c, err := ids.Collection(name)
		if err != nil {
			return err
		}
		t.sources = append(t.sources, &source{Collection: c, retry: rate.NewLimiter(rate.Every(retryInterval), 1)})
	}
	return nil
}

// takeAll takes n identifiers for a load, and fewer if all sources fail, or if it would have to wait.
func (t *taker) takeAll(ctx context.Context, _ int, _, n int64) (int64, error) {
	err := t.take(ctx, n)
	if t.got > 0 {
		if err := t.Sink(t.runs); err != nil {
			return t.got, err
		}
	}
	if err == nil && t.got == 0 {
		base.Sleep(ctx, retryInterval)
	}
	return t.got, err
}

// canceled is a canceled context. A call with it fails rather than wait.
var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// take takes up to n identifiers. Only the first call may wait. An error ends the load.
func (t *taker) take(ctx context.Context, n int64) error {
	t.got, t.runs = 0, t.runs[:0]
	for skipped := 0; t.got < n && skipped < len(t.sources); t.next = (t.next + 1) % len(t.sources) {
		s := t.sources[t.next]
		if s.failing && !s.retry.Allow() {
			skipped++
			continue
		}
		callCtx := ctx //nolint:contextcheck // a call with canceled does not wait
		if s.failing || t.got > 0 {
			callCtx = canceled
		}
		err := t.Call(callCtx, s.Collection, n-t.got, t.noteFunc)
		waited := !errors.Is(err, context.Canceled)
		switch {
		case err == nil:
			skipped, s.failing = 0, false
			continue
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the load ends
		case !waited && !s.failing: // the next call of take begins with this source, and may wait
			return nil
		}
		if err := t.Failed(withoutCanceled(err)); err != nil {
			return err
		}
		s.failing = s.failing || waited
		skipped++
	}
	return nil
}

// note adds an identifier of the current source to the run that it continues, or begins a new run.
func (t *taker) note(id prefix.ID) {
	t.got++
	s := t.sources[t.next]
	if s.run < len(t.runs) {
		next := t.runs[s.run].ID
		next.Number += t.runs[s.run].Count
		if next == id {
			t.runs[s.run].Count++
			return
		}
	}
	s.run = len(t.runs)
	t.runs = append(t.runs, run{ID: id, Count: 1})
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
