package allocator

import (
	"context"
	"errors"
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

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// startDurableMini starts a miniredis that states Durable and whose INFO shows an append-only file. It is the only server whose INFO
// can be set.
func startDurableMini(t *testing.T, durable string) *redistest.Server {
	t.Helper()
	s := redistest.StartMini(t)
	for field, value := range map[string]string{
		"aof_enabled": "1", "aof_last_write_status": "ok", "aof_rewrite_in_progress": "0", "aof_rewrite_scheduled": "0", "aof_pending_bio_fsync": "0",
		"connected_slaves": "0", "master_replid2": strings.Repeat("0", 40), "cluster_enabled": "0",
	} {
		s.SetInfo(field, value)
	}
	setDurable(t, s, durable)
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

// awaitObstacle calls NextNumber, and ends its ctx when it waits for a ceiling that cannot be raised.
func awaitObstacle(t *testing.T, s *redistest.Server, a *Allocator) (n int64, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		n, err = a.NextNumber(ctx, "orders")
	}()
	s.Await("a call that waits", func(context.Context) bool {
		return a.fleet.WhyWaiting(fleet.Range, "orders") != nil && a.Stats().Servers[0].CeilingErr != nil
	})
	cancel()
	<-done
	return n, err
}

func config(t *testing.T, s *redistest.Server, name, value string) {
	t.Helper()
	if err := s.Client(t).ConfigSet(t.Context(), name, value).Err(); err != nil {
		t.Fatal(err)
	}
}

// The append-only file is switched off at runtime, and a crash loses what follows. Nothing above the ceiling was issued.
func TestNextIssuesOnlyWhatIsOnDiskWhileTheAppendOnlyFileIsOff(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{"everysec", "always"} {
		t.Run(durable, func(t *testing.T) {
			t.Parallel()
			eachDurable(t, durable, func(t *testing.T, s *redistest.Server) {
				client := redistest.NewClient(t, s)
				a := mustNew(t, client, Options{MinCapacity: 10, MaxCapacity: 10, Runway: time.Nanosecond})
				numbers := []int64{mustNumber(t, a, "orders")}
				ceiling, _ := client.HGet(t.Context(), "{Raven}/HiLo/orders", "Ceiling").Int64()
				config(t, s, "appendonly", "no")
				for int64(len(numbers)) < ceiling { // all of them are in a row
					numbers = append(numbers, mustNumber(t, a, "orders"))
				}
				n, err := awaitObstacle(t, s, a)
				if !errors.Is(err, ErrNotDurable) || !errors.Is(err, context.Canceled) || !Retryable(err) || !strings.Contains(err.Error(), "append-only file is off") {
					t.Errorf("got %d, %v, want ErrNotDurable, retryable, that names the append-only file", n, err)
				}
				if !a.Stats().Servers[0].Up {
					t.Error("got the server down, want it up, since it answers")
				}
				s.Restart() // with the file of before, in which no later number is
				for fresh := mustNew(t, redistest.NewClient(t, s), Options{}); len(numbers) < 300; {
					numbers = append(numbers, untilServed(t, a), untilServed(t, fresh))
				}
				wantDistinct(t, numbers)
			})
		})
	}
}

func TestNextLogsHowLongTheNumbersBelowACeilingLast(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		s.initialize("Durable", "always")
		log, logs := observed()
		a := mustNew(t, s.client(t), Options{MinCapacity: 4, MaxCapacity: 4, Runway: time.Nanosecond, Logger: log})
		s.set("aof_pending_bio_fsync", "1") // which does not matter to always
		for n := int64(1); n <= 4+64; n++ { // the ceiling of the first raise
			if got := mustNumber(t, a, "orders"); got != n {
				t.Fatalf("got %d, want %d", got, n)
			}
			s.set("aof_enabled", "0")
			<-time.After(10 * time.Second)
		}
		obstacles := logs.FilterMessageSnippet("ceiling of a counter cannot be raised").All()
		if len(obstacles) != 1 || obstacles[0].Level != zapcore.ErrorLevel || logs.Len() != 1 {
			t.Fatalf("got log %v, want one error about the ceiling", logs.All())
		}
		fields := obstacles[0].ContextMap()
		left, lasts := fields["left"].(int64), fields["lasts"].(time.Duration)
		if left < 24 || left > 32 || lasts < time.Duration(left)*8*time.Second || lasts > time.Duration(left)*12*time.Second {
			t.Errorf("got %d left, which last %v, want 24 to 32, and 10 s for each", left, lasts)
		}
		if server := a.Stats().Servers[0]; !errors.Is(server.CeilingErr, ErrNotDurable) || !server.Up {
			t.Errorf("got %+v, want it up, with what is in the way", server)
		}
		s.set("aof_enabled", "1")
		if got := mustNumber(t, a, "orders"); got != 4+64+1 {
			t.Errorf("got %d with the file on again, want %d", got, 4+64+1)
		}
	})
}

func TestNextWaitsUntilTheAppendOnlyFileIsOnAgain(t *testing.T) {
	t.Parallel()
	eachDurable(t, "everysec", func(t *testing.T, s *redistest.Server) {
		log, logs := observed()
		client := redistest.NewClient(t, s)
		a := mustNew(t, client, Options{Logger: log})
		numbers := ranges(t, a, 1)
		config(t, s, "appendonly", "no")
		done := make(chan []int64)
		go func() {
			done <- runConcurrently(t, 4, 100, func(int) (int64, error) { return a.NextNumber(t.Context(), "orders") })
		}()
		s.Await("an obstacle", func(context.Context) bool { return a.Stats().Servers[0].CeilingErr != nil })
		if err := a.Check(t.Context(), "users"); !errors.Is(err, ErrNotDurable) {
			t.Errorf("Check of a new counter: got %v, want ErrNotDurable", err)
		}
		config(t, s, "appendonly", "yes") // which schedules a rewrite of the file
		numbers = append(numbers, <-done...)
		wantDistinct(t, numbers)
		if err := a.Stats().Servers[0].CeilingErr; err != nil {
			t.Errorf("got %v afterwards, want <nil>", err)
		}
		if logs.FilterLevelExact(zapcore.ErrorLevel).Len() == 0 {
			t.Error("got no error in the log, want one about the append-only file")
		}
		s.Restart()
		for fresh := mustNew(t, redistest.NewClient(t, s), Options{}); len(numbers) < 900; {
			numbers = append(numbers, untilServed(t, a), untilServed(t, fresh))
		}
		wantDistinct(t, numbers)
	})
}

// Check foresees that the first call would wait, and for what.
func TestCheckFindsACeilingThatIsUsedUpAndCannotBeRaised(t *testing.T) {
	t.Parallel()
	s := startDurableMini(t, "always")
	mustNumber(t, mustNew(t, redistest.NewClient(t, s), Options{}), "orders")
	s.SetInfo("aof_enabled", "0")
	other := mustNew(t, redistest.NewClient(t, s), Options{})
	if err := other.Check(t.Context(), "orders"); err != nil {
		t.Errorf("below the ceiling: got %v, want <nil>", err)
	}
	s.Mini().HSet("{Raven}/HiLo/orders", "Max", s.Mini().HGet("{Raven}/HiLo/orders", "Ceiling"))
	for _, name := range []string{"orders", "users"} {
		if err := other.Check(t.Context(), name); !errors.Is(err, ErrNotDurable) || !Retryable(err) || !strings.Contains(err.Error(), "append-only file is off") {
			t.Errorf("%s: got %v, want ErrNotDurable that names the append-only file", name, err)
		}
	}
	if err := other.Check(t.Context()); err != nil {
		t.Errorf("without a collection: got %v, want <nil>", err)
	}
	if n := s.Client(t).DBSize(t.Context()).Val(); n != 2 {
		t.Errorf("got %d keys, want 2, the counter and the settings", n)
	}
	s.SetInfo("aof_enabled", "1")
	if err := other.Check(t.Context(), "orders", "users"); err != nil {
		t.Errorf("with the file on again: got %v, want <nil>", err)
	}
}

// What is in the way of one counter's ceiling keeps no other counter from being served, and no other server.
func TestNextIsServedBesideACeilingThatCannotBeRaised(t *testing.T) {
	t.Parallel()
	t.Run("another counter", func(t *testing.T) {
		t.Parallel()
		s := startDurableMini(t, "always")
		a := mustNew(t, redistest.NewClient(t, s), Options{MaxCapacity: 32, Runway: time.Nanosecond})
		mustNumber(t, a, "users")
		s.SetInfo("aof_enabled", "0")
		waiting := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := a.Next(ctx, "orders")
			waiting <- err
		}()
		s.Await("an obstacle", func(context.Context) bool { return a.Stats().Servers[0].CeilingErr != nil })
		for range 40 {
			mustNumber(t, a, "users")
		}
		if server := a.Stats().Servers[0]; !server.Up {
			t.Errorf("got %+v, want it up", server)
		}
		cancel()
		if err := <-waiting; !errors.Is(err, ErrNotDurable) {
			t.Errorf("got %v, want ErrNotDurable", err)
		}
	})
	t.Run("another server", func(t *testing.T) {
		t.Parallel()
		north, south := startDurableMini(t, "always"), startDurableMini(t, "always")
		setPrefix(t, north, "NorthServer/")
		setPrefix(t, south, "SouthServer/")
		setDurable(t, north, "always")
		setDurable(t, south, "always")
		north.SetInfo("aof_enabled", "0")
		a := mustMulti(t, Options{}, Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		if id, err := a.Next(t.Context(), "orders"); id != "orders/SouthServer/1" || err != nil {
			t.Errorf("got %s, %v, want the first one of south", id, err)
		}
		if stats := a.Stats(); !stats.Servers[0].Up || stats.Collections[0].Failures != 0 {
			t.Errorf("got %+v, want north up and no failed refill", stats)
		}
	})
}

// A server that refuses the write of a raise is down, as one that refuses that of a range.
func TestNextIsUnavailableWhileADurableServerRefusesRaises(t *testing.T) {
	t.Parallel()
	eachDurable(t, "everysec", func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		config(t, s, "maxmemory", "1")
		for kind, next := range map[string]func() error{
			"a collection": func() error { _, err := a.Next(t.Context(), "orders"); return err },
			"an identity":  func() error { _, err := a.NextIdentity(t.Context(), "companies"); return err },
		} {
			if err := next(); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "OOM") {
				t.Errorf("%s: got %v, want ErrUnavailable, text with OOM", kind, err)
			}
		}
		if a.Stats().Servers[0].Up {
			t.Error("got the server up, want it down")
		}
		config(t, s, "maxmemory", "0")
		if n := untilServed(t, a); n != 1 {
			t.Errorf("got %d, want 1", n)
		}
	})
}

// Callers that gave up while the ceiling could not be raised get nothing afterwards, so that they leave no gap.
func TestNextIdentityForgetsCallersThatGaveUpOnACeiling(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		s.initialize("Durable", "everysec")
		s.set("aof_enabled", "0")
		a := mustNew(t, s.client(t), Options{})
		var callers sync.WaitGroup
		for i := range 50 {
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				n, err := a.NextIdentity(ctx, "companies")
				if !errors.Is(err, ErrNotDurable) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "append-only file is off") {
					t.Errorf("got %d, %v, want ErrNotDurable that names the append-only file", n, err)
				}
			})
		}
		callers.Wait()
		s.set("aof_enabled", "1")
		if n, err := a.NextIdentity(t.Context(), "companies"); n != 1 || err != nil {
			t.Errorf("got %d, %v with the file on again, want 1, <nil>", n, err)
		}
	})
}

// A raise in the background is no write that keeps ranges from being returned.
func TestCloseReturnsRangesToADurableServer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		s.initialize("Durable", "everysec")
		a := mustNew(t, s.client(t), Options{})
		for range 50 {
			mustNumber(t, a, "orders")
		}
		<-time.After(time.Minute) // for the raise
		if s.HGet("{Raven}/HiLo/orders", "Ceiling") == "96" {
			t.Error("got the ceiling 96, want a higher one, or the test proves nothing")
		}
		mustClose(t, a)
		if max := s.HGet("{Raven}/HiLo/orders", "Max"); max != "50" {
			t.Errorf("got Max %s, want 50", max)
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
			s := startDurableMini(t, "always")
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
