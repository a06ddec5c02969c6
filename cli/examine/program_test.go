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
	"github.com/hilo-id/hilo/cli/internal/workload"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// newProgram returns a program that takes n identifiers of collections, and what it reports.
func newProgram(t *testing.T, s *redistest.Server, n int64, collections ...string) (*workload.Program, *outcome) {
	t.Helper()
	to := mustParse(t, s.URL())
	client, closeClient, err := to.Open(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeClient)
	ids, err := client.Allocator(allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(context.WithoutCancel(t.Context())) })
	seen := &outcome{failed: make(map[string]int), served: make(map[string]int)}
	return &workload.Program{
		IDs: ids, Collections: collections, Goroutines: 3, Count: n, Batch: 100,
		Call: workload.NextID,
		Sink: seen.sink,
		Failed: func(name string, err error, _ bool) error {
			if errors.Is(err, allocator.ErrExhausted) {
				return err
			}
			seen.add(seen.failed, name)
			return nil
		},
		Served: func(name string) { seen.add(seen.served, name) },
	}, seen
}

type outcome struct {
	mu             sync.Mutex
	ledger         proof.Ledger
	maxBatch       int64 // identifiers in one call of the sink
	runs           int
	failed, served map[string]int
	sinkErr        error // returned by the sink
}

func (h *outcome) add(to map[string]int, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	to[name]++
}

func (h *outcome) sink(runs []workload.Run) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := int64(0)
	for _, r := range runs {
		h.ledger.Add(h.ledger.SeriesOf(r.ID), proof.Run{Low: r.Number, High: r.Number + r.Count - 1, Worker: 1})
		sum += r.Count
	}
	h.maxBatch, h.runs = max(h.maxBatch, sum), h.runs+len(runs)
	return h.sinkErr
}

func TestProgramTakesEachNumberOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p, seen := newProgram(t, s, 10_007, "orders", "users")
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seen.ledger.IDs != 10_007 || seen.ledger.Duplicates != 0 || len(seen.ledger.Series) != 2 || seen.maxBatch != p.Batch {
			t.Errorf("%d ids, %d duplicates, up to %d at once", seen.ledger.IDs, seen.ledger.Duplicates, seen.maxBatch)
		}
		for _, series := range seen.ledger.Series {
			if series.Numbers.Missing() != 0 {
				t.Errorf("%d of %s are missing", series.Numbers.Missing(), series.Collection)
			}
		}
	})
}

func TestProgramMergesConsecutiveIdentifiers(t *testing.T) {
	t.Parallel()
	p, seen := newProgram(t, redistest.StartMini(t), 1000, "orders", "users")
	p.Goroutines = 1
	if err := p.Run(t.Context()); err != nil || seen.runs != 20 {
		t.Errorf("%d runs of 10 batches, error %v", seen.runs, err)
	}
}

func TestPromptProgramReportsBeforeItWaits(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p, seen := newProgram(t, s, 5000, "orders", "users")
		p.Goroutines, p.Prompt = 1, true
		var taken int64
		p.Call = func(ctx context.Context, from *allocator.Collection, most int64, note func(prefix.ID)) error {
			if ctx.Err() == nil && taken != seen.ledger.IDs {
				t.Errorf("it may wait with %d ids taken and %d reported", taken, seen.ledger.IDs)
			}
			return workload.NextID(ctx, from, most, func(id prefix.ID) { taken++; note(id) })
		}
		if err := p.Run(t.Context()); err != nil || seen.ledger.IDs != 5000 || seen.ledger.Duplicates != 0 {
			t.Errorf("%d ids, error %v", seen.ledger.IDs, err)
		}
	})
}

func TestProgramSkipsAFailingCollectionUntilItIsRepaired(t *testing.T) {
	t.Parallel()
	for _, prompt := range []bool{false, true} {
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
			p, seen := newProgram(t, s, math.MaxInt64, "orders", "users")
			p.Prompt = prompt
			repair := sync.OnceFunc(func() { set("7") })
			sink := p.Sink
			p.Sink = func(runs []workload.Run) error {
				if err := sink(runs); err != nil {
					return err
				}
				seen.mu.Lock()
				defer seen.mu.Unlock()
				if seen.ledger.IDs > 5000 && seen.failed["users"] > 0 { // takes minutes if each failure delays orders
					repair()
				}
				return nil
			}
			p.Served = func(name string) { seen.add(seen.served, name); cancel() }
			if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if seen.failed["orders"] > 0 || seen.served["users"] != 1 || seen.ledger.Duplicates != 0 {
				t.Errorf("failed %v, served %v", seen.failed, seen.served)
			}
		})
	}
}

func TestProgramEndsOnAPermanentError(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	if err := s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Max", "9223372036854775800").Err(); err != nil {
		t.Fatal(err)
	}
	p, seen := newProgram(t, s, math.MaxInt64, "orders")
	if err := p.Run(t.Context()); !errors.Is(err, allocator.ErrExhausted) || seen.ledger.IDs != 7 {
		t.Errorf("%v after %d ids", err, seen.ledger.IDs)
	}
	p, seen = newProgram(t, s, math.MaxInt64, "users")
	seen.sinkErr = errors.New("the sink is closed")
	if err := p.Run(t.Context()); !errors.Is(err, seen.sinkErr) {
		t.Error(err)
	}
}
