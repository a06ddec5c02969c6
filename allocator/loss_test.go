package allocator

import (
	"errors"
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

// observed returns a logger and a record of its entries.
func observed() (*zap.Logger, *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.WarnLevel)
	return zap.New(core), logs
}

func TestNextNumberContinuesAboveTheFloorOfALostCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
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
			t.Errorf("got %d after the loss, want it above %d", last, seen+1024)
		}
		errs := logs.FilterLevelExact(zapcore.ErrorLevel).All()
		if len(errs) != 1 || errs[0].ContextMap()["evidence"] != "missing" {
			t.Errorf("got log %v, want 1, missing", logs.All())
		}
		if got := statsOf(a).Jumps; got != 1 {
			t.Errorf("got %d jumps, want 1", got)
		}
	})
}

// The counter is deleted and grows above the floor of an active client before that client sends another request.
func TestNextNumberDetectsACounterThatWasRecreated(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		log, logs := observed()
		opts := Options{MinCapacity: 10, MaxCapacity: 10, Runway: time.Nanosecond, Logger: log}
		var numbers []int64 // before the counter was lost
		take := func(a *Allocator, count int) {
			for range count {
				numbers = append(numbers, mustNumber(t, a, "orders"))
			}
		}
		visit := func() { // of a client that ends
			a := mustNew(t, client, opts)
			take(a, 60)
			if err := a.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		visit()
		living := mustNew(t, client, opts)
		take(living, 1)
		visit()
		client.Del(t.Context(), "{Raven}/HiLo/orders")
		fresh := mustNew(t, client, Options{MinCapacity: 100, MaxCapacity: 100, Runway: time.Nanosecond, Logger: log})
		mustNumber(t, fresh, "orders")
		take(living, 60)
		wantDistinct(t, numbers)
		if jumps := statsOf(living).Jumps; jumps != 1 {
			t.Errorf("got %d jumps, want 1", jumps)
		}
		if errs := logs.FilterLevelExact(zapcore.ErrorLevel).All(); len(errs) != 1 || !strings.Contains(errs[0].Message, "lost writes") {
			t.Errorf("got log %v, want one error", logs.All())
		}
	})
}

// A Redis without persistence is killed while workers run, and restarts without the counter. A plain INCR then repeats numbers,
// which the test shows first.
func TestNextNumberNeverRepeatsAfterARestartWithoutData(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 3000
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)

		bare := func() []int64 {
			return runConcurrently(t, workers, 10, func(int) (int64, error) { return client.Incr(t.Context(), "bare").Result() })
		}
		before := bare()
		s.Restart()
		s.Initialize("Raven")
		if after := bare(); after[0] > int64(len(before)) {
			t.Errorf("got %d without the guard, want a number that was issued before, or the test proves nothing", after[0])
		}

		log, logs := observed()
		a := mustNew(t, redistest.NewClient(t, s), Options{Logger: log, MaxCapacity: 64, Runway: 10 * time.Millisecond})
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
		wg.Go(func() { numbers = runConcurrently(t, workers, each, next) })
		for statsOf(a).Issued < workers*each/3 && !t.Failed() {
			<-time.After(time.Millisecond)
		}
		s.Restart()
		wg.Wait()
		numbers = append(numbers, runConcurrently(t, workers, each, next)...) // the first ones may all have come before
		wantDistinct(t, numbers)
		if len(numbers) != 2*workers*each {
			t.Errorf("got %d numbers, want %v", len(numbers), 2*workers*each)
		}
		if jumps := logs.FilterField(zap.String("key", "{Raven}/HiLo/orders")).Len(); jumps != 1 {
			t.Errorf("%d lines about the jump: got %v, want 1", jumps, logs.All())
		}
	})
}

func TestNextNumberJumpsOnceAfterAFailoverToOlderState(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		proxy := redistest.NewProxy(t, s)
		throughProxy := redis.NewClient(redistest.Options(proxy))
		t.Cleanup(func() { _ = throughProxy.Close() })
		log, logs := observed()
		opts := Options{MinCapacity: 10, MaxCapacity: 10, Runway: time.Nanosecond, Logger: log}
		old, fresh := mustNew(t, throughProxy, opts), mustNew(t, client, opts)
		var numbers []int64
		for range 5 {
			numbers = append(numbers, mustNumber(t, old, "orders"))
		}
		snapshot := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val()
		for range 25 {
			numbers = append(numbers, mustNumber(t, old, "orders"))
		}
		proxy.Refuse(true) // no request arrives before the older state is restored
		proxy.Cut()
		s.Restart()
		s.Initialize("Raven")
		client.HSet(t.Context(), "{Raven}/HiLo/orders", snapshot)
		numbers = append(numbers, untilServed(t, fresh)) // it has no floor, so only the origin shows it the loss
		proxy.Refuse(false)
		for range 50 {
			numbers = append(numbers, untilServed(t, fresh), untilServed(t, old))
		}
		wantDistinct(t, numbers)
		warnings := logs.FilterMessageSnippet("jumped").All()
		if len(warnings) != 1 || warnings[0].Level != zapcore.WarnLevel || warnings[0].ContextMap()["jump"] == int64(0) {
			t.Errorf("got the log %v, want one warning with the jump", warnings)
		}
	})
}
