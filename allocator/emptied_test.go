package allocator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// A new worker cannot tell a server that is new from one that lost its data.
func TestNextRefusesACounterOfAServerWithoutSettings(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]func(t *testing.T, s *redistest.Server){
		"FLUSHALL":  func(t *testing.T, s *redistest.Server) { s.Client(t).FlushAll(t.Context()) },
		"a restart": func(_ *testing.T, s *redistest.Server) { s.Restart() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := redistest.NewClient(t, s)
				client.HSet(t.Context(), "{Raven}/HiLo/users", "Max", 7)
				empty(t, s)
				a := mustNew(t, client, Options{})
				for kind, ask := range map[string]func() error{
					"a collection":  func() error { _, err := a.Next(t.Context(), "orders"); return err },
					"an identity":   func() error { _, err := a.NextIdentity(t.Context(), "companies"); return err },
					"a server side": func() error { _, err := a.Resolve(t.Context(), "invoices/"); return err },
					"Check":         func() error { return a.Check(t.Context(), "orders") },
				} {
					err := ask()
					if !errors.Is(err, ErrNotSeeded) || !strings.Contains(err.Error(), "hilo init") || !strings.Contains(err.Error(), "hilo help recover") {
						t.Errorf("%s: got %v, want ErrNotSeeded, text with both ways out", kind, err)
					}
				}
				if n := client.DBSize(t.Context()).Val(); n != 0 {
					t.Errorf("got %d keys, want none", n)
				}

				client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 7)
				if n := mustNumber(t, mustNew(t, client, Options{}), "orders"); n != 8 { // a counter that exists needs no settings
					t.Errorf("got %d, want 8", n)
				}
				s.Initialize("Raven")
				if n := mustNumber(t, mustNew(t, client, Options{}), "users"); n != 1 {
					t.Errorf("after hilo init: got %d, want 1", n)
				}
			})
		})
	}
}

func TestNextRefusesAMissingCounterOfAServerThatMakesNone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NewCounters", "no")
		_, err := mustNew(t, client, Options{}).Next(t.Context(), "orders")
		if !errors.Is(err, ErrNotSeeded) || !strings.Contains(err.Error(), "hilo seed NAME --max 0") || !strings.Contains(err.Error(), "hilo help recover") {
			t.Errorf("got %v, want ErrNotSeeded, text with both ways out", err)
		}
		client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 0)
		if n := mustNumber(t, mustNew(t, client, Options{}), "orders"); n != 1 {
			t.Errorf("after a seed of 0: got %d, want 1", n)
		}
	})
}

func TestNextContinuesAboveAllThatItSawOfAServerThatWasEmptied(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		log, logs := observed()
		living := mustNew(t, s.client(t), Options{Logger: log})
		numbers := ranges(t, living, 2)
		s.FlushAll()
		if _, err := mustNew(t, s.client(t), Options{}).Next(t.Context(), "orders"); !errors.Is(err, ErrNotSeeded) {
			t.Errorf("a new worker before: got %v, want ErrNotSeeded", err)
		}
		numbers = append(numbers, ranges(t, living, 1)...)
		numbers = append(numbers, mustNumber(t, mustNew(t, s.client(t), Options{}), "orders")) // served, as the counter exists
		wantDistinct(t, numbers)
		errs := logs.FilterLevelExact(zapcore.ErrorLevel).All()
		if len(errs) != 1 || errs[0].ContextMap()["evidence"] != string(EvidenceMissing) {
			t.Errorf("got log %v, want one error with the evidence missing", logs.All())
		}
	})
}

// Others went on for the minutes since the client heard of the counter, so the margin counts once more for each. The offset on top is
// uniform over 64 margins, so of some hundred jumps one would show a margin that is one too small.
func TestJumpOverAnEmptiedServerCountsTheMinutesSinceItWasSeen(t *testing.T) {
	t.Parallel()
	const unit = 4 * 16384 // of a counter with the first block
	for _, minutes := range []int64{0, 1, 5, 9} {
		t.Run(fmt.Sprintf("%d minutes", minutes), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, s *bubbleServer) {
				a := mustNew(t, s.client(t), Options{})
				c := mustCollection(t, a, "orders")
				take := func() int64 {
					t.Helper()
					batch, err := c.Take(t.Context(), 32)
					if err != nil {
						t.Fatal(err)
					}
					return batch.Range().Low
				}
				take()
				for range 300 {
					raised, _ := strconv.ParseInt(s.HGet("{Raven}/HiLo/orders", "Raised"), 10, 64)
					synctest.Wait()                                                                         // nothing reads the clock
					a.fleet.Start = a.fleet.Start.Add(-time.Duration(minutes)*time.Minute - 30*time.Second) // without the checks meanwhile
					s.FlushAll()
					margin := (1 + minutes) * unit
					if jump := take() - 1 - raised; jump < margin || jump >= margin+64*unit {
						t.Fatalf("got a jump to %d above what was reserved, want %d to %d", jump, margin, margin+64*unit)
					}
				}
			})
		})
	}
}

func TestNextRefusesACounterThatIsGoneForLong(t *testing.T) {
	t.Parallel()
	for _, initialized := range []bool{false, true} {
		t.Run(fmt.Sprintf("initialized %v", initialized), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, s *bubbleServer) {
				a := mustNew(t, s.client(t), Options{})
				ranges(t, a, 2)
				if _, err := a.NextIdentity(t.Context(), "companies"); err != nil {
					t.Fatal(err)
				}
				<-time.After(10*time.Minute + time.Second)
				s.FlushAll()
				if initialized {
					s.initialize("Initialized", "again")
				}
				_, err := mustCollection(t, a, "orders").Take(t.Context(), 32)
				if !errors.Is(err, ErrNotSeeded) || !strings.Contains(err.Error(), "is gone") || !strings.Contains(err.Error(), "hilo help recover") {
					t.Errorf("got %v, want ErrNotSeeded, text that it is gone", err)
				}
				if _, err := a.NextIdentity(t.Context(), "companies"); !errors.Is(err, ErrNotSeeded) {
					t.Errorf("an identity: got %v, want ErrNotSeeded", err)
				}
			})
		})
	}
}

// Four workers take 1,000 numbers a second together, each of them until another minute. Then the server is emptied, and each of
// them is the first one that goes on.
func TestTakeIssuesNothingTwiceWhicheverWorkerFindsTheServerEmptied(t *testing.T) {
	t.Parallel()
	const workers, minutes = 4, 9
	for first := range workers {
		t.Run(fmt.Sprintf("worker %d", first), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, s *bubbleServer) {
				var all []*Collection
				for range workers {
					all = append(all, mustCollection(t, mustNew(t, s.client(t), Options{}), "orders"))
				}
				var issued []Range
				take := func(c *Collection) {
					t.Helper()
					batch, err := c.Take(t.Context(), 1000)
					if err != nil {
						t.Fatal(err)
					}
					issued = append(issued, batch.Range())
				}
				for second := range minutes * 60 {
					living := workers - second*workers/(minutes*60) // the last ones end first
					take(all[rand.IntN(living)])
					<-time.After(time.Second)
				}
				s.FlushAll()
				take(all[first])
				for range 20 {
					take(all[rand.IntN(workers)])
				}
				take(mustCollection(t, mustNew(t, s.client(t), Options{}), "orders"))
				wantDisjoint(t, issued)
			})
		})
	}
}

// wantDisjoint fails the test if a number is in two ranges.
func wantDisjoint(t *testing.T, all []Range) {
	t.Helper()
	byLow := map[int64]Range{}
	var lows []int64
	for _, r := range all {
		lows, byLow[r.Low] = append(lows, r.Low), r
	}
	wantDistinct(t, lows) // which sorts them
	for i := 1; i < len(lows); i++ {
		if before := byLow[lows[i-1]]; before.High >= lows[i] {
			t.Errorf("got the ranges %v and %v, want them disjoint", before, byLow[lows[i]])
		}
	}
}
