package allocator

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextIdentityCombinesConcurrentCalls(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const callers, each, least = 64, 200, 8
		a := patient(t, s)
		contexts := []context.Context{t.Context(), context.WithoutCancel(t.Context())}
		numbers := runConcurrently(t, callers, each, func(i int) (int64, error) { return a.NextIdentity(contexts[i%2], "companies") })
		slices.Sort(numbers)
		wantFromOneOn(t, numbers)
		if n := identityRequests(a); n > callers*each/least {
			t.Errorf("got %d requests for %d values, want at most %d", n, callers*each, callers*each/least)
		} else {
			t.Logf("%.1f values a request", float64(callers*each)/float64(n))
		}
	})
}

// slowIdentities takes a second for each request, and issues no value above the limit.
type slowIdentities struct {
	fakeIdentities
	counts []int64 // of the requests
}

func (f *slowIdentities) Identity(ctx context.Context, keys scripts.Keys, r scripts.IdentityRequest) (scripts.Range, error) {
	f.set(func() { f.counts = append(f.counts, r.Count) })
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return scripts.Range{}, ctx.Err()
	}
	f.mu.Lock()
	stands := f.value
	f.mu.Unlock()
	if stands+r.Count > r.Limit {
		return scripts.Range{}, scripts.ErrExhausted
	}
	return f.fakeIdentities.Identity(ctx, keys, r)
}

// inLine runs a test in a bubble, where callers join one after the other while the first request is in flight.
func inLine(t *testing.T, limit int64, test func(t *testing.T, a *Allocator, f *slowIdentities)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := new(slowIdentities)
		a := newFakeAllocator(t, Options{Limit: limit}, f)
		defer func() { _ = a.Close(context.Background()) }()
		test(t, a, f)
	})
}

// outcome is the result of one caller.
type outcome struct {
	Range
	err error
}

// join requests values for another caller, and returns the channel of its result once it waits.
func join(ctx context.Context, a *Allocator, n int64) <-chan outcome {
	got := make(chan outcome, 1)
	go func() {
		r, err := a.NextIdentities(ctx, "companies", n)
		got <- outcome{r, err}
	}()
	synctest.Wait()
	return got
}

func TestNextIdentitiesServesOthersWhenACallerCancels(t *testing.T) {
	t.Parallel()
	inLine(t, 0, func(t *testing.T, a *Allocator, f *slowIdentities) {
		leaves, leave := context.WithCancel(t.Context())
		first := join(leaves, a, 1) // its request is in flight when it is canceled
		var stay, left []<-chan outcome
		for range 10 {
			left = append(left, join(leaves, a, 5))
			stay = append(stay, join(t.Context(), a, 1))
		}
		start := time.Now()
		leave()
		for _, got := range append(left, first) {
			if o := <-got; !errors.Is(o.err, context.Canceled) || time.Since(start) > 0 {
				t.Errorf("got %+v after %v, want the end of ctx at once", o, time.Since(start))
			}
		}
		for i, got := range stay {
			if o := <-got; o.err != nil || o.Low != int64(i+2) || o.High != o.Low { // 1 was issued to the first
				t.Errorf("caller %d: got %+v, want <nil>, %v, %v", i, o, int64(i+2), o.Low)
			}
		}
		if !slices.Equal(f.counts, []int64{1, 10}) || time.Since(start) != 2*time.Second {
			t.Errorf("got requests for %d in %v, want %v in %v", f.counts, time.Since(start), []int64{1, 10}, 2*time.Second)
		}
	})
}

// A caller that cannot be canceled sends its own request only. Another goroutine serves the callers that arrive meanwhile.
func TestNextIdentitiesReturnsToTheFirstCallerAfterItsOwnRequest(t *testing.T) {
	t.Parallel()
	inLine(t, 0, func(t *testing.T, a *Allocator, f *slowIdentities) {
		start := time.Now()
		first := join(context.WithoutCancel(t.Context()), a, 1)
		var behind []<-chan outcome
		for range 10 {
			behind = append(behind, join(context.WithoutCancel(t.Context()), a, 1))
		}
		if o := <-first; o.err != nil || o.Low != 1 || time.Since(start) != time.Second {
			t.Errorf("the first: got %+v after %v, want <nil>, 1, %v", o, time.Since(start), time.Second)
		}
		for i, got := range behind {
			if o := <-got; o.err != nil || o.Low != int64(i+2) {
				t.Errorf("caller %d: got %+v, want <nil>, %v", i, o, int64(i+2))
			}
		}
		if !slices.Equal(f.counts, []int64{1, 10}) {
			t.Errorf("got requests for %d, want %v", f.counts, []int64{1, 10})
		}
	})
}

func TestNextIdentitiesNearTheLimitServesCallersThatFit(t *testing.T) {
	t.Parallel()
	inLine(t, 10, func(t *testing.T, a *Allocator, f *slowIdentities) {
		wanted := []int64{1, 6, 5, 2, 1, 1, 1}
		want := []Range{{1, 1}, {2, 7}, {}, {8, 9}, {10, 10}, {}, {}}
		var all []<-chan outcome
		for _, n := range wanted {
			all = append(all, join(t.Context(), a, n))
		}
		for i, got := range all {
			o := <-got
			if o.Range != want[i] || (want[i].Low == 0) != errors.Is(o.err, ErrExhausted) {
				t.Errorf("caller %d, who requests %d: got %+v, want %v", i, wanted[i], o, want[i])
			}
		}
		if f.value != 10 {
			t.Errorf("got the value %d, want 10", f.value)
		}
	})
}

func TestCloseWaitsForTheIdentityRequestInFlight(t *testing.T) {
	t.Parallel()
	t.Run("callers who may leave", func(t *testing.T) {
		t.Parallel()
		closeInLine(t, func(ctx context.Context) context.Context { return ctx })
	})
	t.Run("callers who cannot", func(t *testing.T) {
		t.Parallel()
		closeInLine(t, context.WithoutCancel)
	})
}

func closeInLine(t *testing.T, of func(context.Context) context.Context) {
	t.Helper()
	inLine(t, 0, func(t *testing.T, a *Allocator, f *slowIdentities) {
		first := join(of(t.Context()), a, 1)
		var waiting []<-chan outcome
		for range 10 {
			waiting = append(waiting, join(of(t.Context()), a, 1))
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if o := <-first; o.err != nil || o.Low != 1 {
			t.Errorf("the one under way: got %+v, want <nil>, 1", o)
		}
		for _, got := range waiting {
			if o := <-got; !errors.Is(o.err, ErrClosed) {
				t.Errorf("one that waited: got %+v, want ErrClosed", o)
			}
		}
		if f.value != 1 {
			t.Errorf("got %d values issued, want 1", f.value)
		}
	})
	inLine(t, 0, func(t *testing.T, a *Allocator, _ *slowIdentities) { // out of time
		first, second := join(of(t.Context()), a, 1), join(of(t.Context()), a, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		_ = a.Close(ctx)
		for _, got := range []<-chan outcome{first, second} {
			if o := <-got; !errors.Is(o.err, ErrClosed) || time.Since(start) > time.Millisecond {
				t.Errorf("got %+v after %v, want ErrClosed within 1ms", o, time.Since(start))
			}
		}
	})
}

// This is the same on servers, with callers that arrive at any time.
func TestCloseLosesNoIdentity(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := patient(t, s)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var numbers []int64
		for range 64 {
			wg.Go(func() {
				for {
					n, err := a.NextIdentity(t.Context(), "companies")
					if errors.Is(err, ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					numbers = append(numbers, n)
					mu.Unlock()
				}
			})
		}
		for identityRequests(a) < 20 {
			<-time.After(time.Millisecond)
		}
		mustClose(t, a)
		wg.Wait()
		slices.Sort(numbers)
		wantFromOneOn(t, numbers)
		if stands, err := s.Client(t).HGet(t.Context(), "{Raven}/Identities/companies", "Value").Int64(); stands != int64(len(numbers)) || err != nil {
			t.Errorf("got the value %d, %v, want %d, the number of values issued", stands, err, len(numbers))
		}
	})
}

// panicsOnce panics in its first request once release is closed, as a hook of a client may.
type panicsOnce struct {
	fakeIdentities
	once    sync.Once
	release chan struct{}
}

func (f *panicsOnce) Identity(ctx context.Context, keys scripts.Keys, r scripts.IdentityRequest) (scripts.Range, error) {
	f.once.Do(func() {
		<-f.release
		panic("a hook of the client")
	})
	return f.fakeIdentities.Identity(ctx, keys, r)
}

// Such as by net/http, the panic is recovered.
func TestNextIdentityServesOtherCallersAfterAPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := &panicsOnce{release: make(chan struct{})}
		a := newFakeAllocator(t, Options{}, backend)
		recovered := make(chan any, 1)
		go func() {
			defer func() { recovered <- recover() }()
			_, _ = a.NextIdentity(context.WithoutCancel(t.Context()), "companies")
		}()
		synctest.Wait()
		second := join(context.WithoutCancel(t.Context()), a, 1)
		close(backend.release)
		if got := <-recovered; got == nil {
			t.Fatal("the first request did not panic")
		}
		if got := <-second; got.err != nil || got.Low != 1 {
			t.Errorf("the caller that waited got %+v, %v, want 1", got.Range, got.err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
