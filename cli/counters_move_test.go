package cli

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// movingFleet is a set of workers that take numbers of "orders" from the server at their address. A proxy can redirect it to
// another server.
type movingFleet struct {
	t       *testing.T
	working sync.WaitGroup
	enough  chan struct{}

	mu    sync.Mutex
	given map[int64]int // how often each number was issued
}

func newMovingFleet(t *testing.T) *movingFleet {
	return &movingFleet{t: t, enough: make(chan struct{}), given: make(map[int64]int)}
}

// add starts 4 workers at an address. Each retries while there is no server, and stops with the fleet.
func (f *movingFleet) add(address string) {
	f.t.Helper()
	server, err := target.Parse("redis://" + address + "?max_retries=-1")
	if err != nil {
		f.t.Fatal(err)
	}
	for range 4 {
		client, closeClient, err := server.Open(time.Minute)
		if err != nil {
			f.t.Fatal(err)
		}
		a, err := allocator.New(client.Redis, allocator.Options{MaxCapacity: 64, RefillTimeout: time.Second})
		if err != nil {
			f.t.Fatal(err)
		}
		f.working.Go(func() {
			defer closeClient()
			defer func() { _ = a.Close(context.Background()) }()
			f.work(a)
		})
	}
}

func (f *movingFleet) work(a *allocator.Allocator) {
	for {
		select {
		case <-f.enough:
			return
		default:
		}
		n, err := a.NextNumber(context.Background(), "orders")
		switch {
		case errors.Is(err, allocator.ErrUnavailable):
			continue // the allocator waits, with a back-off
		case err != nil:
			f.t.Errorf("a worker: %v", err)
			return
		}
		f.mu.Lock()
		f.given[n]++
		f.mu.Unlock()
	}
}

// await waits until so many more numbers were issued.
func (f *movingFleet) await(more int) {
	f.t.Helper()
	deadline := time.After(60 * time.Second)
	for low := f.count(); f.count() < low+more; {
		select {
		case <-deadline:
			f.t.Fatalf("the fleet came to a halt: %d of %d numbers", f.count()-low, more)
		case <-time.After(time.Millisecond):
		}
	}
}

func (f *movingFleet) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.given)
}

// stop ends all workers and returns how many numbers were issued twice.
func (f *movingFleet) stop() (twice int) {
	close(f.enough)
	f.working.Wait()
	for _, times := range f.given {
		if times > 1 {
			twice++
		}
	}
	return twice
}

// TestMoveOfALiveFleetRepeatsNoNumber follows cli/README.md. The old server is disconnected, exported and imported, and the
// address leads to the new one. Active workers continue, and new ones start beside them.
func TestMoveOfALiveFleetRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, old *redistest.Server) {
		other := startAlike(t, old)
		proxy := redistest.NewProxy(t, old)
		f := newMovingFleet(t)
		f.add(proxy.Addr())
		f.await(20_000)
		if err := old.Client(t).ConfigSet(t.Context(), "min-replicas-to-write", "100").Err(); err != nil {
			t.Fatal(err)
		}
		lines := clitest.Must(t, "export", "--redis", old.URL())
		if r := clitest.HiloIn(t, lines, "import", "--redis", other.URL()); r.Code != exit.Done {
			t.Fatalf("%+v", r)
		}
		proxy.Redirect(other) // as a change of DNS or of a balancer does
		f.add(proxy.Addr())
		f.await(20_000)
		twice := f.stop()
		t.Logf("%d numbers", len(f.given))
		if twice > 0 {
			t.Errorf("%d of %d numbers were given twice", twice, len(f.given))
		}
		if again := clitest.Must(t, "export", "--redis", old.URL()); again != lines {
			t.Errorf("the old server took writes: %s, exported %s", again, lines)
		}
	})
}

// TestMoveWithAMarginRepeatsNoNumber moves from an old server that continues to issue ranges. The margin exceeds them.
func TestMoveWithAMarginRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, old *redistest.Server) {
		if twice := moveLate(t, old, "1000000000"); twice > 0 {
			t.Errorf("%d numbers were given twice", twice)
		}
	})
}

// TestMoveWithAnOldExportRepeatsNumbers shows that the tests above can fail.
func TestMoveWithAnOldExportRepeatsNumbers(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, old *redistest.Server) {
		if twice := moveLate(t, old, "0"); twice == 0 {
			t.Error("what was given after the export was not given again")
		}
	})
}

// moveLate moves a fleet that still uses the old server after the export, and returns how many numbers were issued twice.
func moveLate(t *testing.T, old *redistest.Server, margin string) (twice int) {
	t.Helper()
	other := startAlike(t, old)
	f := newMovingFleet(t)
	f.add(old.HostPort())
	f.await(5000)
	lines := clitest.Must(t, "export", "--redis", old.URL())
	f.await(20_000)
	if r := clitest.HiloIn(t, lines, "import", "--margin", margin, "--redis", other.URL()); r.Code != exit.Done {
		t.Fatalf("%+v", r)
	}
	f.add(other.HostPort()) // running workers keep their connections, new ones use the new server
	f.await(20_000)
	return f.stop()
}

// startAlike starts another server of the same kind and version.
func startAlike(t *testing.T, s *redistest.Server) *redistest.Server {
	t.Helper()
	for _, b := range redistest.Binaries(t) {
		if b.Name == s.Name() {
			return redistest.Start(t, b)
		}
	}
	t.Fatalf("there is no %s", s.Name())
	return nil
}

// No identity has the name of a collection whose numbers were issued bare, even if the new server already has a prefix.
func TestMoveKeepsTheKindOfBareNames(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		old := start()
		clitest.Must(t, "next", "orders", "--count", "50", "--redis", old.URL())
		lines := clitest.Must(t, "export", "--redis", old.URL())
		if !strings.Contains(lines, `"bare":true`) || !strings.Contains(lines, `"collection":"orders","max":50,"ranges":1,`) {
			t.Errorf("%s", lines)
		}
		for name, lines := range map[string]string{"as it is": lines, "of an earlier version": strings.Replace(lines, `,"bare":true`, "", 1)} {
			next := start()
			clitest.Must(t, "settings", "set", "North/", "--identities", "--redis", next.URL())
			if r := clitest.HiloIn(t, lines, "import", "--prefix", "keep", "--redis", next.URL()); r.Code != exit.Done {
				t.Fatalf("%s: %+v", name, r)
			}
			clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "identity", "next", "orders", "--redis", next.URL()), "collection and identity mixed")
			if got := clitest.Must(t, "next", "orders", "--redis", next.URL()); got != "orders/North/51\n" {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
}

func TestImportMakesOnlyAnEmptyServerTheHomeOfIdentities(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, before string // commands
		flags        string
		home         bool
	}{
		{"empty", "", "", true},
		{"empty but for the same prefix", "settings set NorthServer/ --tag A", "", true},
		{"in use, with the same prefix", "settings set NorthServer/ --tag A;next orders", "", false},
		{"in use, with the same prefix, and told to", "settings set NorthServer/ --tag A;next orders", "--prefix take", true},
		{"with another prefix that it keeps", "settings set SouthServer/;next orders", "--prefix keep", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				for command := range strings.SplitSeq(test.before, ";") {
					if command != "" {
						clitest.Must(t, append(strings.Fields(command), "--redis", s.URL())...)
					}
				}
				args := append([]string{"import", "--redis", s.URL()}, strings.Fields(test.flags)...)
				if r := clitest.HiloIn(t, clitest.Furnished, args...); r.Code != exit.Done {
					t.Fatalf("%+v", r)
				}
				got := clitest.Must(t, "settings", "get", "--redis", s.URL())
				if strings.Contains(got, "identities:    here\n") != test.home {
					t.Errorf("%s", got)
				}
			})
		})
	}
}
