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

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func (f *fakeServer) nextAll(ctx context.Context, keys []scripts.Keys, requests []scripts.NextRequest) ([]scripts.Range, []error) {
	f.set(func() { f.pipelines++ })
	all, errs := make([]scripts.Range, len(requests)), make([]error, len(requests))
	for i, r := range requests {
		all[i], errs[i] = f.next(ctx, keys[i], r)
	}
	return all, errs
}

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return names
}

func TestWarmHasARangeOfEachInHand(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		trips := &tripCounter{}
		client.AddHook(trips)
		opts := Options{RefillTimeout: time.Minute}
		client.Options().ContextTimeoutEnabled = true // so that the hook is not left out
		a := mustNew(t, client, opts)
		names := manyNames(1000)
		if err := client.Ping(t.Context()).Err(); err != nil { // it is connected
			t.Fatal(err)
		}
		trips.n.Store(0)
		if err := a.Warm(t.Context(), names...); err != nil {
			t.Fatal(err)
		}
		if n := trips.n.Load(); n > 4 {
			t.Errorf("%d round trips for 1,000 collections", n)
		}
		names = append(names, "C7", "c7", "Spelling", "SPELLING")
		if err := a.Warm(t.Context(), names[1000:]...); err != nil {
			t.Fatal(err)
		}
		trips.n.Store(0)
		if err := a.Warm(t.Context(), names...); err != nil || trips.n.Load() != 0 {
			t.Errorf("again: %v, %d round trips", err, trips.n.Load())
		}
		numbers := map[string]bool{}
		for _, name := range names {
			c := mustCollection(t, a, name)
			id, ok := c.TryNext()
			if !ok || numbers[strings.ToLower(id)] {
				t.Fatalf("%s: %q, %v", name, id, ok)
			}
			numbers[strings.ToLower(id)] = true
		}
		if trips.n.Load() != 0 {
			t.Errorf("a first identifier took a round trip")
		}
		mustClose(t, a)
		if max := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/c8", "Max").Val(); max != "1" {
			t.Errorf("after Close Max is %s", max)
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

func TestWarmNamesTheCollectionsThatHaveNoRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		s.Client(t).HSet(t.Context(), "{Raven}/HiLo/c3", "Max", "x")
		a := mustNew(t, s.Client(t), Options{RefillTimeout: time.Minute})
		err := a.Warm(t.Context(), append(manyNames(5), "a/b")...)
		if !errors.Is(err, ErrCorrupt) || !errors.Is(err, ErrInvalidName) || !strings.Contains(err.Error(), "c3") || strings.Contains(err.Error(), "c4") {
			t.Errorf("%v", err)
		}
		if _, ok := mustCollection(t, a, "c4").TryNext(); !ok {
			t.Error("the others have none either")
		}
		mustClose(t, a)
		if err := a.Warm(t.Context(), "new", "c1"); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestWarmGoesOnAtTheNextMaster(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		north.Kill()
		if err := a.Warm(t.Context(), manyNames(100)...); err != nil {
			t.Fatal(err)
		}
		if id, ok := mustCollection(t, a, "c99").TryNext(); !ok || id != "c99/SouthServer/1" {
			t.Errorf("%q, %v", id, ok)
		}
	})
}

func TestACallerWhoLeavesWarmHarmsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{delay: time.Second}
		a := withFake(t, f, Options{RefillTimeout: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := a.Warm(ctx, manyNames(3)...); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
		if id, err := a.Next(t.Context(), "c0"); err != nil || f.pipelines != 1 || f.calls() != 3 {
			t.Errorf("%s, %v, %d pipelines, %d requests", id, err, f.pipelines, f.calls())
		}
	})
}

// The first ranges are compared with what the other master says, which hangs: that is not the fault of the one that gave
// them.
func TestWarmKeepsItsRangesWhileAnotherMasterHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _, south := fakeMasters(t)
		south.hangs = true
		if err := a.Warm(t.Context(), manyNames(50)...); err != nil {
			t.Error(err)
		}
		for _, c := range a.Stats().Collections {
			if c.Burnt != 0 || c.Failures != 0 || c.Ranges != 1 {
				t.Errorf("%+v", c)
			}
		}
		if s := a.Stats().Servers[0]; !s.Up || s.Failures != 0 {
			t.Errorf("north: %+v", s)
		}
	})
}

// What the first range of many shows, that the server clashes, is not asked again for each: a third master hangs.
func TestWarmAsksOnceWhetherAServerClashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts, err := Options{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		var all []*server
		fakes := map[string]*fakeServer{}
		for _, name := range []string{"north", "south", "east"} {
			fakes[name] = &fakeServer{adds: name + "/", origin: name}
			all = append(all, &server{name: name, backend: fakes[name], namespace: "Raven", longest: longestBackoffOfMany})
		}
		a := newAllocator(opts, all...)
		t.Cleanup(func() { _ = a.Close(context.Background()) })
		if _, err := a.Next(t.Context(), "orders"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // all were asked
		fakes["east"].set(func() { fakes["east"].hangs = true })
		fakes["north"].set(func() { fakes["north"].adds = "south/" })
		start := time.Now()
		if err := a.Warm(t.Context(), manyNames(300)...); err != nil || time.Since(start) > 3*opts.RefillTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
