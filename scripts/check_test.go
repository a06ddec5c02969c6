package scripts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestCheckReturnsTheRefusalOfNext compares the two on states that next refuses, and on some that it does not.
func TestCheckReturnsTheRefusalOfNext(t *testing.T) {
	t.Parallel()
	type hash map[string]any
	numbers := []string{"Low", "Ranges", "Epoch", "Minute", "Issued", "IssuedBefore", "Bare", "Written"}
	type state struct {
		name                   string
		counter, server, other hash
		seeded                 bool
		limit                  int64
		want                   error
	}
	states := []state{
		{name: "none"},
		{name: "a counter", counter: hash{"Max": 5}, seeded: true},
		{name: "a missing counter", seeded: true, want: ErrNotSeeded},
		{name: "Max at the limit", counter: hash{"Max": 100}, limit: 100, want: ErrExhausted},
		{name: "Max below the limit", counter: hash{"Max": 99}, limit: 100},
		{name: "Max above the limit", counter: hash{"Max": 1000}, limit: 100, want: ErrExhausted},
		{name: "Max at MaxValue", counter: hash{"Max": 100}, server: hash{"MaxValue": 100}, want: ErrExhausted},
		{name: "Max below MaxValue", counter: hash{"Max": 99}, server: hash{"MaxValue": 100}},
		{name: "MinValue at the limit", server: hash{"MinValue": 100}, limit: 100},
		{name: "MinValue above the limit", server: hash{"MinValue": 101}, limit: 100, want: ErrExhausted},
		{name: "MinValue above a counter", counter: hash{"Max": 5}, server: hash{"MinValue": 101}, limit: 100, want: ErrExhausted},
		{name: "an identity", other: hash{"Value": 5}, want: ErrMixed},
		{name: "an identity and a tag", other: hash{"Value": 5}, server: hash{"NodeTag": "A"}},
		{name: "a bad tag", server: hash{"NodeTag": "-"}, want: ErrCorrupt},
		{name: "Max of words", counter: hash{"Max": "many"}, want: ErrCorrupt},
		{name: "a lease without Max", counter: hash{"Lease": "x"}, want: ErrCorrupt},
		{name: "an origin without Max", counter: hash{"Origin": "x"}, want: ErrCorrupt},
		{name: "a name without Max", counter: hash{"Name": "orders"}},
	}
	for _, field := range numbers {
		states = append(states,
			state{name: field + " of words", counter: hash{"Max": 5, field: "1e3"}, want: ErrCorrupt},
			state{name: field + " without Max", counter: hash{field: 1}, want: ErrCorrupt})
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for i, test := range states {
			namespace := fmt.Sprintf("{n%d}/", i)
			keys := Keys{Counter: namespace + "HiLo/orders", Server: namespace + "ServerPrefixForHilo", Other: namespace + "Identities/orders"}
			for key, fields := range map[string]hash{keys.Counter: test.counter, keys.Server: test.server, keys.Other: test.other} {
				if len(fields) > 0 {
					client.HSet(t.Context(), key, map[string]any(fields))
				}
			}
			before := client.HGetAll(t.Context(), keys.Counter).Val()
			limit := test.limit
			if limit == 0 {
				limit = math.MaxInt64
			}
			if err := Check(t.Context(), client, CheckRequest{Keys: keys, Limit: limit, RequireSeeded: test.seeded}); !errors.Is(err, test.want) {
				t.Errorf("check of %s: got %v, want %v", test.name, err, test.want)
			}
			if after := client.HGetAll(t.Context(), keys.Counter).Val(); !maps.Equal(after, before) {
				t.Errorf("check of %s: got %v, want %v as before", test.name, after, before)
			}
			r := request("a")
			r.Limit, r.RequireSeeded = limit, test.seeded
			if _, err := Next(t.Context(), client, keys, r); !errors.Is(err, test.want) {
				t.Errorf("next of %s: got %v, want %v", test.name, err, test.want)
			}
		}
	})
}

func TestCheckWithoutInfo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		mustNext(t, s.Client(t), request("a"))
		client := withoutInfo(t, s)
		r := CheckRequest{Keys: keys, Limit: math.MaxInt64}
		if err := Check(t.Context(), client, r); !errors.Is(err, ErrUnguarded) {
			t.Errorf("got %v, want ErrUnguarded", err)
		}
		r = CheckRequest{Keys: Keys{Counter: keys.Server, Server: keys.Server, Other: keys.Server}, Replicas: 1}
		if err := Check(t.Context(), client, r); err != nil {
			t.Errorf("replicas that cannot be seen: got %v, want <nil>", err)
		}
	})
}

func TestCheckCountsReplicasThatFollow(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		check := func(ctx context.Context, n int) error {
			return Check(ctx, client, CheckRequest{Keys: Keys{keys.Server, keys.Server, keys.Server}, Replicas: n, Timeout: time.Second})
		}
		for following := range 3 {
			if following > 0 {
				redistest.StartReplica(t, s)
			}
			s.Await(fmt.Sprintf("to count %d replicas", following), func(ctx context.Context) bool { return check(ctx, following) == nil })
			if err := check(t.Context(), following+1); !errors.Is(err, ErrNotDurable) || !strings.Contains(err.Error(), fmt.Sprintf("%d of %d replicas", following, following+1)) {
				t.Errorf("%d of %d: got %v, want ErrNotDurable", following, following+1, err)
			}
		}
	})
}

func TestCheckRefusesBadArguments(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for _, args := range [][]any{{"x", "0", "2"}, {"100", "0", "x"}, {"100", "0"}, {"100", "0", "2", "3"}} {
			_, err := decode(check.Run(t.Context(), s.Client(t), []string{keys.Server, keys.Server, keys.Server}, args...), 1)
			if err == nil || !strings.Contains(err.Error(), "bug: a script was called with a bad argument") {
				t.Errorf("%v: got %v, want a bad argument", args, err)
			}
		}
	})
}

func TestWriteRefusedIsTheRefusalOfAnyWrite(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.Do(t.Context(), "CONFIG", "SET", "min-replicas-to-write", 1)
		r := CheckRequest{Keys: keys, Limit: math.MaxInt64}
		if err := Check(t.Context(), client, r); !WriteRefused(err) || !strings.HasPrefix(err.Error(), "NOREPLICAS") {
			t.Errorf("got %v, want NOREPLICAS", err)
		}
		client.Do(t.Context(), "CONFIG", "SET", "min-replicas-to-write", 0)
		r.RequireSeeded = true
		if err := Check(t.Context(), client, r); WriteRefused(err) || !errors.Is(err, ErrNotSeeded) {
			t.Errorf("got %v, want ErrNotSeeded, which is no refusal of any write", err)
		}
	})
	if WriteRefused(errors.New("OOM")) {
		t.Error("an error that is no reply: got true, want false")
	}
}

// oneTrip counts round trips.
type oneTrip struct{ n atomic.Int64 }

func (*oneTrip) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *oneTrip) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { h.n.Add(1); return next(ctx, cmd) }
}

func (h *oneTrip) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { h.n.Add(1); return next(ctx, cmds) }
}

func TestDescribeAndCheckTakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client, trips := redistest.NewClient(t, s), new(oneTrip)
		client.HSet(t.Context(), keys.Server, "ServerPrefix", "N/", "Durable", "replicas:1")
		request := CheckRequest{Keys: Keys{Counter: keys.Server, Server: keys.Server, Other: keys.Server}, Limit: math.MaxInt64}
		both := func() Description {
			t.Helper()
			got, err := DescribeAndCheck(t.Context(), client, keys.Server, request)
			if err != nil || got.Prefix != "N/" || got.Replicas != 1 {
				t.Errorf("got %+v, %v, want N/, 1", got, err)
			}
			return got
		}
		both() // and loads the scripts
		client.AddHook(trips)
		if got := both(); s.Real() && !errors.Is(got.Refused, ErrNotDurable) {
			t.Errorf("without the replica that it requires: got %v, want ErrNotDurable", got.Refused)
		}
		if n := trips.n.Load(); s.Real() && n != 1 { // miniredis needs a second request, without the flags
			t.Errorf("got %d round trips, want 1", n)
		}
		client.ScriptFlush(t.Context())
		both()
		if !s.Real() {
			return
		}
		client.HDel(t.Context(), keys.Server, "Durable")
		client.ConfigSet(t.Context(), "min-replicas-to-write", "1")
		if got, err := DescribeAndCheck(t.Context(), client, keys.Server, request); err != nil || !WriteRefused(got.Refused) {
			t.Errorf("got %v, %v, want that writes are refused", got.Refused, err)
		}
	})
}
