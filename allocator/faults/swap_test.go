package faults

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// swap exchanges the database of the counters with another one.
func swap(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := s.Client(t).Do(t.Context(), "SWAPDB", 0, 1).Err(); err != nil {
		t.Fatal(err)
	}
}

// copyCounter copies a counter to the other database.
func copyCounter(t *testing.T, s *redistest.Server, key string) {
	t.Helper()
	if n, err := s.Client(t).Copy(t.Context(), key, key, 1, true).Result(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

func TestSwapDBWithAnOlderCopyUnderActiveWorkersRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			s := redistest.Start(t, b)
			f.start(4, steady(at(s)))
			for range 3 {
				f.awaitTotal(10_000)
				copyCounter(t, s, f.counter())
				f.awaitEach(1000) // more than each has in hand
				swap(t, s)
			}
			f.awaitEach(1000)
		})
	})
}

// An older copy that replaces a counter under a running server has the Origin of that server. Only clients that were issued
// numbers since the copy detect it, by their floor and epoch. The others repeat these numbers.
func TestSwapDBRepeatsNumbersForClientsThatSawNoneSinceTheCopy(t *testing.T) {
	t.Parallel()
	const key = "{Raven}/Identities/companies"
	keep := func(t *testing.T, s *redistest.Server) { copyCounter(t, s, key) }
	for _, test := range []struct {
		name     string
		client   int                                     // 0 was issued numbers since the copy, 1 was idle since, 2 is new
		before   func(t *testing.T, s *redistest.Server) // the last numbers are issued
		after    func(t *testing.T, s *redistest.Server) // the databases are exchanged
		evidence string                                  // "" where numbers are repeated
		refused  bool
	}{
		{name: "active since", before: keep, evidence: "floor"},
		{name: "idle since", client: 1, before: keep},
		{name: "new", client: 2, before: keep},
		{name: "new, after a restart from the copy", client: 2, before: keep, evidence: "origin", after: func(t *testing.T, s *redistest.Server) {
			save(t, s)
			s.Restart()
		}},
		{name: "active since, a copy of before a jump that was seeded higher", evidence: "epoch",
			before: func(t *testing.T, s *redistest.Server) {
				keep(t, s)
				s.ChangeReplicationID()
			},
			after: func(t *testing.T, s *redistest.Server) {
				if err := s.Client(t).HSet(t.Context(), key, "Value", 1_000_000).Err(); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "active since, an empty database", evidence: "missing"},
		{name: "new, an empty database", client: 2, refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				s := redistest.Start(t, b)
				core, log := observer.New(zap.WarnLevel)
				var clients [3]*allocator.Allocator
				for i := range clients {
					client := redis.NewClient(redistest.Options(s))
					ids, err := allocator.New(client, allocator.Options{Logger: zap.New(core)})
					if err != nil {
						t.Fatal(err)
					}
					clients[i] = ids
					t.Cleanup(func() {
						_ = ids.Close(t.Context())
						_ = client.Close()
					})
				}
				take := func(i int) allocator.Range {
					t.Helper()
					got, err := clients[i].NextIdentities(t.Context(), "companies", 32)
					if err != nil {
						t.Fatal(err)
					}
					return got
				}
				take(0)
				take(1)
				if test.before != nil {
					test.before(t, s)
				}
				last := take(0)
				log.TakeAll() // of what came before
				swap(t, s)
				if test.after != nil {
					test.after(t, s)
				}
				if test.refused {
					if got, err := clients[test.client].NextIdentity(t.Context(), "companies"); !errors.Is(err, allocator.ErrNotSeeded) {
						t.Errorf("got %d, %v, want ErrNotSeeded", got, err)
					}
					return
				}
				got := take(test.client)
				if (got.Low <= last.High) != (test.evidence == "") {
					t.Errorf("after %v got %v, want numbers repeated: %v", last, got, test.evidence == "")
				}
				evidence := ""
				for _, jump := range log.FilterFieldKey("jump").All() {
					evidence, _ = jump.ContextMap()["evidence"].(string)
				}
				if evidence != test.evidence {
					t.Errorf("got evidence %q, want %q", evidence, test.evidence)
				}
			})
		})
	}
}
