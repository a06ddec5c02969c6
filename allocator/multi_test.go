package allocator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// masters starts another server of the same kind as s, and sets a prefix of each.
func masters(t *testing.T, s *redistest.Server) (north, south *redistest.Server) {
	t.Helper()
	south = redistest.StartMini(t)
	for _, b := range redistest.Binaries(t) {
		if b.Name == s.Name() {
			south = redistest.Start(t, b)
		}
	}
	setPrefix(t, s, "NorthServer/")
	setPrefix(t, south, "SouthServer/")
	return s, south
}

func setPrefix(t *testing.T, s *redistest.Server, text string) {
	t.Helper()
	s.Initialize("Raven") // where a restart lost that
	if err := mustAdmin(t, s).SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: text}); err != nil {
		t.Fatal(err)
	}
}

// setHome makes a server the home of identities and sets its prefix.
func setHome(t *testing.T, s *redistest.Server, text string) {
	t.Helper()
	s.Initialize("Raven") // where a restart lost that
	if err := mustAdmin(t, s).SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: text, Identities: true}); err != nil {
		t.Fatal(err)
	}
}

func mustMulti(t *testing.T, opts Options, servers ...Server) *Allocator {
	t.Helper()
	a, err := NewMulti(servers, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a
}

// impatient returns a client that makes one attempt only.
func impatient(t *testing.T, s *redistest.Server) *redis.Client {
	t.Helper()
	opts := redistest.Options(s)
	opts.MaxRetries, opts.DialerRetries = -1, 1
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestNewMultiRefusesServersThatCouldIssueTheSameTexts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		north, south string
		pin          string
		want         error
	}{
		{"equal prefixes", "NorthServer/", "NorthServer/", "", ErrPrefixConflict},
		{"prefixes equal without case", "NorthServer/", "northserver/", "", ErrPrefixConflict},
		{"no prefix of one", "NorthServer/", "", "", nil},
		{"no prefix of either", "", "", "", ErrPrefixMissing},
		{"another prefix than the pinned one", "NorthServer/", "SouthServer/", "WestServer/", ErrPrefixConflict},
		{"the pinned one", "NorthServer/", "SouthServer/", "SouthServer/", nil},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				setPrefix(t, north, test.north)
				setPrefix(t, south, test.south)
				a := mustMulti(t, Options{},
					Server{Name: "north", Client: impatient(t, north)},
					Server{Name: "south", Client: impatient(t, south), Prefix: test.pin})
				if id, err := a.Next(t.Context(), "orders"); !errors.Is(err, test.want) {
					t.Errorf("first identifier: got %s, %v, want %v", id, err, test.want)
				}
			})
		}
	})
}

func TestNewMultiRefusesOneServerUnderTwoNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		setPrefix(t, s, "NorthServer/")
		for _, db := range []int{0, 1} { // another database is no other server
			opts := redistest.Options(redistest.NewProxy(t, s))
			opts.MaxRetries, opts.DialerRetries, opts.DB = -1, 1, db
			behind := redis.NewClient(opts)
			t.Cleanup(func() { _ = behind.Close() })
			if err := behind.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", []string{"NorthServer/", "SouthServer/"}[db]).Err(); err != nil {
				t.Fatal(err)
			}
			a := mustMulti(t, Options{}, Server{Name: "north", Client: behind}, Server{Name: "south", Client: impatient(t, s)})
			_, err := a.Next(t.Context(), "users")
			if !errors.Is(err, ErrPrefixConflict) || !strings.Contains(err.Error(), "north and south are one server") || !strings.Contains(err.Error(), "give each a server of its own, or a namespace") {
				t.Errorf("database %d: got %v, want ErrPrefixConflict that says what to do", db, err)
			}
		}
	})
}

func TestNextNumberOfSeveralServersIsErrPrefixed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{}, Server{Client: redistest.NewClient(t, north)}, Server{Client: redistest.NewClient(t, south)})
		if _, err := a.NextNumber(t.Context(), "orders"); !errors.Is(err, ErrPrefixed) {
			t.Error(err)
		}
		if id, err := a.NextID(t.Context(), "orders"); err != nil || id.ServerPrefix != "NorthServer/" {
			t.Errorf("got %+v, %v, want <nil>, NorthServer/", id, err)
		}
		alone := mustMulti(t, Options{}, Server{Client: redistest.NewClient(t, north)})
		if _, err := alone.NextNumber(t.Context(), "orders"); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseReturnsRangesToTheirServers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{RefillTimeout: time.Minute}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		c := mustCollection(t, a, "orders")
		if _, err := c.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		c.refill = &refill{done: make(chan struct{})} // a refill from the second server
		c.mu.Unlock()
		got, err := c.attempt(a.fleet.Servers()[1], false)
		if err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		c.install(got)
		c.mu.Unlock()
		mustClose(t, a)
		wantMax(t, redistest.NewClient(t, north), "1")
		wantMax(t, redistest.NewClient(t, south), "0")
	})
}

func TestFreeIdentityAnywhereContinuesAtTheNextServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		setHome(t, north, "NorthServer/")
		a := mustMulti(t, Options{FreeIdentityAnywhere: true}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		for range 10 {
			if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
				t.Fatal(err)
			}
		}
		if id, err := a.nextServerSide(t.Context(), "companies"); err != nil || id != "companies/NorthServer/0000000000000000001" {
			t.Errorf("got %q, %v, want <nil>, companies/NorthServer/0000000000000000001", id, err)
		}
		north.Kill()
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
		if n, _, err := a.NextFreeIdentity(t.Context(), "companies", takenBy(t, "1..10")); n != 11 || err != nil {
			t.Errorf("got %d, %v, want 11, <nil>", n, err)
		}
		if id, err := a.nextServerSide(t.Context(), "companies"); err != nil || id != "companies/SouthServer/0000000000000000001" {
			t.Errorf("got %q, %v, want <nil>, companies/SouthServer/0000000000000000001", id, err)
		}
	})
}

func TestNewMultiRefusesInvalidServers(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	for name, servers := range map[string][]Server{
		"none":             nil,
		"no client":        {{}},
		"names alike":      {{Name: "a", Client: client}, {Name: "a", Client: client}},
		"a ring":           {{Client: ring}},
		"a bad namespace":  {{Client: client, Namespace: "{"}},
		"a bad pinned one": {{Client: client, Prefix: "North1"}},
	} {
		_, err := NewMulti(servers, Options{})
		if !errors.Is(err, ErrInvalidOptions) && !errors.Is(err, ErrInvalidName) {
			t.Errorf("%s: got %v, want ErrInvalidOptions or ErrInvalidName", name, err)
		}
	}
}
