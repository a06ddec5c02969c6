package allocator

import (
	"errors"
	"sync"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func mustTake(t *testing.T, c *Collection, n int64) Batch {
	t.Helper()
	batch, err := c.Take(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func wantReturn(t *testing.T, b Batch, last int64, want bool) {
	t.Helper()
	if got, err := b.Return(t.Context(), last); got != want || err != nil {
		t.Errorf("Return(%d) of %v: got %t, %v, want %t", last, b.Range(), got, err, want)
	}
}

func TestBatchReturnLowersMax(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		a := mustNew(t, client, Options{})
		c := mustCollection(t, a, "orders")
		mustTake(t, c, 32)
		for _, last := range []int64{40, 50, 50} { // the last one returns all of its range
			wantReturn(t, mustTake(t, c, 32), last, true)
		}
		wantMax(t, client, "50")
		if got := mustTake(t, c, 100).Range(); got != (Range{51, 150}) {
			t.Errorf("got %v, want 51..150", got)
		}
		for evidence, jumps := range a.Stats().Servers[0].Jumps {
			if jumps != 0 {
				t.Errorf("got %d jumps by %s, want none: what was returned is not lost", jumps, evidence)
			}
		}
		client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 149) // as a server that lost a range
		if got := mustTake(t, c, 32).Range(); got.Low <= 151 {
			t.Errorf("got %v, want a jump above 151", got)
		}
	})
}

func TestBatchReturnLeavesAGap(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		for name, test := range map[string]func(c, other *Collection) Batch{
			"of an older range": func(c, _ *Collection) Batch {
				older := mustTake(t, c, 32)
				mustTake(t, c, 32)
				return older
			},
			"after a range of another client": func(c, other *Collection) Batch {
				older := mustTake(t, c, 32)
				mustTake(t, other, 32)
				return older
			},
			"in the middle of a range": func(c, _ *Collection) Batch {
				c.a.opts.MinCapacity, c.a.opts.MaxCapacity = 64, 64
				return mustTake(t, c, 32)
			},
			"of nothing": func(c, _ *Collection) Batch { return mustTake(t, c, 1) },
			"again": func(c, _ *Collection) Batch {
				older := mustTake(t, c, 32)
				wantReturn(t, older, older.Range().Low, true)
				return older
			},
			"again, with another range of the same end": func(c, _ *Collection) Batch {
				older := mustTake(t, c, 32)
				wantReturn(t, older, older.Range().Low-1, true)
				if newer := mustTake(t, c, 32); newer.Range() != older.Range() {
					t.Errorf("%v, want %v", newer.Range(), older.Range())
				}
				return older
			},
		} {
			t.Run(name, func(t *testing.T) {
				client.Del(t.Context(), "{Raven}/HiLo/orders")
				c := mustCollection(t, mustNew(t, client, Options{}), "orders")
				b := test(c, mustCollection(t, mustNew(t, client, Options{}), "orders"))
				before := client.HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val()
				wantReturn(t, b, b.Range().Low, false)
				wantMax(t, client, before)
			})
		}
	})
}

func TestBatchReturnWithoutAReplyLowersTheFloor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s)
		c := mustCollection(t, mustNew(t, redistest.NewClient(t, proxy), Options{}), "orders")
		first := mustTake(t, c, 32)
		wantReturn(t, first, 31, true) // the server has the script
		b := mustTake(t, c, 32)
		dropped := proxy.DropReply("evalsha")
		ok, err := b.Return(t.Context(), 40)
		<-dropped
		if got := mustTake(t, c, 32).Range(); ok || err != nil && !errors.Is(err, ErrUnavailable) || got != (Range{41, 72}) {
			t.Errorf("got %t, %v, then %v, want ErrUnavailable or, if the client repeated the request, false, then 41..72", ok, err, got)
		}
	})
}

func TestBatchReturnRefusesOtherNumbers(t *testing.T) {
	t.Parallel()
	a := mustNew(t, redistest.NewClient(t, redistest.StartMini(t)), Options{})
	c := mustCollection(t, a, "orders")
	mustTake(t, c, 32)
	b := mustTake(t, c, 32)
	for _, last := range []int64{31, 65, -1} {
		if ok, err := b.Return(t.Context(), last); ok || !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("Return(%d): got %t, %v, want ErrInvalidOptions", last, ok, err)
		}
	}
	if ok, err := (Batch{}).Return(t.Context(), 0); ok || !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("of the zero Batch: got %t, %v, want ErrInvalidOptions", ok, err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ok, err := b.Return(t.Context(), 40); ok || !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: got %t, %v, want ErrClosed", ok, err)
	}
}

func TestBatchReturnBesideTakeIssuesEachNumberOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		apart := Options{MinCapacity: 1, MaxCapacity: 1} // a range for each batch
		a, other := mustNew(t, client, apart), mustNew(t, client, apart)
		var mu sync.Mutex
		used, returned := make(map[int64]int), 0
		var callers sync.WaitGroup
		for i := range 3 {
			callers.Go(func() {
				c := mustCollection(t, []*Allocator{a, a, other}[i], "orders")
				for range 100 {
					b, err := c.Take(t.Context(), 5)
					if err != nil {
						t.Error(err)
						return
					}
					last := b.Range().Low + int64(i)
					ok, err := b.Return(t.Context(), last)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					for n := b.Range().Low; n <= last; n++ {
						used[n]++
					}
					if ok {
						returned++
					}
					mu.Unlock()
				}
			})
		}
		callers.Wait()
		for n, times := range used {
			if times > 1 {
				t.Errorf("got %d %d times, want once", n, times)
			}
		}
		for _, each := range []*Allocator{a, other} {
			for evidence, jumps := range each.Stats().Servers[0].Jumps {
				if jumps != 0 {
					t.Errorf("got %d jumps by %s, want none", jumps, evidence)
				}
			}
		}
		t.Logf("%d of 300 batches were returned", returned)
	})
}

func TestBatchFollowsTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		c := mustCollection(t, mustNew(t, client, Options{MinCapacity: 1, MaxCapacity: 1}), "orders")
		other := mustCollection(t, mustNew(t, client, Options{}), "orders")
		first, second := mustTake(t, c, 10), mustTake(t, c, 10)
		third := mustTake(t, c, 10)
		mustTake(t, other, 32)
		afterOther := mustTake(t, c, 10)
		wantReturn(t, afterOther, afterOther.Range().Low-1, true)
		afterReturn := mustTake(t, c, 10)
		for name, tt := range map[string]struct {
			b, before Batch
			want      bool
		}{
			"the next":                 {second, first, true},
			"the one after the next":   {third, first, false},
			"the other way round":      {first, second, false},
			"itself":                   {second, second, false},
			"after another client":     {afterOther, third, false},
			"after a return":           {afterReturn, third, false},
			"after what was returned":  {afterReturn, afterOther, false},
			"the zero Batch":           {Batch{}, first, false},
			"the one of another range": {second, Batch{}, false},
		} {
			if got := tt.b.Follows(tt.before); got != tt.want {
				t.Errorf("%s: got %t, want %t", name, got, tt.want)
			}
		}
	})
}
