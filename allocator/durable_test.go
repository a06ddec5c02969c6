package allocator

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// startDurableMini starts a miniredis that states always and whose INFO shows an append-only file. It is the only server whose INFO
// can be set.
func startDurableMini(t *testing.T) *redistest.Server {
	t.Helper()
	s := redistest.StartMini(t)
	s.ReportDurable()
	setDurable(t, s, "always")
	return s
}

func setDurable(t *testing.T, s *redistest.Server, durable string) {
	t.Helper()
	if err := s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", durable).Err(); err != nil {
		t.Fatal(err)
	}
}

// eachDurable runs a test on each real server with an append-only file from the start, which states Durable.
func eachDurable(t *testing.T, durable string, test func(t *testing.T, s *redistest.Server)) {
	t.Helper()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", durable)
			setDurable(t, s, durable)
			test(t, s)
		})
	}
}

// A restart skips few numbers, also after kill -9, and nothing is issued twice.
func TestNextSkipsFewNumbersAfterARestartOfADurableServer(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{"everysec", "always"} {
		for _, end := range []string{"kill -9", "kill -15"} {
			t.Run(durable+", "+end, func(t *testing.T) {
				t.Parallel()
				eachDurable(t, durable, func(t *testing.T, s *redistest.Server) {
					core, logs := observer.New(zap.InfoLevel)
					first := mustNew(t, impatient(t, s), Options{Logger: zap.New(core)})
					var numbers []int64
					for want := int64(1); want <= 3; want++ {
						if n := mustNumber(t, first, "orders"); n != want {
							t.Fatalf("got %d, want %d", n, want)
						}
						numbers = append(numbers, want)
					}
					if end == "kill -9" {
						s.Kill()
					} else {
						s.Terminate()
					}
					s.Restart()
					after := untilServed(t, mustNew(t, impatient(t, s), Options{Logger: zap.New(core)}))
					if after >= 200 {
						t.Errorf("got orders/%d after the restart, want a number below 200", after)
					}
					for numbers = append(numbers, after); len(numbers) < 200; {
						numbers = append(numbers, untilServed(t, first))
					}
					wantDistinct(t, numbers)
					jumps := logs.FilterMessageSnippet("continues above what was reserved").All()
					if len(jumps) != 1 || jumps[0].Level != zapcore.InfoLevel || logs.FilterLevelExact(zapcore.ErrorLevel).Len() != 0 {
						t.Errorf("got log %v, want one jump at level info, and no error", logs.All())
					}
				})
			})
		}
	}
}

// A counter's first number waits until its ceiling is known to be on disk, and no later one does while raises succeed.
func TestNextWaitsForTheDiskBeforeTheFirstNumberOfADurableCounter(t *testing.T) {
	t.Parallel()
	for durable, least := range map[string]time.Duration{"everysec": 1200 * time.Millisecond, "always": 0} {
		t.Run(durable, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, s *bubbleServer) {
				s.initialize("Durable", durable)
				core, logs := observer.New(zap.InfoLevel)
				a := mustNew(t, s.client(t), Options{Logger: zap.New(core)})
				for kind, next := range map[string]func() error{
					"a collection":  func() error { _, err := a.Next(t.Context(), "orders"); return err },
					"an identity":   func() error { _, err := a.NextIdentity(t.Context(), "companies"); return err },
					"a server side": func() error { _, err := a.Resolve(t.Context(), "invoices/"); return err },
				} {
					start := time.Now()
					for range 10 {
						if err := next(); err != nil {
							t.Fatalf("%s: %v", kind, err)
						}
					}
					if took := time.Since(start); took < least || took > least+300*time.Millisecond {
						t.Errorf("%s: ten numbers took %v, want %v and little more", kind, took, least)
					}
				}
				if logs.FilterMessage("counter created").Len() != 3 || logs.Len() != 3 {
					t.Errorf("got log %v, want three new counters", logs.All())
				}
			})
		})
	}
}

// 1,000 numbers a second for an hour. Callers wait for a few raises in the beginning, until the blocks are large enough.
func TestNextOfADurableServerSkipsAtMostWhatFourHoursUse(t *testing.T) {
	t.Parallel()
	const rate, hour = 1000, 3600
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		s.initialize("Durable", "everysec")
		a := mustNew(t, s.client(t), Options{})
		last, start := int64(0), time.Now()
		for range hour {
			for range rate {
				n := mustNumber(t, a, "orders")
				if n != last+1 {
					t.Fatalf("got %d after %d, want the next number", n, last)
				}
				last = n
			}
			<-time.After(time.Second)
		}
		if waited := time.Since(start) - hour*time.Second; waited > 10*time.Second {
			t.Errorf("callers waited %v, want a few raises of 1.3 s", waited)
		}
		s.restart()
		if n := mustNumber(t, mustNew(t, s.client(t), Options{}), "orders"); n <= last || n > last+4*hour*rate {
			t.Errorf("got %d after a restart, want it up to %d above %d", n, 4*hour*rate, last)
		}
	})
}

// A counter of a plain server whose block lasts for a minute skips 65,536 to 4.3 million numbers with a restart.
func TestNextOfAPlainServerSkipsAMarginAndAnOffset(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		a := mustNew(t, s.client(t), Options{RefillTimeout: 2 * time.Second})
		for range 3600 {
			for range 130 {
				mustNumber(t, a, "orders")
			}
			<-time.After(time.Second)
		}
		stands, _ := strconv.ParseInt(s.HGet("{Raven}/HiLo/orders", "Max"), 10, 64)
		s.restart()
		if n := mustNumber(t, mustNew(t, s.client(t), Options{}), "orders"); n < stands+65_536 || n > stands+4_300_000 {
			t.Errorf("got %d after a restart, want it 65,536 to 4,300,000 above %d", n, stands)
		}
	})
}

func TestNextServesAThousandNewCountersOfADurableServerAtOnce(t *testing.T) {
	t.Parallel()
	eachDurable(t, "everysec", func(t *testing.T, s *redistest.Server) {
		opts := redistest.Options(s)
		opts.PoolSize = 20
		client := redis.NewClient(Tune(opts))
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{RefillTimeout: 2 * time.Second}) // the default
		var callers sync.WaitGroup
		for i := range 1000 {
			callers.Go(func() {
				if n, err := a.NextNumber(t.Context(), fmt.Sprintf("c%d", i)); n != 1 || err != nil {
					t.Errorf("collection %d: got %d, %v, want 1, <nil>", i, n, err)
				}
			})
		}
		for i := range 100 {
			callers.Go(func() {
				if n, err := a.NextIdentity(t.Context(), fmt.Sprintf("i%d", i)); n != 1 || err != nil {
					t.Errorf("identity %d: got %d, %v, want 1, <nil>", i, n, err)
				}
			})
		}
		callers.Wait()
	})
}

func TestNextOfADurableServerNeverFailsWhileRaisesSucceed(t *testing.T) {
	t.Parallel()
	eachDurable(t, "everysec", func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{MaxCapacity: 64})
		numbers := runConcurrently(t, 8, 1000, func(int) (int64, error) { return a.NextNumber(t.Context(), "orders") })
		wantDistinct(t, numbers)
		wantDistinct(t, runConcurrently(t, 8, 100, func(int) (int64, error) { return a.NextIdentity(t.Context(), "companies") }))
		if got := statsOf(a).Failures; got != 0 {
			t.Errorf("got %d failed refills, want none", got)
		}
	})
}

func TestNextLogsTheRemovalOfDurableOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		fault  func(t *testing.T, s *redistest.Server)
		reason string
	}{
		{"a replica", func(_ *testing.T, s *redistest.Server) {
			s.SetInfo("connected_slaves", "1")
			s.SetInfo("slave0", "ip=127.0.0.1,port=6380,state=online")
		}, "a replica is connected"},
		{"a promotion", func(_ *testing.T, s *redistest.Server) {
			s.SetInfo("master_replid2", strings.Repeat("a", 40))
			s.ChangeReplicationID()
		}, "the server was promoted, or restarted otherwise than from its append-only file"},
		{"a cluster", func(_ *testing.T, s *redistest.Server) {
			s.SetInfo("cluster_enabled", "1")
			s.ChangeReplicationID()
		}, "it is a node of a cluster"},
		{"a loss", func(t *testing.T, s *redistest.Server) {
			s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 0)
		}, "writes were lost all the same"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startDurableMini(t)
			log, logs := observed()
			a := mustNew(t, redistest.NewClient(t, s), Options{Logger: log})
			numbers := ranges(t, a, 1)
			if logs.Len() != 0 {
				t.Errorf("before the fault: got log %v, want none", logs.All())
			}
			test.fault(t, s)
			wantDistinct(t, append(numbers, ranges(t, a, 2)...))
			removed := logs.FilterMessageSnippet("Durable was removed").All()
			if len(removed) != 1 || removed[0].Level != zapcore.ErrorLevel || removed[0].ContextMap()["reason"] != test.reason {
				t.Errorf("got log %v, want one removal at level error for %q", logs.All(), test.reason)
			}
			if jumps := logs.FilterMessageSnippet("jumped").All(); len(jumps) != 1 {
				t.Errorf("got log %v, want one jump", logs.All())
			}
			client := s.Client(t)
			if client.HExists(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable").Val() || client.HExists(t.Context(), "{Raven}/HiLo/orders", "Ceiling").Val() {
				t.Error("got Durable or a Ceiling afterwards, want neither")
			}
		})
	}
}
