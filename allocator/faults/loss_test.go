package faults

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const counterKey = "{Raven}/HiLo/orders"

// lost are the ways in which a counter vanishes under active workers.
var lost = []struct {
	name string
	args []string
	lose func(t *testing.T, s *redistest.Server, key string)
}{
	{name: "FLUSHALL", lose: func(t *testing.T, s *redistest.Server, _ string) {
		if err := s.Client(t).FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "a deleted counter", lose: func(t *testing.T, s *redistest.Server, key string) {
		if n, err := s.Client(t).Del(t.Context(), key).Result(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}},
	{name: "SWAPDB with an empty database", lose: func(t *testing.T, s *redistest.Server, _ string) {
		swap(t, s) // the second time it brings the old counter back
	}},
	{name: "eviction", args: []string{"--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru", "--maxmemory-eviction-tenacity", "100"}, lose: evict},
}

// evict fills the memory until the server evicts the counter. Redis measures by the second how long a key was not used, and the
// counter is in use all the time. It is only chosen if most keys were used in the same second, so a script writes thousands of
// them. With this tenacity all excess keys are evicted before the next command. That command removes the script's keys, so that
// the counter is not evicted a second time immediately afterwards, together with its jump.
func evict(t *testing.T, s *redistest.Server, key string) {
	t.Helper()
	client := redistest.NewClient(t, s)
	counter := func() (state string) { // that it is new shows in its first field
		if strings.HasPrefix(key, bareKey) {
			return client.Get(t.Context(), key).Val()
		}
		return client.HGet(t.Context(), key, "Ranges").Val()
	}
	before := number(t, counter())
	deadline := time.After(patience)
	const (
		fill = `local junk = string.rep('x', 10000) for i = 1, 3000 do redis.call('SET', 'junk' .. i, junk) end`
		take = `for i = 1, 3000 do redis.call('DEL', 'junk' .. i) end`
	)
	for {
		_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Eval(t.Context(), fill, nil)
			p.Eval(t.Context(), take, nil)
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		now := counter()
		if now == "" || number(t, now) < before {
			return
		}
		before = number(t, now)
		select {
		case <-deadline:
			t.Fatal("the counter was not evicted")
		default:
		}
	}
}

func number(t *testing.T, text string) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return n
}

func (f *fleet) counter() string {
	if f.bare {
		return bareKey
	}
	return counterKey
}

func TestVanishedCounterUnderActiveWorkersRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	for _, test := range lost {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				proves(t, func(t *testing.T, f *fleet) {
					s := redistest.Start(t, b, test.args...)
					f.start(4, steady(at(s)))
					for range 3 {
						f.awaitTotal(20_000)
						test.lose(t, s, f.counter())
					}
					f.awaitEach(1000)
				})
			})
		})
	}
}

var seededOnly = prefix.Server{SeededOnly: true}

// New workers have no evidence of a counter that vanished. They are refused where the settings are gone too, or make no counters.
func TestVanishedCounterUnderNewWorkersRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	for _, test := range lost {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				proves(t, func(t *testing.T, f *fleet) {
					s := redistest.Start(t, b, test.args...)
					operator, err := admin.New(redistest.NewClient(t, s), admin.Options{})
					if err != nil {
						t.Fatal(err)
					}
					seed := func(value int64) {
						if _, err := operator.Seed(t.Context(), "orders", value, false); err != nil {
							t.Fatal(err)
						}
					}
					j := steady(at(s))
					if err := operator.SetServerPrefix(t.Context(), seededOnly); err != nil {
						t.Fatal(err)
					}
					seed(100)
					f.start(3, j)
					f.awaitTotal(10_000)
					f.kill() // one that saw the counter would make it again
					test.lose(t, s, f.counter())
					f.start(3, j)
					if f.bare {
						f.awaitEach(1000)
						return
					}
					for _, w := range f.running() {
						w.awaitError(allocator.ErrNotSeeded.Error())
					}
					for _, w := range f.running() {
						if w.used > 0 {
							t.Errorf("%s used %d numbers of a counter that is gone", w.name, w.used)
						}
					}
					if err := operator.Init(t.Context(), seededOnly); err != nil && !errors.Is(err, admin.ErrInitialized) {
						t.Fatal(err)
					}
					seed(10_000_000)
					f.awaitEach(1000)
				})
			})
		})
	}
}
