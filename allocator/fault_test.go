package allocator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestAFlushOfTheScriptsIsNotNoticed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		a := mustNew(t, client, Options{})
		for want := int64(1); want <= 200; want++ {
			client.ScriptFlush(t.Context())
			if got := mustNumber(t, a, "orders"); got != want {
				t.Fatalf("got %d, want %d", got, want)
			}
		}
		client.ScriptFlush(t.Context())
		mustClose(t, a)
		wantMax(t, client, "200")
	})
}

// A reply that is lost burns no range and gives none twice, whether go-redis
// sends the request again by itself or the next refill does.
func TestALostReplyLosesNothing(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{-1, 3} {
		redistest.Each(t, func(t *testing.T, s *redistest.Server) {
			direct := s.Client(t)
			proxy := redistest.NewProxy(t, s)
			opts := proxy.Options()
			opts.MaxRetries = retries
			client := redis.NewClient(opts)
			t.Cleanup(func() { _ = client.Close() })
			a := mustNew(t, client, Options{MinCapacity: 10, MaxCapacity: 10, Runway: time.Nanosecond})
			next := func() int64 {
				for {
					n, err := a.NextNumber(t.Context(), "orders")
					if err == nil {
						return n
					}
					if retries > 0 || !errors.Is(err, ErrUnavailable) {
						t.Fatal(err)
					}
				}
			}
			want := int64(0)
			check := func() {
				t.Helper()
				want++
				if got := next(); got != want {
					t.Fatalf("got %d, want %d", got, want)
				}
			}
			for range 10 {
				check() // the script is known to the server
				for dropped := proxy.DropReply("evalsha"); !over(dropped); {
					check()
				}
			}
			for held := statsOf(a).Held; held >= 0; held-- { // the last one lost is asked for again
				check()
			}
			mustClose(t, a)
			wantMax(t, direct, fmt.Sprint(want))
		})
	}
}

func over(event <-chan struct{}) bool {
	select {
	case <-event:
		return true
	default:
		return false
	}
}

func TestACutConnectionLosesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s)
		client := redis.NewClient(proxy.Options())
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{MinCapacity: 10, MaxCapacity: 10})
		for want := int64(1); want <= 300; want++ {
			if want%7 == 0 {
				proxy.Cut()
			}
			if got := mustNumber(t, a, "orders"); got != want {
				t.Fatalf("got %d, want %d", got, want)
			}
		}
	})
}

func TestAServerThatWillNotServeIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"READONLY You can't write against a read only replica.",
		"LOADING Redis is loading the dataset in memory",
		"NOPERM this user has no permissions to run the 'evalsha' command",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"CLUSTERDOWN The cluster is down",
		"MISCONF Redis is configured to save RDB snapshots",
	} {
		t.Run(strings.Fields(reply)[0], func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			a := mustNew(t, s.Client(t), Options{})
			s.Hook(func(cmd string, _ []string) string {
				if cmd == "EVALSHA" || cmd == "EVAL" {
					return reply
				}
				return ""
			})
			if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), reply) {
				t.Errorf("%v", err)
			}
			s.Hook(nil)
			if got := mustNumber(t, a, "orders"); got != 1 {
				t.Errorf("afterwards %d", got)
			}
		})
	}
}

func TestAReplicaThatIsReadOnlyIsUnavailable(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		a := mustNew(t, client, Options{MinCapacity: 1, MaxCapacity: 1, Runway: time.Nanosecond})
		mustNumber(t, a, "orders")
		if err := client.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := a.Next(t.Context(), "orders"); err != nil {
				if !errors.Is(err, ErrUnavailable) {
					t.Error(err)
				}
				return
			}
		}
		t.Error("it gave ranges")
	})
}

func TestStateWrittenByHandIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, max := range []string{"abc", "01", "-5", "", "9223372036854775808", "1.5"} {
			a := mustNew(t, client, Options{})
			client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", max)
			_, err := a.Next(t.Context(), "orders")
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "{Raven}/HiLo/orders") || !strings.Contains(err.Error(), `"`+max+`"`) {
				t.Errorf("%q: %v", max, err)
			}
			wantMax(t, client, max)
		}
		client.Set(t.Context(), "{Raven}/HiLo/users", "4000", 0)
		a := mustNew(t, client, Options{})
		if _, err := a.Next(t.Context(), "users"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a string: %v", err)
		}
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North\u00a0")
		if _, err := a.Next(t.Context(), "people"); !errors.Is(err, ErrCorrupt) || !errors.Is(err, ErrInvalidName) {
			t.Errorf("a prefix with white space: %v", err)
		}
	})
}

func TestACounterByHandIsEnough(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), "{Raven}/HiLo/accounts", "Max", 4000)
		a := mustNew(t, client, Options{})
		for want := int64(4001); want <= 4032; want++ {
			if got := mustNumber(t, a, "accounts"); got != want {
				t.Fatalf("got %d, want %d", got, want)
			}
		}
	})
}

// observed is a logger and what it wrote.
func observed() (*zap.Logger, *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.WarnLevel)
	return zap.New(core), logs
}

func TestACounterThatVanishesIsGoneOnAboveTheFloor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		log, logs := observed()
		a := mustNew(t, client, Options{MinCapacity: 10, MaxCapacity: 10, Runway: time.Nanosecond, Logger: log})
		for range 30 {
			mustNumber(t, a, "orders")
		}
		seen := statsOf(a).Reserved
		client.Del(t.Context(), "{Raven}/HiLo/orders")
		var numbers []int64
		for range 50 {
			numbers = append(numbers, mustNumber(t, a, "orders"))
		}
		wantDistinct(t, numbers)
		if last := numbers[len(numbers)-1]; last <= seen+1024 {
			t.Errorf("it goes on at %d", last)
		}
		errs := logs.FilterLevelExact(zapcore.ErrorLevel).All()
		if len(errs) != 1 || errs[0].ContextMap()["evidence"] != "missing" {
			t.Errorf("logged %v", logs.All())
		}
		if got := statsOf(a).Jumps; got != 1 {
			t.Errorf("%d jumps", got)
		}
	})
}

// A Redis without persistence is killed while workers run, and comes back
// without any counter; then with the counter as of some time before. The bare
// way, an INCRBY per range, gives numbers twice: the test shows that first.
func TestAKilledRedisThatForgetsGivesNoNumberTwice(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 3000
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)

		bare := func() []int64 {
			return fleet(t, workers, 10, func(int) (int64, error) { return client.Incr(t.Context(), "bare").Result() })
		}
		before := bare()
		s.Restart()
		if after := bare(); after[0] > int64(len(before)) {
			t.Error("the bare way did not show the fault")
		}

		log, logs := observed()
		a := mustNew(t, s.Client(t), Options{Logger: log, MaxCapacity: 64, Runway: 10 * time.Millisecond})
		next := func(int) (int64, error) {
			for {
				n, err := a.NextNumber(t.Context(), "orders")
				if err == nil || !errors.Is(err, ErrUnavailable) {
					return n, err
				}
			}
		}
		var numbers []int64
		var wg sync.WaitGroup
		wg.Go(func() { numbers = fleet(t, workers, each, next) })
		for statsOf(a).Issued < workers*each/3 {
		}
		s.Restart()
		wg.Wait()
		wantDistinct(t, numbers)
		if len(numbers) != workers*each {
			t.Errorf("%d numbers", len(numbers))
		}
		if jumps := logs.FilterField(zap.String("key", "{Raven}/HiLo/orders")).Len(); jumps != 1 {
			t.Errorf("%d lines about the jump: %v", jumps, logs.All())
		}
	})
}

func TestAPromotedServerWithOlderStateMakesTheCounterJumpOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		proxy := redistest.NewProxy(t, s)
		throughProxy := redis.NewClient(proxy.Options())
		t.Cleanup(func() { _ = throughProxy.Close() })
		log, logs := observed()
		opts := Options{MinCapacity: 10, MaxCapacity: 10, Runway: time.Nanosecond, Logger: log}
		old, fresh := mustNew(t, throughProxy, opts), mustNew(t, throughProxy, opts)
		var numbers []int64
		for range 5 {
			numbers = append(numbers, mustNumber(t, old, "orders"))
		}
		snapshot := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val()
		for range 25 {
			numbers = append(numbers, mustNumber(t, old, "orders"))
		}
		proxy.Refuse(true) // nobody asks before the older state is back
		proxy.Cut()
		s.Restart()
		client.HSet(t.Context(), "{Raven}/HiLo/orders", snapshot)
		proxy.Refuse(false)
		for range 50 { // the fresh one has no floor; only the origin tells it, if it asks first
			numbers = append(numbers, untilServed(t, fresh), untilServed(t, old))
		}
		wantDistinct(t, numbers)
		warnings := logs.FilterMessageSnippet("jumped").All()
		if len(warnings) != 1 || warnings[0].Level != zapcore.WarnLevel || warnings[0].ContextMap()["jump"] == int64(0) {
			t.Errorf("logged %v", warnings)
		}
	})
}

// untilServed takes a number as soon as the server serves.
func untilServed(t *testing.T, a *Allocator) int64 {
	t.Helper()
	for {
		n, err := a.NextNumber(t.Context(), "orders")
		if err == nil {
			return n
		}
		if !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
	}
}

func TestRedisAwayKeepsNobodyLongerThanTheirTime(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, s.Client(t), Options{})
		c := mustCollection(t, a, "orders")
		for _, away := range []struct {
			name string
			do   func()
		}{{"stopped", s.Pause}, {"killed", s.Kill}} {
			away.do()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			start := time.Now()
			_, err := c.Next(ctx)
			took := time.Since(start)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v", away.name, err)
			}
			if took > 5*time.Second { // generous for a busy machine; the exact time is held in a bubble
				t.Errorf("%s: it took %v", away.name, took)
			}
			if _, ok := c.TryNext(); ok {
				t.Errorf("%s: TryNext has a number", away.name)
			}
		}
		s.Restart()
		for {
			if _, err := c.Next(t.Context()); err == nil {
				break
			} else if !errors.Is(err, ErrUnavailable) {
				t.Fatal(err)
			}
		}
	})
}

// workerACL is the user of the README: what it names, a worker needs; what it
// does not, it does without.
var workerACL = []string{
	"on", ">secret", "resetkeys", "~{Raven}/*", "resetchannels", "-@all",
	"+evalsha", "+eval", "+hmget", "+hset", "+hdel", "+exists", "+time", "+info",
	"+hello",
}

func TestTheRightsOfTheReadmeAreEnoughForAWorker(t *testing.T) {
	t.Parallel()
	for _, info := range []bool{true, false} {
		redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
			operator := s.Client(t)
			rule := []any{"ACL", "SETUSER", "worker"}
			for _, word := range workerACL {
				if word != "+info" || info {
					rule = append(rule, word)
				}
			}
			if err := operator.Do(t.Context(), rule...).Err(); err != nil {
				t.Fatal(err)
			}
			opts := s.Options()
			opts.Username, opts.Password = "worker", "secret"
			client := redis.NewClient(opts)
			t.Cleanup(func() { _ = client.Close() })
			a := mustNew(t, client, Options{})
			for want := int64(1); want <= 100; want++ {
				if got := mustNumber(t, a, "orders"); got != want {
					t.Fatalf("got %d, want %d", got, want)
				}
			}
			mustClose(t, a)
			wantMax(t, operator, "100")
			if origin := operator.HGet(t.Context(), "{Raven}/HiLo/orders", "Origin").Val(); (origin != "") != info {
				t.Errorf("with INFO %v the origin is %q", info, origin)
			}
		})
	}
}

func TestACollectionAndAnIdentityOfOneNameAreRefusedWithoutPrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), prefix.NewKeys("Raven").Identity("orders"), "Value", 7)
		a := mustNew(t, client, Options{})
		if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrMixed) {
			t.Errorf("without prefix: %v", err)
		}
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "N/")
		if got := mustNumber(t, a, "orders"); got != 1 {
			t.Errorf("with a prefix: %d", got)
		}
	})
}
