package allocator

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// useUp takes identifiers until none are left.
func useUp(t *testing.T, a *Allocator) {
	t.Helper()
	for range 100_000 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := a.Next(ctx, "orders")
		cancel()
		if err != nil {
			return
		}
	}
	t.Fatal("got 100,000 identifiers, want an error")
}

// An outage that outlasts the numbers in hand ends without a call. A probe finds the server up and starts the refill that the
// last call requested.
func TestReadyRecoversWithoutCalls(t *testing.T) {
	t.Parallel()
	for name, servers := range map[string]int{"one server": 1, "two servers": 2} {
		for down, set := range map[string]func(f *fakeServer, down bool){
			"refuses": func(f *fakeServer, down bool) {
				f.refuses = nil
				if down {
					f.refuses = errHung
				}
			},
			"hangs": func(f *fakeServer, down bool) { f.hangs = down },
		} {
			t.Run(name+", "+down, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					fakes := []*fakeServer{{adds: "N/", origin: "n"}, {adds: "S/", origin: "s"}}[:servers]
					var backends []fleet.Backend
					for _, f := range fakes {
						backends = append(backends, f)
					}
					a := newFakeAllocator(t, Options{}, backends...)
					if _, err := a.Next(t.Context(), "orders"); err != nil {
						t.Fatal(err)
					}
					for _, f := range fakes {
						f.set(func() { set(f, true) })
					}
					useUp(t, a)
					<-time.After(5 * time.Second)
					if a.Stats().Ready() {
						t.Error("got ready, want not ready")
					}
					before := fakes[0].descriptions() + fakes[0].calls()
					<-time.After(time.Minute)
					if n := fakes[0].descriptions() + fakes[0].calls() - before; n < 4 || n > 30 {
						t.Errorf("got %d attempts in a minute, want 4 to 30", n)
					}
					for _, f := range fakes {
						f.set(func() { set(f, false) })
					}
					<-time.After(15 * time.Second)
					if s := a.Stats(); !s.Ready() || !s.Servers[0].Up || s.Collections[0].Held == 0 {
						t.Errorf("got ready %v, server up %v, %d in hand; want all of it", s.Ready(), s.Servers[0].Up, s.Collections[0].Held)
					}
					asked, calls := fakes[0].descriptions(), fakes[0].calls()
					if servers == 1 {
						<-time.After(time.Hour)
						if n := fakes[0].descriptions() - asked; n < 300 || n > 420 || fakes[0].calls() != calls {
							t.Errorf("got %d checks and %d requests in an hour without calls, want about 360 and none", n, fakes[0].calls()-calls)
						}
					}
				})
			})
		}
	}
}

func TestReadyAfterAStartWhileTheServerIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{refuses: errHung}
		a := newFakeAllocator(t, Options{}, f)
		if err := a.Warm(t.Context(), "orders"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		f.set(func() { f.refuses = nil })
		<-time.After(15 * time.Second)
		if s := a.Stats(); !s.Ready() || s.Collections[0].Held == 0 {
			t.Errorf("got ready %v, %d in hand, want ready, and the range that Warm requested", s.Ready(), s.Collections[0].Held)
		}
	})
}

func TestCloseEndsTheProbesOfServersThatAreDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		north, south := &fakeServer{adds: "N/", origin: "n", refuses: errHung}, &fakeServer{adds: "S/", origin: "s"}
		a := newFakeAllocator(t, Options{}, north, south)
		if _, err := a.Next(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		before := north.descriptions() + south.descriptions()
		<-time.After(time.Hour)
		if n := north.descriptions() + south.descriptions() - before; n != 0 {
			t.Errorf("got %d probes after Close, want none", n)
		}
	})
}

// replyError is an error reply of Redis.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

// A server that replies to a health check but refuses writes is down.
func TestReadyAfterAnErrorReplyRequiresASuccessfulRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &readOnly{replica: true}
		a := newFakeAllocator(t, Options{}, f)
		if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		<-time.After(time.Minute)
		if a.Stats().Servers[0].Up {
			t.Error("got up, want down")
		}
		f.set(func() { f.replica = false })
		<-time.After(15 * time.Second)
		if !a.Stats().Ready() {
			t.Error("got not ready, want ready")
		}
	})
}

type readOnly struct {
	fakeServer
	replica bool
}

func (r *readOnly) Next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error) {
	r.mu.Lock()
	replica := r.replica
	r.mu.Unlock()
	if replica {
		return scripts.Range{}, replyError("READONLY You can't write against a read only replica.")
	}
	return r.fakeServer.Next(ctx, keys, request)
}

func TestNextIdentityOpensFewConnectionsDuringAnOutage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		opts := redistest.Options(s)
		dials := redistest.CountDials(opts)
		client := redis.NewClient(opts)
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{})
		if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		const seconds = 3
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		defer cancel()
		dials.Store(0)
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for ctx.Err() == nil {
					_, _ = a.NextIdentity(ctx, "companies")
				}
			})
		}
		callers.Wait()
		if n := dials.Load(); n > 20*seconds {
			t.Errorf("got %d connections in %d s of 8 callers that retry at once, want at most 20 a second", n, seconds)
		}
	})
}
