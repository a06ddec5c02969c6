package allocator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// Callers keep running while the allocator is closed. The numbers issued and the numbers returned together make up the
// counter exactly.
func TestCloseReturnsUnusedNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		var all []int64
		for range 20 {
			a := mustNew(t, client, Options{})
			var mu sync.Mutex
			var wg sync.WaitGroup
			var issued atomic.Int64
			enough := make(chan struct{})
			for range 8 {
				wg.Go(func() {
					var mine []int64
					for {
						n, err := a.NextNumber(t.Context(), "orders")
						if err != nil {
							if !errors.Is(err, ErrClosed) {
								t.Error(err)
							}
							break
						}
						mine = append(mine, n)
						if issued.Add(1) == 100 {
							close(enough)
						}
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, mine...)
				})
			}
			<-enough
			mustClose(t, a)
			wg.Wait()
			if got := statsOf(a); got.Burnt != 0 || got.Held != 0 {
				t.Errorf("a lone client burnt numbers: got %+v, want 0, 0", got)
			}
		}
		slices.Sort(all)
		for i, n := range all {
			if n != int64(i+1) {
				t.Fatalf("number %d: got %d, want %v", i+1, n, int64(i+1))
			}
		}
		wantMax(t, client, fmt.Sprint(len(all)))
	})
}

// Clients start, take numbers and close concurrently, so that returns meet the ranges of other clients in every order.
func TestCloseBesideOtherClientsNeverRepeatsNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		numbers := make([][]int64, 2)
		var wg sync.WaitGroup
		for g := range numbers {
			wg.Go(func() {
				for round := range 200 {
					a := mustNew(t, client, Options{MinCapacity: 4, MaxCapacity: 4})
					for range 3 + 7*((g+round)%4) {
						n, err := a.NextNumber(t.Context(), "orders")
						if err != nil {
							t.Error(err)
							return
						}
						numbers[g] = append(numbers[g], n)
					}
					if err := a.Close(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		wantDistinct(t, slices.Concat(numbers...))
	})
}

func TestCloseMakesLaterCallsReturnErrClosed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		c := mustCollection(t, a, "orders")
		mustNumber(t, a, "orders")
		mustClose(t, a)
		mustClose(t, a)
		_, err1 := c.Next(t.Context())
		_, err2 := c.Take(t.Context(), 1)
		_, err3 := a.Next(t.Context(), "orders")
		_, err4 := a.Next(t.Context(), "users")
		for i, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%d: got %v, want ErrClosed", i+1, err)
			}
		}
		if _, ok := c.TryNext(); ok {
			t.Error("TryNext after Close: got a number, want none")
		}
	})
}

func TestCloseReturnsConsecutiveRangesAsOne(t *testing.T) {
	t.Parallel()
	type step struct {
		who string
		n   int64
	}
	tests := []struct {
		name  string
		steps []step // Take by one of two clients
		want  string // Max after a has closed
	}{
		{"nothing used up", []step{{"a", 1}}, "1"},
		{"two in a row, the newer one untouched", []step{{"a", 1}, {"a", 32}, {"a", 1}}, "64"},
		{"somebody else in between", []step{{"a", 1}, {"b", 1}, {"a", 30}, {"a", 2}}, "66"},
		{"somebody else after", []step{{"a", 1}, {"b", 1}}, "64"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := redistest.NewClient(t, s)
				opts := Options{MaxCapacity: 32, Runway: time.Nanosecond}
				a := mustNew(t, client, opts)
				who := map[string]*Collection{
					"a": mustCollection(t, a, "orders"),
					"b": mustCollection(t, mustNew(t, client, opts), "orders"),
				}
				for _, step := range test.steps {
					if _, err := who[step.who].Take(t.Context(), step.n); err != nil {
						t.Fatal(err)
					}
				}
				mustClose(t, a)
				wantMax(t, client, test.want)
			})
		})
	}
}

func TestSealMergesConsecutiveRanges(t *testing.T) {
	t.Parallel()
	s := func(low, high, used int64) *span {
		s := &span{base: low - 1, size: high - low + 1, token: fmt.Sprint(low), written: 1000 + low}
		s.taken.Store(used)
		return s
	}
	tests := []struct {
		name      string
		spans     []*span
		end, last int64
		token     string
		between   bool // something was written
	}{
		{"one, partly used", []*span{s(1, 32, 5)}, 32, 5, "1", false},
		{"one, untouched", []*span{s(33, 64, 0)}, 64, 32, "33", false},
		{"three in a row", []*span{s(1, 32, 5), s(33, 64, 0), s(65, 128, 0)}, 128, 5, "65", false},
		{"the oldest used up", []*span{s(1, 32, 40), s(33, 64, 0)}, 64, 32, "33", false},
		{"the middle carved", []*span{s(1, 32, 5), s(33, 64, 2), s(65, 128, 0)}, 128, 34, "65", false},
		{"the newest carved", []*span{s(1, 32, 5), s(33, 64, 2)}, 64, 34, "33", false},
		{"not consecutive", []*span{s(1, 32, 5), s(65, 96, 0)}, 96, 64, "65", false},
		{"a gap before two in a row", []*span{s(1, 4, 1), s(5, 8, 0), s(13, 16, 0)}, 16, 12, "13", false},
		{"a gap between two in a row and one", []*span{s(1, 4, 1), s(9, 12, 0), s(13, 16, 0)}, 16, 8, "13", false},
		{"a gap in the middle", []*span{s(1, 4, 0), s(5, 8, 0), s(13, 16, 0), s(17, 20, 0)}, 20, 12, "17", false},
		{"a seed in between", []*span{s(1, 32, 5), s(33, 64, 0)}, 64, 32, "33", true},
		{"raised by hand in between, which no time tells of", []*span{s(1, 32, 5), s(65, 96, 0)}, 96, 64, "65", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := newFakeAllocator(t, Options{}, &fakeServer{})
			for i, s := range test.spans {
				if i > 0 && !test.between {
					s.before = test.spans[i-1].written
				}
				s.from = &fleet.Issuer{Server: a.fleet.Servers()[0]}
			}
			c := mustCollection(t, a, "orders")
			c.cur.Store(test.spans[0])
			c.ahead = test.spans[1:]
			got := c.seal()
			if len(got) != 1 {
				t.Fatalf("got %d returns, want 1", len(got))
			}
			if r := got[0].request; r.End != test.end || r.Last != test.last || r.Token != test.token {
				t.Errorf("got a return of %d..%d by %s, want %d..%d by %s", r.Last+1, r.End, r.Token, test.last+1, test.end, test.token)
			}
		})
	}
}

func TestCloseWithRedisDownEndsInTimeAndNamesLostRanges(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		mustNumber(t, a, "orders")
		mustNumber(t, a, "users")
		s.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := a.Close(ctx)
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: got %v, want ErrUnavailable, context.DeadlineExceeded", err)
		}
		if text := err.Error(); !strings.Contains(text, "orders 2..32") || !strings.Contains(text, "users 2..32") {
			t.Errorf(`it does not say what was lost: got %s, want text with "orders 2..32", text with "users 2..32"`, text)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("got the end of Close after %v, want it within a minute", took)
		}
		if got := a.Close(t.Context()); !errors.Is(got, err) {
			t.Errorf("the second time: got %v, want %v", got, err)
		}
		if got := statsOf(a); got.Burnt != 31 {
			t.Errorf("got figures %+v, want 31", got)
		}
	})
}

func TestCloseWaitsForTheRefillInFlightAndReturnsItsRange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Second}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		failed := make(chan error)
		go func() {
			_, err := c.Next(t.Context())
			failed <- err
		}()
		go func() {
			_, err := c.Take(t.Context(), 5)
			failed <- err
		}()
		synctest.Wait()
		start := time.Now()
		closed := make(chan error)
		go func() { closed <- a.Close(t.Context()) }()
		for range 2 {
			if err := <-failed; !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		if err := <-closed; err != nil || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want <nil>, %v", err, time.Since(start), time.Second)
		}
		if len(f.returns) != 1 || f.returns[0].Last != 0 || f.returns[0].End != 32 {
			t.Errorf("got returns %+v, want one of 1..32", f.returns)
		}
	})
}

// hangingReturns replies to returns only after the caller's time is over.
type hangingReturns struct{ fakeServer }

func (*hangingReturns) Return(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	<-ctx.Done()
	return notTakenBack(ctx, requests)
}

func TestCloseReturnsToOneServerWhileAnotherHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		north, south := &hangingReturns{fakeServer{adds: "N/", origin: "n"}}, &fakeServer{adds: "S/", origin: "s"}
		a := newFakeAllocator(t, Options{}, north, south)
		if _, err := a.Next(t.Context(), "orders"); err != nil { // of north
			t.Fatal(err)
		}
		north.set(func() { north.refuses = errHung })
		if _, err := a.Next(t.Context(), "users"); err != nil { // of south
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := a.Close(ctx)
		if err == nil || !strings.Contains(err.Error(), "1 not returned: orders on north 2..32") {
			t.Error(err)
		}
		if len(south.returns) != 1 || south.returns[0].Last != 1 {
			t.Errorf("got returns to south %+v, want one above 1", south.returns)
		}
	})
}

// A request that Close cancels proves nothing about the server.
func TestCloseCountsACanceledRefillAsNoFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		server fakeServer
		within time.Duration // of Close
	}{
		{"in an attempt", fakeServer{hangs: true}, 100 * time.Millisecond},
		{"in a back-off", fakeServer{refuses: errHung}, time.Hour},
	}
	for i := range tests {
		test := &tests[i]
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log, logs := observed()
				f := &test.server
				a := newFakeAllocator(t, Options{Logger: log}, f)
				c := mustCollection(t, a, "orders")
				if f.refuses != nil {
					_, _ = c.Next(t.Context())
				}
				before, logged := a.Stats(), logs.Len()
				failed := make(chan error)
				go func() {
					_, err := c.Next(t.Context())
					failed <- err
				}()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), test.within)
				defer cancel()
				_ = a.Close(ctx)
				if err := <-failed; !errors.Is(err, ErrClosed) || errors.Is(err, ErrUnavailable) {
					t.Errorf("the caller got %v, want ErrClosed alone", err)
				}
				synctest.Wait()
				after := a.Stats()
				if got, want := after.Collections[0].Failures, sum(before); got != want {
					t.Errorf("%d refills failed, want %d", got, want)
				}
				was, is := before.Servers[0], after.Servers[0]
				if is.Up != was.Up || is.Failures != was.Failures || is.Refills.Failed[FailedUnavailable] != was.Refills.Failed[FailedUnavailable] {
					t.Errorf("got %+v, want state and failures of %+v", is, was)
				}
				if logs.Len() != logged {
					t.Errorf("got log %v, want %v", logs.All()[logged:], logged)
				}
			})
		})
	}
}

// sum returns how many refills of all collections failed.
func sum(s Stats) (failures int64) {
	for i := range s.Collections {
		failures += s.Collections[i].Failures
	}
	return failures
}

func TestCloseEndsABackoffAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{refuses: errHung}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
		failed := make(chan error)
		go func() {
			_, err := c.Next(t.Context())
			failed <- err
		}()
		synctest.Wait()
		start := time.Now()
		if err := a.Close(t.Context()); err != nil || time.Since(start) != 0 {
			t.Errorf("got %v after %v, want <nil>, 0", err, time.Since(start))
		}
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
