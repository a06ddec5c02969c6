package allocator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestCheckReturnsTheRefusalOfAnyWrite breaks a server, and compares Check with the first call.
func TestCheckReturnsTheRefusalOfAnyWrite(t *testing.T) {
	t.Parallel()
	set := func(t *testing.T, client redistest.Client, args ...any) {
		t.Helper()
		if err := client.Do(t.Context(), append([]any{"CONFIG", "SET"}, args...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, want    string
		breaks, mends func(t *testing.T, s *redistest.Server, client redistest.Client)
	}{
		{
			"without replicas", "NOREPLICAS",
			func(t *testing.T, _ *redistest.Server, client redistest.Client) {
				set(t, client, "min-replicas-to-write", 1)
			},
			func(t *testing.T, _ *redistest.Server, client redistest.Client) {
				set(t, client, "min-replicas-to-write", 0)
			},
		},
		{
			"without memory", "OOM",
			func(t *testing.T, _ *redistest.Server, client redistest.Client) { set(t, client, "maxmemory", 1) },
			func(t *testing.T, _ *redistest.Server, client redistest.Client) { set(t, client, "maxmemory", 0) },
		},
		{
			"without a file to save to", "MISCONF",
			func(t *testing.T, s *redistest.Server, client redistest.Client) {
				if err := os.Mkdir(filepath.Join(s.Dir(), "dump.rdb"), 0o700); err != nil {
					t.Fatal(err)
				}
				set(t, client, "save", "3600 1")
				client.Do(t.Context(), "BGSAVE")
				s.Await("the failed save", func(ctx context.Context) bool {
					return strings.Contains(client.Info(ctx, "persistence").Val(), "rdb_last_bgsave_status:err")
				})
			},
			func(t *testing.T, _ *redistest.Server, client redistest.Client) {
				set(t, client, "stop-writes-on-bgsave-error", "no")
			},
		},
		{
			"of a replica", "READONLY",
			func(t *testing.T, _ *redistest.Server, client redistest.Client) {
				client.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1")
			},
			func(t *testing.T, _ *redistest.Server, client redistest.Client) {
				client.Do(t.Context(), "REPLICAOF", "NO", "ONE")
			},
		},
		{
			"of a replica that accepts writes", "READONLY",
			func(t *testing.T, _ *redistest.Server, client redistest.Client) {
				set(t, client, "replica-read-only", "no")
				client.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1")
			},
			func(t *testing.T, _ *redistest.Server, client redistest.Client) {
				client.Do(t.Context(), "REPLICAOF", "NO", "ONE")
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, b := range redistest.Binaries(t) {
				t.Run(b.Name, func(t *testing.T) {
					t.Parallel()
					s := redistest.Start(t, b)
					client := s.Client(t)
					a := mustNew(t, redistest.NewClient(t, s), Options{})
					if err := a.Check(t.Context()); err != nil || !a.Stats().Ready() {
						t.Errorf("before: got %v, ready %v, want nil, ready", err, a.Stats().Ready())
					}
					test.breaks(t, s, client)
					if err := a.Check(t.Context()); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), test.want) {
						t.Errorf("Check: got %v, want %s", err, test.want)
					}
					if a.Stats().Ready() {
						t.Error("Ready: got true, want false")
					}
					if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), test.want) {
						t.Errorf("Next: got %v, want %s", err, test.want)
					}
					if n := client.DBSize(t.Context()).Val(); n != 1 {
						t.Errorf("got %d keys, want the settings alone", n)
					}
					test.mends(t, s, client)
					if err := a.Check(t.Context(), "orders"); err != nil || !a.Stats().Ready() {
						t.Errorf("afterwards: got %v, ready %v, want nil, ready", err, a.Stats().Ready())
					}
					mustClose(t, a)
				})
			}
		})
	}
}

// TestCheckOfCollectionsReturnsTheErrorOfTheirFirstCall compares the two on states of a counter.
func TestCheckOfCollectionsReturnsTheErrorOfTheirFirstCall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		opts  Options
		state string // fields of the counter, or a command that begins with a key
		want  error
	}{
		{"a new one", Options{}, "", nil},
		{"one that exists", Options{}, "Max 5;{Raven}/ServerPrefixForHilo NewCounters no", nil},
		{"a missing one", Options{}, ";{Raven}/ServerPrefixForHilo NewCounters no", ErrNotSeeded},
		{"one at the limit", Options{Limit: 100}, "Max 100", ErrExhausted},
		{"one below the limit", Options{Limit: 100}, "Max 90", nil},
		{"one at MaxValue", Options{}, "Max 100;{Raven}/ServerPrefixForHilo MaxValue 100", ErrExhausted},
		{"one of words", Options{}, "Max many", ErrCorrupt},
		{"one without a number", Options{}, "Lease x", ErrCorrupt},
		{"an identity of its name", Options{}, ";{Raven}/Identities/orders Value 5", ErrMixed},
		{"a prefix that cannot be", Options{}, ";{Raven}/ServerPrefixForHilo ServerPrefix N1", ErrCorrupt},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for _, test := range tests {
			client := s.Client(t)
			if err := client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			s.Initialize("Raven")
			counter, other, _ := strings.Cut(test.state, ";")
			if counter != "" {
				client.HSet(t.Context(), "{Raven}/HiLo/orders", strings.Fields(counter))
			}
			if words := strings.Fields(other); len(words) > 0 {
				client.HSet(t.Context(), words[0], words[1:])
			}
			before := client.DBSize(t.Context()).Val()
			a := mustNew(t, redistest.NewClient(t, s), test.opts)
			if err := a.Check(t.Context(), "orders"); !errors.Is(err, test.want) {
				t.Errorf("Check of %s: got %v, want %v", test.name, err, test.want)
			}
			if after := client.DBSize(t.Context()).Val(); after != before {
				t.Errorf("Check of %s: got %d keys, want %d as before", test.name, after, before)
			}
			_, err := a.Next(t.Context(), "orders")
			if !errors.Is(err, test.want) {
				t.Errorf("Next of %s: got %v, want %v", test.name, err, test.want)
			}
			if got := a.Stats().Ready("orders"); got != (test.want == nil) {
				t.Errorf("Ready of %s: got %v, want %v", test.name, got, test.want == nil)
			}
			if err := a.Check(t.Context(), "orders"); !errors.Is(err, test.want) { // with numbers in hand, if there are any
				t.Errorf("Check of %s again: got %v, want %v", test.name, err, test.want)
			}
			mustClose(t, a)
		}
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		if err := a.Check(t.Context(), "a|b"); !errors.Is(err, ErrInvalidName) {
			t.Errorf("got %v, want ErrInvalidName", err)
		}
		if !a.Stats().Ready() && a.Stats().Ready("users") {
			t.Error("Ready of a collection that was not used: got true before any contact, want false")
		}
		mustClose(t, a)
	})
}
