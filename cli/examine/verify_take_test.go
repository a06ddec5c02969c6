package examine

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// newTaker returns a load of n identifiers of collections, what takes them, and what it reports.
func newTaker(t *testing.T, s *redistest.Server, n int64, collections ...string) (*load, *taker, *outcome) {
	t.Helper()
	to := mustParse(t, s.URL())
	client, closeClient, err := to.Open(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeClient)
	ids, err := allocator.New(client.Redis, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(context.WithoutCancel(t.Context())) })
	seen := &outcome{}
	from := &taker{
		Call: func(ctx context.Context, from *allocator.Collection, _ int64, note func(prefix.ID)) error {
			id, err := from.NextID(ctx)
			if err == nil {
				note(id)
			}
			return err
		},
		Sink: seen.sink,
		Failed: func(err error) error {
			if errors.Is(err, allocator.ErrExhausted) {
				return err
			}
			seen.failed++
			return nil
		},
	}
	if err := from.open(ids, collections); err != nil {
		t.Fatal(err)
	}
	l := &load{Goroutines: 1, Count: n, Batch: 100, Take: from.takeAll}
	l.begin()
	return l, from, seen
}

type outcome struct {
	ledger   proof.Ledger
	maxBatch int64 // identifiers in one call of the sink
	runs     int
	failed   int
	sinkErr  error // returned by the sink
}

func (h *outcome) sink(runs []run) error {
	sum := int64(0)
	for _, r := range runs {
		h.ledger.Add(h.ledger.SeriesOf(r.ID), proof.Run{Low: r.Number, High: r.Number + r.Count - 1, Worker: 1})
		sum += r.Count
	}
	h.maxBatch, h.runs = max(h.maxBatch, sum), h.runs+len(runs)
	return h.sinkErr
}

func TestTakerTakesEachNumberOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		l, _, seen := newTaker(t, s, 10_007, "orders", "users")
		if err := l.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seen.ledger.IDs != 10_007 || seen.ledger.Duplicates != 0 || len(seen.ledger.Series) != 2 || seen.maxBatch != l.Batch {
			t.Errorf("%d ids, %d duplicates, up to %d at once", seen.ledger.IDs, seen.ledger.Duplicates, seen.maxBatch)
		}
		for _, series := range seen.ledger.Series {
			if series.Numbers.Missing() != 0 {
				t.Errorf("%d of %s are missing", series.Numbers.Missing(), series.Collection)
			}
		}
		if seen.runs > 2*(10_007/100+40) { // two of each batch, and more where a range ended
			t.Errorf("got %d runs, want consecutive identifiers in one", seen.runs)
		}
	})
}

func TestTakerReportsBeforeItWaits(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		l, from, seen := newTaker(t, s, 5000, "orders", "users")
		var taken int64
		call := from.Call
		from.Call = func(ctx context.Context, of *allocator.Collection, limit int64, note func(prefix.ID)) error {
			if ctx.Err() == nil && taken != seen.ledger.IDs {
				t.Errorf("it may wait with %d ids taken and %d reported", taken, seen.ledger.IDs)
			}
			return call(ctx, of, limit, func(id prefix.ID) { taken++; note(id) })
		}
		if err := l.run(t.Context()); err != nil || seen.ledger.IDs != 5000 || seen.ledger.Duplicates != 0 {
			t.Errorf("%d ids, error %v", seen.ledger.IDs, err)
		}
	})
}

func TestTakerSkipsAFailingCollectionUntilItIsRepaired(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		set := func(max string) {
			if err := client.HSet(t.Context(), "{Raven}/HiLo/users", "Max", max).Err(); err != nil {
				t.Error(err)
			}
		}
		set("x")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l, from, seen := newTaker(t, s, math.MaxInt64, "orders", "users")
		repair := sync.OnceFunc(func() { set("7") })
		from.Sink = func(runs []run) error {
			if err := seen.sink(runs); err != nil {
				return err
			}
			if seen.ledger.IDs > 5000 && seen.failed > 0 { // takes minutes if each failure delays orders
				repair()
			}
			if len(seen.ledger.Series) == 2 {
				cancel()
			}
			return nil
		}
		if err := l.run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if seen.failed == 0 || seen.ledger.Duplicates != 0 {
			t.Errorf("%d failures, %d duplicates", seen.failed, seen.ledger.Duplicates)
		}
	})
}

func TestTakerEndsOnAPermanentError(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	if err := s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Max", "9223372036854775800").Err(); err != nil {
		t.Fatal(err)
	}
	l, _, seen := newTaker(t, s, math.MaxInt64, "orders")
	if err := l.run(t.Context()); !errors.Is(err, allocator.ErrExhausted) || seen.ledger.IDs != 7 {
		t.Errorf("%v after %d ids", err, seen.ledger.IDs)
	}
	l, _, seen = newTaker(t, s, math.MaxInt64, "users")
	seen.sinkErr = errors.New("the sink is closed")
	if err := l.run(t.Context()); !errors.Is(err, seen.sinkErr) {
		t.Error(err)
	}
}
