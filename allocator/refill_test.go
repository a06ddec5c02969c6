package allocator

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// use takes numbers at a steady rate, for some time, and reports the errors.
func use(t *testing.T, c *Collection, perSecond int, duration time.Duration) {
	t.Helper()
	const step = 10 * time.Millisecond
	for range duration / step {
		for range perSecond / 100 {
			if _, err := c.NextNumber(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(step)
	}
}

func TestNextNumberDoesNotWaitDuringAnOutageOfTheRunway(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{100, 1000, 50_000, 200_000} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeServer{delay: 5 * time.Millisecond}
			a := newFakeAllocator(t, Options{}, f)
			c := mustCollection(t, a, "orders")
			use(t, c, rate, 90*time.Second)
			before := statsOf(a).Waits
			f.set(func() { f.hangs = true })
			use(t, c, rate, 10*time.Second)
			f.set(func() { f.hangs = false })
			use(t, c, rate, 5*time.Second)
			if after := statsOf(a).Waits; after != before {
				t.Errorf("at %d/s: got %d waits, want none", rate, after-before)
			}
		})
	}
}

func TestPrefetchBoundsItsStockByTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Millisecond}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		use(t, c, 200_000, 60*time.Second)
		held := statsOf(a).Held
		if most := int64(13*200_000 + 2*defaultMaxCapacity); held > most || held < 10*200_000 {
			t.Errorf("at 200000/s: got %d held, want 2000000 to %d", held, most)
		}
	})
}

// Here a check takes time and a number takes none, as in a tight loop. The rate falls, so each check lowers the wanted stock by
// about ten numbers.
func TestPrefetchChecksAreAStepApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Millisecond}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		use(t, c, 100_000, 30*time.Second)
		const numbers = 5_000_000
		looks, mark := 0, int64(0)
		for range numbers {
			if _, err := c.NextNumber(t.Context()); err != nil {
				t.Fatal(err)
			}
			if now := c.cur.Load().mark.Load(); now != mark {
				looks, mark = looks+1, now
				<-time.After(100 * time.Microsecond)
			}
		}
		if looks > numbers/1000 {
			t.Errorf("got %d looks for %d numbers, want at most %d", looks, numbers, numbers/1000)
		}
	})
}

func TestNextShrinksTheRangesOfAnIdleWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Millisecond}
		a := newFakeAllocator(t, Options{MaxCapacity: 4096}, f)
		c := mustCollection(t, a, "orders")
		use(t, c, 1000, 30*time.Second)
		if size := f.requests[f.calls()-1].Capacity; size != 4096 {
			t.Fatalf("at 1000/s: got ranges of %d, want 4096", size)
		}
		for range 40_000 { // one a second
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Second)
		}
		if size := f.requests[f.calls()-1].Capacity; size > 64 {
			t.Errorf("at 1/s: got ranges of %d, want at most 64", size)
		}
		if held := statsOf(a).Held; held > 128 {
			t.Errorf("at 1/s: got %d held, want at most 128", held)
		}
	})
}

func TestNextEndsWithItsContextWhileTheRefillContinues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Second}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		start := time.Now()
		done := make(chan error)
		for i := 1; i <= 5; i++ {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Millisecond)
				defer cancel()
				_, err := c.Next(ctx)
				done <- err
			}()
		}
		for i := 1; i <= 5; i++ {
			err := <-done
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnavailable) {
				t.Errorf("caller %d: got %v, want context.DeadlineExceeded, ErrUnavailable", i, err)
			}
			if got := time.Since(start); got != time.Duration(i)*100*time.Millisecond {
				t.Errorf("caller %d: got the end after %v, want %v", i, got, time.Duration(i)*100*time.Millisecond)
			}
		}
		if id, err := c.Next(t.Context()); err != nil || id != "orders/1" || time.Since(start) != time.Second {
			t.Errorf("got %q, %v after %v, want <nil>, orders/1, %v", id, err, time.Since(start), time.Second)
		}
		if f.calls() != 1 {
			t.Errorf("got %d requests for one range, want 1", f.calls())
		}
	})
}

//nolint:paralleltest // it counts the goroutines of the process
func TestNextReportsAFailureToAllWaitersAndRetriesWithBackoff(t *testing.T) {
	before := runtime.NumGoroutine()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{hangs: true}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		const callers = 100
		stop := time.After(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan int)
		goroutines := 0
		for range callers {
			go func() {
				failed := 0
				for ctx.Err() == nil {
					if _, err := c.Next(ctx); !errors.Is(err, ErrUnavailable) {
						t.Errorf("away: got %v, want ErrUnavailable", err)
					}
					failed++
				}
				done <- failed
			}()
		}
		for minute := false; !minute; {
			select {
			case <-stop:
				minute = true
			case <-time.After(time.Second):
				goroutines = max(goroutines, runtime.NumGoroutine())
			}
		}
		cancel()
		for range callers {
			if failed := <-done; failed < 10 {
				t.Errorf("got %d failures of a caller in a minute, want at least 10", failed)
			}
		}
		if calls := f.calls(); calls < 10 || calls > 60 {
			t.Errorf("got %d attempts in a minute, want 10 to 60", calls)
		}
		if extra := goroutines - before - callers; extra > 10 {
			t.Errorf("got %d goroutines beside the callers, want at most 10", extra)
		}
	})
}

func TestNextResendsARequestWithoutReplyWithItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{hangs: true}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
		f.set(func() { f.hangs, f.refuses = false, scripts.ErrMixed })
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrMixed) {
			t.Fatal(err)
		}
		f.set(func() { f.refuses = nil })
		if _, err := c.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		one, two, three := f.requests[0], f.requests[1], f.requests[2]
		if one.Token != two.Token || one.Capacity != two.Capacity {
			t.Errorf("after no reply: got %+v, then %+v, want %v, %v", one, two, two.Token, two.Capacity)
		}
		if two.Token == three.Token {
			t.Errorf("got the token %q again after an answer, want another", three.Token)
		}
	})
}

func TestNextBacksOffAfterARefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{refuses: scripts.ErrExhausted}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		start := time.Now()
		for time.Since(start) < time.Minute {
			if _, err := c.Next(t.Context()); !errors.Is(err, ErrExhausted) {
				t.Fatal(err)
			}
		}
		if calls := f.calls(); calls > 150 {
			t.Errorf("got %d attempts in a minute, want at most 150", calls)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Next(ctx); !errors.Is(err, ErrExhausted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in the back-off: got %v, want ErrExhausted, context.DeadlineExceeded", err)
		}
		other := mustCollection(t, a, "users")
		f.set(func() { f.refuses = nil })
		now := time.Now()
		if _, err := other.Next(t.Context()); err != nil || time.Since(now) != 0 {
			t.Errorf("another collection: got %v after %v, want <nil>, 0", err, time.Since(now))
		}
	})
}

func TestTryNextNeverWaitsAndStartsARefill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Second}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		start := time.Now()
		if id, ok := c.TryNext(); ok || time.Since(start) != 0 {
			t.Errorf("at first: got %q after %v, want none at once", id, time.Since(start))
		}
		<-time.After(time.Second)
		synctest.Wait()
		for i := range 32 {
			if _, ok := c.TryNext(); !ok {
				t.Fatalf("got no number %d in hand, want one", i+1)
			}
		}
		f.set(func() { f.hangs = true })
		for range 1000 {
			if _, ok := c.TryNext(); !ok {
				break
			}
		}
		start = time.Now()
		if _, ok := c.TryNext(); ok || time.Since(start) != 0 {
			t.Errorf("while the server is down: got %v after %v, want false at once", ok, time.Since(start))
		}
	})
}

func TestNextFetchesNoRangeBeforeHalfOfOneIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		a := newFakeAllocator(t, Options{}, f)
		c := mustCollection(t, a, "orders")
		for range 15 {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if f.calls() != 1 {
			t.Errorf("got %d requests after half a range, want 1", f.calls())
		}
	})
}

func TestNextSendsItsMarks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{} // whose ceiling is 1000 above, with blocks of 7
		a := newFakeAllocator(t, Options{Runway: time.Nanosecond, MinCapacity: 60, MaxCapacity: 60}, f)
		c := mustCollection(t, a, "Orders")
		take := func(c *Collection) scripts.NextRequest {
			for calls := f.calls(); f.calls() == calls; {
				if _, err := c.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			return f.requests[len(f.requests)-1]
		}
		if r := take(c); r.Marks != (scripts.Marks{}) {
			t.Errorf("at first: got %+v, want none", r)
		}
		if r := take(mustCollection(t, a, "orders")); r.Floor != 60 || r.Ceiling != 1060 || r.Block != 7 || r.Epoch != 1_000_000 {
			t.Errorf("another spelling of the same: got %+v, want 60, 1060, 7, 1000000", r)
		}
		floor := f.max
		<-time.After(time.Hour)
		if r := take(c); r.Floor != floor || r.Age < 3600 || r.Age > 3601 {
			t.Errorf("an hour later: got floor %d, age %d, want %d, 3600", r.Floor, r.Age, floor)
		}
	})
}
