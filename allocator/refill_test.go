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

func TestAnOutageOfTheRunwayIsRiddenOut(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{100, 1000, 50_000, 200_000} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeServer{delay: 5 * time.Millisecond}
			a := withFake(t, f, Options{})
			c := mustCollection(t, a, "orders")
			use(t, c, rate, 90*time.Second)
			before := statsOf(a).Waits
			f.set(func() { f.hangs = true })
			use(t, c, rate, 10*time.Second)
			f.set(func() { f.hangs = false })
			use(t, c, rate, 5*time.Second)
			if after := statsOf(a).Waits; after != before {
				t.Errorf("at %d/s %d calls waited", rate, after-before)
			}
		})
	}
}

func TestWhatIsHeldIsBoundedByTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Millisecond}
		a := withFake(t, f, Options{})
		c := mustCollection(t, a, "orders")
		use(t, c, 200_000, 60*time.Second)
		held := statsOf(a).Held
		if most := int64(13*200_000 + 2*defaultMaxCapacity); held > most || held < 10*200_000 {
			t.Errorf("%d held at 200000/s, want 2000000 to %d", held, most)
		}
	})
}

// A look takes time here and a number takes none, as in a tight loop: each look
// lowers what is wanted by ten numbers or so, for the rate falls.
func TestLooksAheadAreAStepApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Millisecond}
		a := withFake(t, f, Options{})
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
			t.Errorf("%d looks for %d numbers", looks, numbers)
		}
	})
}

func TestTheRangesOfAnIdleWorkerShrinkAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Millisecond}
		a := withFake(t, f, Options{MaxCapacity: 4096})
		c := mustCollection(t, a, "orders")
		use(t, c, 1000, 30*time.Second)
		if size := f.requests[f.calls()-1].Capacity; size != 4096 {
			t.Fatalf("ranges of %d at 1000/s", size)
		}
		for range 40_000 { // one a second
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Second)
		}
		if size := f.requests[f.calls()-1].Capacity; size > 64 {
			t.Errorf("ranges of %d at 1/s", size)
		}
		if held := statsOf(a).Held; held > 128 {
			t.Errorf("%d held at 1/s", held)
		}
	})
}

func TestCallersLeaveAtTheirOwnTimeAndTheRefillGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Second}
		a := withFake(t, f, Options{})
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
				t.Errorf("caller %d: %v", i, err)
			}
			if got := time.Since(start); got != time.Duration(i)*100*time.Millisecond {
				t.Errorf("caller %d left after %v", i, got)
			}
		}
		if id, err := c.Next(t.Context()); err != nil || id != "orders/1" || time.Since(start) != time.Second {
			t.Errorf("%q, %v after %v", id, err, time.Since(start))
		}
		if f.calls() != 1 {
			t.Errorf("%d requests for one range", f.calls())
		}
	})
}

//nolint:paralleltest // it counts the goroutines of the process
func TestAFailureIsReportedToAllThatWaitAndRetriedWithBackoff(t *testing.T) {
	before := runtime.NumGoroutine()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{hangs: true}
		a := withFake(t, f, Options{})
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
						t.Errorf("away: %v", err)
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
				t.Errorf("a caller saw %d failures in a minute", failed)
			}
		}
		if calls := f.calls(); calls < 10 || calls > 60 {
			t.Errorf("%d attempts in a minute", calls)
		}
		if extra := goroutines - before - callers; extra > 10 {
			t.Errorf("%d goroutines beside the callers", extra)
		}
	})
}

func TestALostReplyIsAskedForAgainWithTheSameToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{hangs: true}
		a := withFake(t, f, Options{})
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
			t.Errorf("after no reply: %+v, then %+v", one, two)
		}
		if two.Token == three.Token {
			t.Error("after an answer the token was used again")
		}
	})
}

func TestABackoffHoldsForARefusalToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{refuses: scripts.ErrExhausted}
		a := withFake(t, f, Options{})
		c := mustCollection(t, a, "orders")
		start := time.Now()
		for time.Since(start) < time.Minute {
			if _, err := c.Next(t.Context()); !errors.Is(err, ErrExhausted) {
				t.Fatal(err)
			}
		}
		if calls := f.calls(); calls > 150 {
			t.Errorf("%d attempts in a minute", calls)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Next(ctx); !errors.Is(err, ErrExhausted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in the back-off: %v", err)
		}
		other := mustCollection(t, a, "users")
		f.set(func() { f.refuses = nil })
		now := time.Now()
		if _, err := other.Next(t.Context()); err != nil || time.Since(now) != 0 {
			t.Errorf("another collection: %v after %v", err, time.Since(now))
		}
	})
}

func TestTryNextNeverWaitsAndHasARangeFetched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Second}
		a := withFake(t, f, Options{})
		c := mustCollection(t, a, "orders")
		start := time.Now()
		if id, ok := c.TryNext(); ok || time.Since(start) != 0 {
			t.Errorf("at first: %q after %v", id, time.Since(start))
		}
		<-time.After(time.Second)
		synctest.Wait()
		for i := range 32 {
			if _, ok := c.TryNext(); !ok {
				t.Fatalf("number %d is not in hand", i+1)
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
			t.Errorf("away: %v after %v", ok, time.Since(start))
		}
	})
}

func TestThePlainUserOfARangeFetchesNothingEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		a := withFake(t, f, Options{})
		c := mustCollection(t, a, "orders")
		for range 15 {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if f.calls() != 1 {
			t.Errorf("%d requests after half a range", f.calls())
		}
	})
}

func TestEachRequestKnowsTheFloorAndTheLeastGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{} // its tallies: the capacity, in 60 s
		a := withFake(t, f, Options{Runway: time.Nanosecond, MinCapacity: 60, MaxCapacity: 60})
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
		if r := take(c); r.Floor != 0 || r.LeastGap != 0 {
			t.Errorf("at first: %+v", r)
		}
		if r := take(mustCollection(t, a, "orders")); r.Floor != 60 || r.LeastGap != 120 {
			t.Errorf("another spelling of the same: %+v", r)
		}
		floor := f.max
		<-time.After(time.Hour)
		if r := take(c); r.Floor != floor || r.LeastGap != 2*3600 {
			t.Errorf("an hour later: floor %d, least gap %d, want %d, 7200", r.Floor, r.LeastGap, floor)
		}
	})
}
