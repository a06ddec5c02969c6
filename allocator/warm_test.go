package allocator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return names
}

func TestWarmFetchesARangeOfEachCollection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		trips := &tripCounter{}
		client.AddHook(trips)
		opts := Options{RefillTimeout: time.Minute}
		client.Options().ContextTimeoutEnabled = true // so that the hook is not left out
		a := mustNew(t, client, opts)
		names := manyNames(1000)
		if err := a.Warm(t.Context(), names...); err != nil {
			t.Fatal(err)
		}
		names = append(names, "C7", "c7", "Spelling", "SPELLING")
		if err := a.Warm(t.Context(), names[1000:]...); err != nil {
			t.Fatal(err)
		}
		trips.n.Store(0)
		if err := a.Warm(t.Context(), names...); err != nil || trips.n.Load() != 0 {
			t.Errorf("again: got %v, %d round trips, want <nil>, 0", err, trips.n.Load())
		}
		numbers := map[string]bool{}
		for _, name := range names {
			c := mustCollection(t, a, name)
			id, ok := c.TryNext()
			if !ok || numbers[strings.ToLower(id)] {
				t.Fatalf("%s: got %q, %v, want a number in hand, each once", name, id, ok)
			}
			numbers[strings.ToLower(id)] = true
		}
		if trips.n.Load() != 0 {
			t.Errorf("got a round trip of a first identifier, want none")
		}
		mustClose(t, a)
		if max := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/c8", "Max").Val(); max != "1" {
			t.Errorf("after Close: got Max %s, want 1", max)
		}
	})
}

// tripCounter counts scripts and pipelines of them.
type tripCounter struct{ n atomic.Int64 }

func (c *tripCounter) count(first redis.Cmder) {
	if strings.HasPrefix(first.Name(), "eval") { // and not what a new connection begins with
		c.n.Add(1)
	}
}

func (*tripCounter) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *tripCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}
func (c *tripCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count(cmds[0])
		return next(ctx, cmds)
	}
}

// heldServer counts the requests that wait for resume.
type heldServer struct {
	fakeServer
	held   atomic.Int64
	resume chan struct{}
}

func (h *heldServer) Next(ctx context.Context, keys scripts.Keys, r scripts.NextRequest) (scripts.Range, error) {
	h.held.Add(1)
	<-h.resume
	return h.fakeServer.Next(ctx, keys, r)
}

func TestWarmBoundsTheRequestsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &heldServer{resume: make(chan struct{})}
		a := newFakeAllocator(t, Options{}, h)
		done := make(chan error)
		go func() { done <- a.Warm(t.Context(), manyNames(1000)...) }()
		synctest.Wait()
		if got := h.held.Load(); got != maxRefills {
			t.Errorf("got %d requests in flight, want %d", got, maxRefills)
		}
		close(h.resume)
		if err := <-done; err != nil || h.held.Load() != 1000 {
			t.Errorf("got %v, %d requests, want <nil>, 1000", err, h.held.Load())
		}
	})
}

func TestWarmNamesTheCollectionsWithoutARange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		s.Client(t).HSet(t.Context(), "{Raven}/HiLo/c3", "Max", "x")
		a := mustNew(t, redistest.NewClient(t, s), Options{RefillTimeout: time.Minute})
		err := a.Warm(t.Context(), append(manyNames(5), "a/b")...)
		if !errors.Is(err, ErrCorrupt) || !errors.Is(err, ErrInvalidName) || !strings.Contains(err.Error(), "c3") || strings.Contains(err.Error(), "c4") {
			t.Errorf("got %v, want ErrCorrupt for c3 and ErrInvalidName", err)
		}
		if _, ok := mustCollection(t, a, "c4").TryNext(); !ok {
			t.Error("c4: got no number in hand, want one")
		}
		mustClose(t, a)
		if err := a.Warm(t.Context(), "new", "c1"); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: got %v, want ErrClosed", err)
		}
	})
}

func TestWarmContinuesAtTheNextServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{RefillTimeout: time.Minute}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		north.Kill()
		if err := a.Warm(t.Context(), manyNames(100)...); err != nil {
			t.Fatal(err)
		}
		if id, ok := mustCollection(t, a, "c99").TryNext(); !ok || id != "c99/SouthServer/1" {
			t.Errorf("got %q, %v, want c99/SouthServer/1", id, ok)
		}
	})
}

func TestWarmContinuesAfterItsCallerCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Second}
		a := newFakeAllocator(t, Options{RefillTimeout: time.Minute}, f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := a.Warm(ctx, manyNames(3)...); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want context.DeadlineExceeded, ErrUnavailable", err)
		}
		if id, err := a.Next(t.Context(), "c0"); err != nil || f.calls() != 3 {
			t.Errorf("got %s, %v after %d requests, want an identifier after 3", id, err, f.calls())
		}
	})
}

// The first ranges wait for the comparison with the other server, which hangs. That is no failure of the issuing server.
func TestWarmKeepsItsRangesWhileAnotherServerHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _, south := fakeMasters(t)
		south.hangs = true
		if err := a.Warm(t.Context(), manyNames(50)...); err != nil {
			t.Error(err)
		}
		for _, c := range a.Stats().Collections {
			if c.Burnt != 0 || c.Failures != 0 || c.Ranges != 1 {
				t.Errorf("got %+v, want 0, 0, 1", c)
			}
		}
		if s := a.Stats().Servers[0]; !s.Up || s.Failures != 0 {
			t.Errorf("north: got %+v, want it up without failures", s)
		}
	})
}

// The first range of many shows that the server conflicts. The others do not repeat the comparison, in which a third server
// hangs.
func TestWarmComparesAConflictingServerOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []fleet.Backend
		fakes := map[string]*fakeServer{}
		for _, name := range []string{"north", "south", "east"} {
			fakes[name] = &fakeServer{adds: name + "/", origin: name}
			all = append(all, fakes[name])
		}
		a := newFakeAllocator(t, Options{}, all...)
		if _, err := a.Next(t.Context(), "orders"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // all were contacted
		fakes["east"].set(func() { fakes["east"].hangs = true })
		fakes["north"].set(func() { fakes["north"].adds = "south/" })
		start := time.Now()
		if err := a.Warm(t.Context(), manyNames(300)...); err != nil || time.Since(start) > 3*defaultRefillTimeout {
			t.Errorf("got %v after %v, want <nil> within %v", err, time.Since(start), 3*defaultRefillTimeout)
		}
	})
}
