package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// history records the concurrent operations of clients on one counter, and when each began and ended.
type history struct {
	start time.Time
	mu    sync.Mutex // guards what follows
	ops   []porcupine.Operation
}

// call is one operation on a counter.
type call struct {
	verb string // next, return or identity
	n    int64  // next: capacity; return: the end of the range
	last int64  // return: the last number used
}

// reply is its outcome, unknown where none came.
type reply struct {
	unknown   bool
	low, high int64 // next, identity
	ok        bool  // return
}

// record runs one operation and records it.
func (h *history) record(client int, c call, run func() reply) {
	began := time.Since(h.start)
	r := run()
	ended := time.Since(h.start)
	if r.unknown {
		ended = time.Hour // it may take effect at any time from its beginning
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{
		ClientId: client, Input: c, Call: began.Nanoseconds(), Output: r, Return: ended.Nanoseconds(),
	})
}

// counterModel returns the sequential specification of a counter. A range begins directly above everything that was issued, and a
// return that succeeds lowers that bound. With gaps a range may begin anywhere above it.
func counterModel(gaps bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, output any) (bool, any) {
			top, c, r := state.(int64), input.(call), output.(reply)
			switch {
			case c.verb == "return" && !r.ok:
				return true, top
			case c.verb == "return":
				return top == c.n, c.last
			case r.unknown:
				return true, top + c.n
			case gaps:
				return r.low > top && r.high == r.low+c.n-1, r.high
			default:
				return r.low == top+1 && r.high == r.low+c.n-1, r.high
			}
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

func (h *history) check(t *testing.T, model porcupine.Model) {
	t.Helper()
	if len(h.ops) < 100 {
		t.Fatalf("a history of %d operations", len(h.ops))
	}
	if result := porcupine.CheckOperationsTimeout(model, h.ops, 30*time.Second); result != porcupine.Ok {
		t.Errorf("the history of %d operations is not that of one counter: %s", len(h.ops), result)
	}
}

func TestCounterModelRejectsOtherHistories(t *testing.T) {
	t.Parallel()
	op := func(client int, began, ended int64, c call, r reply) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: c, Call: began, Output: r, Return: ended}
	}
	next := call{verb: "next", n: 10}
	first, second := reply{low: 1, high: 10}, reply{low: 11, high: 20}
	tests := []struct {
		name string
		gaps bool
		ops  []porcupine.Operation
		ok   bool
	}{
		{"in turn", false, []porcupine.Operation{op(0, 1, 2, next, first), op(1, 3, 4, next, second)}, true},
		{"side by side", false, []porcupine.Operation{op(0, 1, 4, next, second), op(1, 2, 3, next, first)}, true},
		{"twice", false, []porcupine.Operation{op(0, 1, 4, next, first), op(1, 2, 3, next, first)}, false},
		{"twice where gaps may be", true, []porcupine.Operation{op(0, 1, 4, next, first), op(1, 2, 3, next, first)}, false},
		{"backwards", true, []porcupine.Operation{op(0, 1, 2, next, second), op(1, 3, 4, next, first)}, false},
		{"a gap", false, []porcupine.Operation{op(0, 1, 2, next, second)}, false},
		{"a gap where they may be", true, []porcupine.Operation{op(0, 1, 2, next, second)}, true},
		{"after a reply that was lost", false, []porcupine.Operation{op(0, 1, 99, next, reply{unknown: true}), op(1, 3, 4, next, second)}, true},
		{"returned and given again", false, []porcupine.Operation{
			op(0, 1, 2, next, first), op(0, 3, 4, call{"return", 10, 0}, reply{ok: true}), op(1, 5, 6, next, first)}, true},
		{"given again before it was returned", false, []porcupine.Operation{
			op(0, 1, 2, next, first), op(1, 3, 4, next, first), op(0, 5, 6, call{"return", 10, 0}, reply{ok: true})}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := porcupine.CheckOperations(counterModel(test.gaps), test.ops); got != test.ok {
				t.Errorf("it is %v", got)
			}
		})
	}
}

// Clients take ranges and return what they did not use, concurrently.
func TestRangesAndReturnsAreLinearizable(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		ofRanges(t, b, func(*redistest.Proxy) {}).check(t, counterModel(false))
	})
}

// Replies are lost, and each request is sent again until a reply arrives. A range whose reply was lost is a gap if the server
// serves another client before it receives the request again.
func TestRangesAndReturnsAreLinearizableWhenRepliesAreLost(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		ofRanges(t, b, lossy).check(t, counterModel(true))
	})
}

func ofRanges(t *testing.T, b redistest.Binary, tamper func(*redistest.Proxy)) *history {
	t.Helper()
	const clients, each = 5, 30
	s := redistest.Start(t, b)
	proxy := redistest.NewProxy(t, s)
	tamper(proxy)
	h := &history{start: time.Now()}
	keys := scripts.Keys{Counter: counterKey, Server: "{Raven}/ServerPrefixForHilo", Other: "{Raven}/Identities/orders"}
	var wg sync.WaitGroup
	for i := range clients {
		client := redis.NewClient(redistest.Options(proxy))
		t.Cleanup(func() { _ = client.Close() })
		wg.Go(func() {
			floor := int64(0)
			for n := range each {
				request := scripts.NextRequest{
					Token: fmt.Sprint(i, " ", n), Name: "orders", Capacity: int64(1 + n%7), Limit: 1<<63 - 1, Marks: scripts.Marks{Floor: floor},
				}
				var got scripts.Range
				h.record(i, call{verb: "next", n: request.Capacity}, func() reply {
					got = untilAnswered(t, func() (scripts.Range, error) { return scripts.Next(t.Context(), client, keys, request) })
					return reply{low: got.Low, high: got.High}
				})
				floor = got.High
				if n%2 == 0 {
					continue
				}
				// A return that is sent again is refused the second time, whatever the outcome of the first.
				back := scripts.ReturnRequest{
					Counter: counterKey, Token: request.Token, End: got.High, Last: got.Low, Epoch: got.Epoch, Written: got.Written,
				}
				direct := redistest.NewClient(t, s)
				h.record(i, call{verb: "return", n: back.End, last: back.Last}, func() reply {
					return reply{ok: untilAnswered(t, func() (bool, error) { return scripts.Return(t.Context(), direct, back) })}
				})
				floor = got.Low
			}
		})
	}
	wg.Wait()
	return h
}

// The values of an identity are in the order of the calls of all clients, even when the server is killed meanwhile.
func TestIdentitiesAreLinearizable(t *testing.T) {
	t.Parallel()
	const clients, each = 5, 40
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		s := redistest.Start(t, b, "--appendonly", "yes")
		proxy := redistest.NewProxy(t, s)
		h := &history{start: time.Now()}
		var wg sync.WaitGroup
		run := func() {
			for i := range clients {
				client := redis.NewClient(redistest.Options(proxy))
				t.Cleanup(func() { _ = client.Close() })
				ids, err := allocator.New(client, allocator.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = ids.Close(context.Background()) })
				wg.Go(func() {
					for range each {
						h.record(i, call{verb: "identity", n: 1}, func() reply {
							n, err := ids.NextIdentity(t.Context(), "companies")
							if err != nil && !errors.Is(err, allocator.ErrUnavailable) {
								t.Error(err)
							}
							return reply{unknown: err != nil, low: n, high: n}
						})
					}
				})
			}
		}
		run()
		wg.Wait()
		h.check(t, counterModel(false)) // without a fault there is no gap
		lossy(proxy)
		run()
		for range 3 {
			pass(20 * time.Millisecond)
			s.Restart()
		}
		wg.Wait()
		h.check(t, counterModel(true))
	})
}

// lossy loses every tenth reply.
func lossy(proxy *redistest.Proxy) {
	var mu sync.Mutex
	n := 0
	proxy.Tamper(func(reply []byte) (time.Duration, int) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%10 == 0 {
			return 0, 0
		}
		return 0, len(reply)
	})
}

// untilAnswered sends a request again until a reply comes.
func untilAnswered[T any](t *testing.T, send func() (T, error)) T {
	for {
		got, err := send()
		if err == nil {
			return got
		}
		if scripts.Answered(err) || t.Context().Err() != nil {
			t.Error(err)
			return got
		}
	}
}
