package allocator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// takenBy returns a function that reports whether a document has a number. The numbers are written as in the vector file, such as
// "none", "1..10", "1,3".
func takenBy(t *testing.T, text string) TakenFunc {
	t.Helper()
	var spans [][2]int64
	for part := range strings.SplitSeq(text, ",") {
		var low, high int64
		switch {
		case part == "none":
			continue
		case strings.Contains(part, ".."):
			if _, err := fmt.Sscanf(part, "%d..%d", &low, &high); err != nil {
				t.Fatal(err)
			}
		default:
			if _, err := fmt.Sscan(part, &low); err != nil {
				t.Fatal(err)
			}
			high = low
		}
		spans = append(spans, [2]int64{low, high})
	}
	return func(_ context.Context, id string) (bool, error) {
		var number int64
		if _, err := fmt.Sscanf(id, "companies/%d", &number); err != nil {
			return false, err
		}
		return slices.ContainsFunc(spans, func(s [2]int64) bool { return s[0] <= number && number <= s[1] }), nil
	}
}

func TestNextFreeIdentityMatchesTheVectors(t *testing.T) {
	t.Parallel()
	type row struct {
		Taken           string
		Counter, Number int64
		MaxTries        int `json:"max_tries"`
	}
	rows := append(vectors[row](t, "free_identity.json"),
		row{Taken: "1..1000000000", Number: 1_000_000_001, MaxTries: 99})
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustAdmin(t, s)
		for _, row := range rows {
			s.Client(t).FlushAll(t.Context())
			s.Initialize("Raven")
			a := mustNew(t, redistest.NewClient(t, s), Options{}) // without a floor
			if _, err := m.SeedIdentity(t.Context(), "companies|", row.Counter, true); err != nil {
				t.Fatal(err)
			}
			number, tries, err := a.NextFreeIdentity(t.Context(), "companies|", takenBy(t, row.Taken))
			if err != nil || number != row.Number || tries > row.MaxTries {
				t.Errorf("taken %s from %d: got %d in %d tries, %v, want %d in at most %d", row.Taken, row.Counter, number, tries, err, row.Number, row.MaxTries)
			}
			again, tries, err := a.NextFreeIdentity(t.Context(), "companies", takenBy(t, row.Taken))
			if err != nil || again <= number || (tries != 1 && !strings.Contains(row.Taken, ",")) {
				t.Errorf("taken %s, the next: got %d in %d tries, %v, want a number above %d in one", row.Taken, again, tries, err, number)
			}
		}
	})
}

func TestNextFreeIdentityReturnsANumberOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a, b := patient(t, s), patient(t, s)
		taken := takenBy(t, "1..5000,6000..7000")
		numbers := runConcurrently(t, 16, 20, func(i int) (int64, error) {
			if i%4 == 3 { // beside those that do not search
				n, err := b.NextIdentity(t.Context(), "companies")
				return n, err
			}
			n, _, err := []*Allocator{a, b}[i%2].NextFreeIdentity(t.Context(), "companies", taken)
			return n, err
		})
		wantDistinct(t, numbers)
	})
}

func TestNextFreeIdentityAtTheEdges(t *testing.T) {
	t.Parallel()
	failed := errors.New("documents are away")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustAdmin(t, s)
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		seed := func(value int64) {
			t.Helper()
			if _, err := m.SeedIdentity(t.Context(), "companies", value, false); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := a.NextFreeIdentity(t.Context(), "companies", nil); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("without taken: got %v, want ErrInvalidOptions", err)
		}
		if _, tries, err := a.NextFreeIdentity(t.Context(), "companies", func(context.Context, string) (bool, error) { return false, failed }); !errors.Is(err, failed) || tries != 1 {
			t.Errorf("taken fails: got %d, %v, want %v, 1", tries, err, failed)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		questions := 0
		_, tries, err := a.NextFreeIdentity(ctx, "companies", func(context.Context, string) (bool, error) {
			if questions++; questions == 5 {
				cancel()
			}
			return true, nil
		})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnavailable) || tries != 5 {
			t.Errorf("ctx ends in the middle: got %d, %v, want context.Canceled, ErrUnavailable, 5", tries, err)
		}
		seed(math.MaxInt64 - 10)
		last := fmt.Sprintf("1..%d", int64(math.MaxInt64-1))
		if n, _, err := a.NextFreeIdentity(t.Context(), "companies", takenBy(t, last)); n != math.MaxInt64 || err != nil {
			t.Errorf("the last number: got %d, %v, want %v, <nil>", n, err, int64(math.MaxInt64))
		}
		if _, _, err := a.NextFreeIdentity(t.Context(), "companies", takenBy(t, last)); !errors.Is(err, ErrExhausted) {
			t.Errorf("after the last: got %v, want ErrExhausted", err)
		}
		all := fmt.Sprintf("1..%d", int64(math.MaxInt64))
		if _, tries, err := a.NextFreeIdentity(t.Context(), "people", func(ctx context.Context, id string) (bool, error) {
			return takenBy(t, all)(ctx, strings.Replace(id, "people", "companies", 1))
		}); !errors.Is(err, ErrExhausted) || tries > 70 {
			t.Errorf("all taken: got %v after %d tries, want ErrExhausted after at most 70", err, tries)
		}
	})
}

func TestTakenKeysChecksTheKeyOfADocument(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.Set(t.Context(), "doc:companies/1", "x", 0)
		client.HSet(t.Context(), "doc:companies/2", "x", "y")
		a := mustNew(t, client, Options{})
		if n, tries, err := a.NextFreeIdentity(t.Context(), "companies", TakenKeys(client, "doc:%s")); n != 3 || tries > 4 || err != nil {
			t.Errorf("got %d in %d tries, %v, want 3 in at most 4", n, tries, err)
		}
		s.Kill()
		if _, err := TakenKeys(client, "doc:%s")(t.Context(), "companies/1"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("away: got %v, want ErrUnavailable", err)
		}
	})
}

func TestNextIdentityIsDenseAcrossClients(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a, b := patient(t, s), patient(t, s)
		numbers := runConcurrently(t, 1000, 1, func(i int) (int64, error) {
			return []*Allocator{a, b}[i%2].NextIdentity(t.Context(), "companies|")
		})
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != int64(i+1) {
				t.Fatalf("value %d: got %d, want %v", i+1, n, int64(i+1))
			}
		}
		if r, err := a.NextIdentities(t.Context(), "Companies", 10); err != nil || r != (Range{1001, 1010}) {
			t.Errorf("ten at once: got %v, %v, want <nil>, %v", r, err, (Range{1001, 1010}))
		}
		if _, err := a.NextIdentities(t.Context(), "companies", 0); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("none: got %v, want ErrInvalidOptions", err)
		}
	})
}

func TestNextIdentityFollowsAForcedSeedDown(t *testing.T) {
	t.Parallel()
	type row struct {
		Op          string
		Value, Want int64
		Force       bool
	}
	rows := vectors[row](t, "identity.json")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := mustAdmin(t, s)
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		for i, row := range append(rows, rows...) {
			var got int64
			var err error
			if row.Op == "next" {
				got, err = a.NextIdentity(t.Context(), "companies")
			} else {
				got, err = m.SeedIdentity(t.Context(), "companies", row.Value, row.Force)
			}
			if i == len(rows)-1 { // start again from nothing
				if _, err := m.SeedIdentity(t.Context(), "companies", 0, true); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil || got != row.Want {
				t.Errorf("step %d, %s: %d, %v, want %d", i, row.Op, got, err, row.Want)
			}
		}
	})
}

func TestNextAndNextIdentityOfOneNameRaceAndOneWins(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a, b := mustNew(t, redistest.NewClient(t, s), Options{}), mustNew(t, redistest.NewClient(t, s), Options{})
		for i := range 20 {
			name := fmt.Sprintf("race%c", 'a'+i)
			var wg sync.WaitGroup
			var hilo, identity error
			wg.Go(func() { _, hilo = a.Next(t.Context(), name) })
			wg.Go(func() { _, identity = b.NextIdentity(t.Context(), name) })
			wg.Wait()
			if (hilo == nil) == (identity == nil) || !errors.Is(errors.Join(hilo, identity), ErrMixed) {
				t.Errorf("%s: got %v and %v, want ErrMixed for one of them", name, hilo, identity)
			}
		}
		m := mustAdmin(t, s)
		if _, err := m.SeedIdentity(t.Context(), "orders", 5, false); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Seed(t.Context(), "orders", 5, false); !errors.Is(err, ErrMixed) {
			t.Errorf("a seed: got %v, want ErrMixed", err)
		}
	})
}

func TestNextIdentitySurvivesARestartWithoutData(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		log, logs := observed()
		a := mustNew(t, redistest.NewClient(t, s), Options{Logger: log})
		next := func(int) (int64, error) {
			for {
				n, err := a.NextIdentity(t.Context(), "companies")
				if err == nil || !errors.Is(err, ErrUnavailable) {
					return n, err
				}
			}
		}
		var numbers []int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			numbers = runConcurrently(t, 8, 300, next)
		}()
		for {
			if n, err := s.Client(t).HGet(t.Context(), "{Raven}/Identities/companies", "Value").Int64(); err == nil && n > 800 {
				break
			}
		}
		s.Restart()
		<-done
		wantDistinct(t, numbers)
		if logs.FilterMessageSnippet("gone").Len() == 0 {
			t.Errorf("got the log %v, want a line about a counter that is gone", logs.All())
		}
	})
}

// flushedServer loses its identities after every request, as if it were flushed.
type flushedServer struct{ fakeServer }

func (*flushedServer) Identity(_ context.Context, _ scripts.Keys, r scripts.IdentityRequest) (scripts.Range, error) {
	<-time.After(time.Second)
	got := scripts.Range{Low: 1}
	if r.Floor > 0 {
		got = scripts.Range{Low: r.Floor + 1025, Jump: r.Floor + 1024, Evidence: scripts.EvidenceMissing, Epoch: 1}
	}
	got.High = got.Low + r.Count - 1
	return got, nil
}

func TestNextIdentityNeverRepeatsAfterALossBetweenRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := new(flushedServer)
		a := newFakeAllocator(t, Options{}, f)
		if got, _ := f.Identity(t.Context(), scripts.Keys{}, scripts.IdentityRequest{Count: 1}); got.Low != 1 {
			t.Fatalf("got %+v, want a request with a floor", got)
		}
		wantDistinct(t, runConcurrently(t, 8, 5, func(int) (int64, error) { return a.NextIdentity(t.Context(), "companies") }))
	})
}

func TestResolveUsesOneCounterForServerSideIdentifiers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		a := mustNew(t, client, Options{Separator: ":"})
		for _, step := range []struct{ prefix, tag, name, want string }{
			{"", "", "companies", "companies:0000000000000000001"},
			{"", "A", "Companies", "Companies:0000000000000000002-A"},
			{"N/", "A", "people", "people:N/0000000000000000003-A"},
		} {
			client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", step.prefix, "NodeTag", step.tag)
			if got, err := a.nextServerSide(t.Context(), step.name); got != step.want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, step.want)
			}
		}
		client.HSet(t.Context(), "{Raven}/ServerSide", "Value", int64(prefix.MaxServerSide))
		if got, err := a.nextServerSide(t.Context(), "people"); !errors.Is(err, ErrExhausted) {
			t.Errorf("at its limit: got %q, %v, want ErrExhausted", got, err)
		}
		if _, err := a.Resolve(t.Context(), "a:b:"); !errors.Is(err, ErrInvalidName) {
			t.Errorf("a bad name: got %v, want ErrInvalidName", err)
		}
	})
}

func TestNextIdentityReturnsItsErrors(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NewCounters", "no")
		a := mustNew(t, client, Options{Limit: 3})
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrNotSeeded) {
			t.Errorf("unseeded: got %v, want ErrNotSeeded", err)
		}
		if stands, err := mustAdmin(t, s).SeedIdentity(t.Context(), "companies", 2, false); stands != 2 || err != nil {
			t.Errorf("got %d, %v, want 2, <nil>", stands, err)
		}
		if n, err := a.NextIdentity(t.Context(), "companies"); n != 3 || err != nil {
			t.Errorf("got %d, %v, want 3, <nil>", n, err)
		}
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrExhausted) {
			t.Errorf("at the limit: got %v, want ErrExhausted", err)
		}
		for _, name := range []string{"", "|", "a/b", "a||"} {
			if _, err := a.NextIdentity(t.Context(), name); !errors.Is(err, ErrInvalidName) {
				t.Errorf("%q: got %v, want ErrInvalidName", name, err)
			}
		}
		s.Kill()
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("away: got %v, want ErrUnavailable", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.NextIdentity(ctx, "companies"); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("ctx over: got %v, want ErrUnavailable, context.Canceled", err)
		}
		_ = a.Close(ctx)
		if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: got %v, want ErrClosed", err)
		}
	})
}
