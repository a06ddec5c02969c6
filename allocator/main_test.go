package allocator

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func vectors[T any](t *testing.T, file string) []T {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Fatalf("%s: got no rows, want some", file)
	}
	return rows
}

// fakeServer is a backend for tests of time. It runs in a synctest bubble, where a connection would not.
type fakeServer struct {
	mu        sync.Mutex
	max       int64
	hangs     bool  // no reply until the attempt's time is over
	refuses   error // at once
	delay     time.Duration
	adds      string // server prefix
	origin    string
	home      bool // of identities
	described int  // descriptions that were requested
	requests  []scripts.NextRequest
	times     []time.Time
	returns   []scripts.ReturnRequest
}

var errHung = errors.New("i/o timeout")

func (f *fakeServer) Next(ctx context.Context, _ scripts.Keys, r scripts.NextRequest) (scripts.Range, error) {
	f.mu.Lock()
	f.requests = append(f.requests, r)
	f.times = append(f.times, time.Now())
	hangs, refuses, delay := f.hangs, f.refuses, f.delay
	f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return scripts.Range{}, errHung
	}
	if refuses != nil {
		return scripts.Range{}, refuses
	}
	<-time.After(delay)
	f.mu.Lock()
	defer f.mu.Unlock()
	low := f.max + 1
	f.max += r.Capacity
	return scripts.Range{Low: low, High: f.max, Epoch: 1_000_000, Ceiling: f.max + 1000, Block: 7, Prefix: f.adds, Origin: f.origin}, nil
}

func (f *fakeServer) Describe(ctx context.Context, _ string, _ fleet.How) (scripts.Description, error) {
	f.mu.Lock()
	hangs, refuses, desc := f.hangs, f.refuses, scripts.Description{Prefix: f.adds, Identities: f.home, Origin: f.origin}
	f.described++
	f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return scripts.Description{}, errHung
	}
	return desc, refuses
}

func (*fakeServer) Identity(context.Context, scripts.Keys, scripts.IdentityRequest) (scripts.Range, error) {
	return scripts.Range{}, errors.New("a fake server has no identities")
}

func (*fakeServer) RaiseNext(context.Context, scripts.Keys, scripts.NextRequest) (scripts.Raised, error) {
	return scripts.Raised{}, errors.New("a fake server is not durable")
}

func (*fakeServer) RaiseIdentity(context.Context, scripts.Keys, scripts.IdentityRequest) (scripts.Raised, error) {
	return scripts.Raised{}, errors.New("a fake server is not durable")
}

func (*fakeServer) Permit(_ context.Context, requests ...scripts.PermitRequest) []scripts.Permitted {
	return make([]scripts.Permitted, len(requests))
}

func (*fakeServer) Check(context.Context, scripts.Keys, scripts.NextRequest) error { return nil }

func (f *fakeServer) Return(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	if ctx.Err() != nil {
		return notTakenBack(ctx, requests)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.returns = append(f.returns, requests...)
	return make([]scripts.Returned, len(requests))
}

func notTakenBack(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	all := make([]scripts.Returned, len(requests))
	for i := range all {
		all[i].Err = ctx.Err()
	}
	return all
}

func (f *fakeServer) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// descriptions returns how often a description of the server was requested.
func (f *fakeServer) descriptions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.described
}

func (f *fakeServer) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// newFakeAllocator returns an allocator of fake servers and closes it with the test. Several servers are named north, south
// and east.
func newFakeAllocator(t *testing.T, opts Options, backends ...fleet.Backend) *Allocator {
	t.Helper()
	opts, err := opts.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	servers := make([]fleet.Config, len(backends))
	for i, b := range backends {
		servers[i] = fleet.Config{Backend: b, Namespace: opts.Namespace}
		if len(backends) > 1 {
			servers[i].Name = []string{"north", "south", "east", "west", "center"}[i]
		}
	}
	a := newAllocator(opts, servers...)
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a
}

// verifyAll compares the servers. The first Check records what they report, and the second verifies it.
func verifyAll(t *testing.T, a *Allocator) {
	t.Helper()
	for range 2 {
		if err := a.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func mustCollection(t *testing.T, a *Allocator, name string) *Collection {
	t.Helper()
	c, err := a.Collection(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// statsOf returns the statistics of "orders", or zeros if there are none.
func statsOf(a *Allocator) CollectionStats {
	all := a.Stats().Collections
	for i := range all {
		if all[i].Name == "orders" {
			return all[i]
		}
	}
	return CollectionStats{}
}
