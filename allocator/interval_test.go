package allocator

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const southFrom = 1_000_000_000_001

// intervals are the settings of two masters with plain numbers.
var intervals = [2]prefix.Server{{MaxValue: southFrom - 1, Identities: true}, {MinValue: southFrom}}

func configure(t *testing.T, s *redistest.Server, settings prefix.Server) {
	t.Helper()
	s.Initialize("Raven")
	if err := mustAdmin(t, s).SetServerPrefix(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
}

// intervalMasters returns two masters with disjoint intervals and neither prefix nor tag. The first is the home of identities.
func intervalMasters(t *testing.T, s *redistest.Server) (north, south *redistest.Server) {
	t.Helper()
	north, south = masters(t, s)
	for i, master := range []*redistest.Server{north, south} {
		master.Client(t).FlushAll(t.Context())
		configure(t, master, intervals[i])
	}
	return north, south
}

func TestTwoMastersWithIntervalsServePlainNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := intervalMasters(t, s)
		a := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		for want := int64(1); want <= 3; want++ {
			if got, err := a.NextNumber(t.Context(), "orders"); got != want || err != nil {
				t.Fatalf("got %d, %v, want %d", got, err, want)
			}
		}
		if got, err := a.Next(t.Context(), "users"); got != "users/1" || err != nil {
			t.Errorf("got %q, %v, want users/1", got, err)
		}
		if got, err := a.NextIdentity(t.Context(), "companies"); got != 1 || err != nil {
			t.Errorf("identity: got %d, %v, want 1 of the home", got, err)
		}
		if got, err := a.Resolve(t.Context(), "people/"); got != "people/0000000000000000001" || err != nil {
			t.Errorf("server-side: got %q, %v, want the first of the interval", got, err)
		}
		north.Kill()
		if got, err := a.NextNumber(t.Context(), "items"); got != southFrom || err != nil {
			t.Errorf("without north: got %d, %v, want %d", got, err, int64(southFrom))
		}
	})
}

// A number is refused, before any range is taken, unless the intervals of all servers are known and disjoint.
func TestNextNumberOfSeveralServersNeedsDisjointIntervals(t *testing.T) {
	t.Parallel()
	overlapping := prefix.Server{ServerPrefix: "SouthServer/", MinValue: 5}
	tests := []struct {
		name  string
		south prefix.Server
		down  bool  // south is, from the start
		known int64 // MinValue of south in the settings of the allocator
		want  error
	}{
		{"disjoint", intervals[1], false, 0, nil},
		{"overlapping", overlapping, false, 0, ErrPrefixed},
		{"no interval", prefix.Server{ServerPrefix: "SouthServer/"}, false, 0, ErrPrefixed},
		{"one that is not known", intervals[1], true, 0, ErrPrefixed},
		{"one that the settings state", intervals[1], true, southFrom, nil},
		{"another one than the settings state", intervals[1], false, southFrom + 1, ErrPrefixConflict},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				north, south := intervalMasters(t, s)
				south.Client(t).FlushAll(t.Context())
				configure(t, south, test.south)
				if test.down {
					south.Kill()
				}
				a := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)},
					Server{Name: "south", Client: impatient(t, south), MinValue: test.known})
				got, err := a.NextNumber(t.Context(), "orders")
				if !errors.Is(err, test.want) || err == nil && got != 1 {
					t.Fatalf("got %d, %v, want %v", got, err, test.want)
				}
				if errors.Is(test.want, ErrPrefixed) {
					if n := north.Client(t).Exists(t.Context(), "{Raven}/HiLo/orders").Val(); n != 0 {
						t.Error("a range was taken before the refusal")
					}
				}
				if test.down && test.want != nil { // checked again once it is described
					south.Restart()
					configureAgain(t, south, test.south)
					if err := a.Check(t.Context()); err != nil {
						t.Fatal(err)
					}
					if got, err := a.NextNumber(t.Context(), "orders"); got != 1 || err != nil {
						t.Errorf("once south answers: got %d, %v, want 1", got, err)
					}
				}
			})
		})
	}
}

// configureAgain sets the settings of a server that may have lost them in a restart.
func configureAgain(t *testing.T, s *redistest.Server, settings prefix.Server) {
	t.Helper()
	s.Initialize("Raven")
	if err := mustAdmin(t, s).With(admin.Mode{Trust: true}).SetServerPrefix(t.Context(), settings); err != nil && !errors.Is(err, admin.ErrInterval) {
		t.Fatal(err)
	}
}

// A master that was emptied issues nothing, and the other one continues.
func TestEmptiedMasterConflictsWithNoOther(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := intervalMasters(t, s)
		a := mustMulti(t, Options{MinCapacity: 1, MaxCapacity: 1}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		if got, err := a.NextNumber(t.Context(), "orders"); got != 1 || err != nil {
			t.Fatalf("got %d, %v, want 1", got, err)
		}
		north.Client(t).FlushAll(t.Context())
		if err := a.Check(t.Context()); err != nil { // describes both
			t.Errorf("check: got %v, want <nil>, because south serves", err)
		}
		last := int64(1)
		for tries := 0; last < southFrom && tries < 2000; tries++ { // first those in hand
			got, err := a.NextNumber(t.Context(), "orders")
			if err != nil || got <= last {
				t.Fatalf("got %d, %v, want more than %d", got, err, last)
			}
			last = got
		}
		if last < southFrom {
			t.Errorf("got %d at last, want a number of south", last)
		}
		b := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		if err := b.Check(t.Context(), "orders"); err != nil {
			t.Errorf("check of a new client: got %v, want <nil>, because south serves", err)
		}
		if got, err := b.NextNumber(t.Context(), "orders"); err != nil || got < southFrom {
			t.Errorf("a new client: got %d, %v, want a number of south", got, err)
		}
		if n := north.Client(t).Exists(t.Context(), "{Raven}/HiLo/orders").Val(); n != 0 {
			t.Error("got a counter at the emptied master, want none")
		}
	})
}

// Identities have neither prefix nor tag, and neither do the numbers of a server with an interval alone.
func TestBareServerBesideTheHomeOfIdentitiesNeedsADisjointInterval(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		north, south prefix.Server // north is the home
		anywhere     bool
		want         error
	}{
		{"disjoint", prefix.Server{ServerPrefix: "N/", Identities: true, MaxValue: southFrom - 1}, prefix.Server{MinValue: southFrom}, false, nil},
		{"the home without an interval", prefix.Server{ServerPrefix: "N/", Identities: true}, prefix.Server{MinValue: southFrom}, false, ErrPrefixConflict},
		{"not the home", prefix.Server{ServerPrefix: "N/"}, prefix.Server{MinValue: southFrom, Identities: true}, false, nil},
		{"not the home, and FreeIdentityAnywhere", prefix.Server{ServerPrefix: "N/"}, prefix.Server{MinValue: southFrom, Identities: true}, true, ErrPrefixConflict},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				for at, settings := range map[*redistest.Server]prefix.Server{north: test.north, south: test.south} {
					at.Client(t).FlushAll(t.Context())
					configure(t, at, settings)
				}
				servers := []Server{{Name: "north", Client: impatient(t, north)}, {Name: "south", Client: impatient(t, south)}}
				for range servers {
					slices.Reverse(servers)
					a := mustMulti(t, Options{FreeIdentityAnywhere: test.anywhere}, servers...)
					if got, err := a.Next(t.Context(), "companies"); !errors.Is(err, test.want) {
						t.Errorf("%s first: got %q, %v, want %v", servers[0].Name, got, err, test.want)
					}
				}
			})
		}
	})
}

// Every limit is MaxValue where that is less.
func TestMaxValueEndsCountersAndProbes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if err := mustAdmin(t, s).With(admin.Mode{Trust: true}).SetServerPrefix(t.Context(), prefix.Server{MinValue: 11, MaxValue: 20, Identities: true}); err != nil {
			t.Fatal(err)
		}
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		for want := int64(11); want <= 20; want++ {
			if got, err := a.NextNumber(t.Context(), "orders"); got != want || err != nil {
				t.Fatalf("got %d, %v, want %d", got, err, want)
			}
		}
		if _, err := a.NextNumber(t.Context(), "orders"); !errors.Is(err, ErrExhausted) {
			t.Errorf("past MaxValue: got %v, want ErrExhausted", err)
		}
		all := func(context.Context, string) (bool, error) { return true, nil }
		if got, _, err := a.NextFreeIdentity(t.Context(), "companies", all); !errors.Is(err, ErrExhausted) {
			t.Errorf("a search where all is taken: got %d, %v, want ErrExhausted", got, err)
		}
	})
}
