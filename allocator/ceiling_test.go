package allocator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts/redistest"
)

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

// A collection is refilled although another one waits for a ceiling, even if only one is refilled at a time.
func TestCollectionsThatWaitForACeilingDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *bubbleServer) {
		s.initialize("Durable", "always")
		a := mustNew(t, s.client(t), Options{MinCapacity: 4, MaxCapacity: 4, Runway: time.Nanosecond})
		a.refillSlots = make(chan struct{}, 1)
		mustNumber(t, a, "users") // and up to 4+64 below the ceiling
		s.set("aof_enabled", "0")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { _, _ = a.NextNumber(ctx, "orders") }()
		synctest.Wait()
		for want := int64(2); want <= 4+64; want++ {
			if got, err := a.NextNumber(ctx, "users"); got != want || err != nil {
				t.Fatalf("got %d, %v, want %d", got, err, want)
			}
		}
		if got := a.Stats().Servers[0]; !errors.Is(got.CeilingErr, ErrNotDurable) {
			t.Errorf("got %+v, want that orders wait", got)
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
	s := startDurableMini(t)
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
		s := startDurableMini(t)
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
		north, south := startDurableMini(t), startDurableMini(t)
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
