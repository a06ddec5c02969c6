package fleet

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// program is one that takes n identifiers of collections, on a server, with what it was told.
func program(t *testing.T, s *redistest.Server, n int64, collections ...string) (*Program, *told) {
	t.Helper()
	ids, err := allocator.New(s.Client(t), allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(context.WithoutCancel(t.Context())) })
	heard := &told{failed: make(map[string]int), served: make(map[string]int)}
	return &Program{
		IDs: ids, Collections: collections, Goroutines: 3, Count: n, Batch: 100,
		Call: NextID,
		Sink: heard.sink,
		Failed: func(name string, err error, _ bool) error {
			if errors.Is(err, allocator.ErrExhausted) {
				return err
			}
			heard.add(heard.failed, name)
			return nil
		},
		Served: func(name string) { heard.add(heard.served, name) },
	}, heard
}

type told struct {
	mu             sync.Mutex
	ledger         proof.Ledger
	most           int64 // in one call of the sink
	runs           int
	failed, served map[string]int
	refuse         error // of the sink
}

func (h *told) add(to map[string]int, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	to[name]++
}

func (h *told) sink(runs []Run) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := int64(0)
	for _, r := range runs {
		h.ledger.Add(h.ledger.SeriesOf(r.ID), proof.Run{Low: r.Number, High: r.Number + r.Count - 1, Worker: 1})
		sum += r.Count
	}
	h.most, h.runs = max(h.most, sum), h.runs+len(runs)
	return h.refuse
}

func TestAProgramTakesEachNumberOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p, heard := program(t, s, 10_007, "orders", "users")
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if heard.ledger.IDs != 10_007 || heard.ledger.Duplicates != 0 || len(heard.ledger.Series) != 2 || heard.most != p.Batch {
			t.Errorf("%d ids, %d twice, up to %d at once", heard.ledger.IDs, heard.ledger.Duplicates, heard.most)
		}
		for _, series := range heard.ledger.Series {
			if series.Numbers.Missing() != 0 {
				t.Errorf("%d of %s are missing", series.Numbers.Missing(), series.Collection)
			}
		}
	})
}

func TestConsecutiveIdentifiersAreOneRun(t *testing.T) {
	t.Parallel()
	p, heard := program(t, redistest.StartMini(t), 1000, "orders", "users")
	p.Goroutines = 1
	if err := p.Run(t.Context()); err != nil || heard.runs != 20 {
		t.Errorf("%d runs of 10 batches, error %v", heard.runs, err)
	}
}

// TestAPromptProgramHandsOverBeforeItWaits: nothing is in its hands while a call may wait.
func TestAPromptProgramHandsOverBeforeItWaits(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p, heard := program(t, s, 5000, "orders", "users")
		p.Goroutines, p.Prompt = 1, true
		var taken int64
		p.Call = func(ctx context.Context, from *allocator.Collection, most int64, note func(prefix.ID)) error {
			if ctx.Err() == nil && taken != heard.ledger.IDs {
				t.Errorf("it may wait with %d taken and %d handed over", taken, heard.ledger.IDs)
			}
			return NextID(ctx, from, most, func(id prefix.ID) { taken++; note(id) })
		}
		if err := p.Run(t.Context()); err != nil || heard.ledger.IDs != 5000 || heard.ledger.Duplicates != 0 {
			t.Errorf("%d ids, error %v", heard.ledger.IDs, err)
		}
	})
}

// TestAFailingCollectionIsPassedBy until somebody puts it right, here from what its failure is told to.
func TestAFailingCollectionIsPassedBy(t *testing.T) {
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
			p, heard := program(t, s, math.MaxInt64, "orders", "users")
			p.Prompt = prompt
			right := sync.OnceFunc(func() { set("7") })
			sink := p.Sink
			p.Sink = func(runs []Run) error {
				if err := sink(runs); err != nil {
					return err
				}
				heard.mu.Lock()
				defer heard.mu.Unlock()
				if heard.ledger.IDs > 5000 && heard.failed["users"] > 0 { // with a wait for each failure that would take minutes
					right()
				}
				return nil
			}
			p.Served = func(name string) { heard.add(heard.served, name); cancel() }
			if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if heard.failed["orders"] > 0 || heard.served["users"] != 1 || heard.ledger.Duplicates != 0 {
				t.Errorf("failed %v, served %v", heard.failed, heard.served)
			}
		})
	}
}

func TestAProgramEndsWhereItMakesNoSenseToGoOn(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	if err := s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Max", "9223372036854775800").Err(); err != nil {
		t.Fatal(err)
	}
	p, heard := program(t, s, math.MaxInt64, "orders")
	if err := p.Run(t.Context()); !errors.Is(err, allocator.ErrExhausted) || heard.ledger.IDs != 7 {
		t.Errorf("%v after %d ids", err, heard.ledger.IDs)
	}
	p, heard = program(t, s, math.MaxInt64, "users")
	heard.refuse = errors.New("nobody hears it")
	if err := p.Run(t.Context()); !errors.Is(err, heard.refuse) {
		t.Error(err)
	}
}
