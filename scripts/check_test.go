package scripts

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestCheckReturnsTheRefusalOfNext compares the two on states that next refuses, and on some that it does not.
func TestCheckReturnsTheRefusalOfNext(t *testing.T) {
	t.Parallel()
	type hash map[string]any
	type state struct {
		name                   string
		counter, server, other hash
		vary                   func(r *NextRequest)
		want                   error
	}
	initialized := hash{"Initialized": "now"}
	limit := func(limit int64) func(*NextRequest) { return func(r *NextRequest) { r.Limit = limit } }
	states := []state{
		{name: "none", want: ErrNotSeeded},
		{name: "an initialised server", server: initialized},
		{name: "a counter", counter: hash{"Max": 5}},
		{name: "no new counters", server: hash{"NewCounters": "no"}, want: ErrNotSeeded},
		{name: "a lost counter", server: initialized, vary: func(r *NextRequest) { r.Floor, r.Age = 5, 1000 }, want: ErrNotSeeded},
		{name: "Max at the limit", counter: hash{"Max": 100}, vary: limit(100), want: ErrExhausted},
		{name: "Max below the limit", counter: hash{"Max": 99}, vary: limit(100)},
		{name: "Max above the limit", counter: hash{"Max": 1000}, vary: limit(100), want: ErrExhausted},
		{name: "no room for a jump", counter: hash{"Max": 5, "Origin": anotherOrigin}, vary: limit(100), want: ErrExhausted},
		{name: "room for a jump", counter: hash{"Max": 5, "Origin": anotherOrigin}},
		{name: "Max at MaxValue", counter: hash{"Max": 100}, server: hash{"MaxValue": 100}, want: ErrExhausted},
		{name: "MinValue above the limit", server: hash{"MinValue": 101}, vary: limit(100), want: ErrExhausted},
		{name: "lost settings", counter: hash{"Max": 5}, vary: func(r *NextRequest) { r.Settled = true }, want: ErrPrefixMissing},
		{name: "an identity", other: hash{"Value": 5}, server: initialized, want: ErrMixed},
		{name: "an identity and a tag", other: hash{"Value": 5}, server: hash{"NodeTag": "A"}},
		{name: "a bad tag", server: hash{"NodeTag": "-"}, want: ErrCorrupt},
		{name: "Max of words", counter: hash{"Max": "many"}, want: ErrCorrupt},
		{name: "a lease without Max", counter: hash{"Lease": "x"}, want: ErrCorrupt},
		{name: "a name without Max", counter: hash{"Name": "orders"}, server: initialized},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for i, test := range states {
			namespace := fmt.Sprintf("{n%d}/", i)
			k := Keys{Counter: namespace + "HiLo/orders", Server: namespace + "ServerPrefixForHilo", Other: namespace + "Identities/orders"}
			for key, fields := range map[string]hash{k.Counter: test.counter, k.Server: test.server, k.Other: test.other} {
				if len(fields) > 0 {
					client.HSet(t.Context(), key, map[string]any(fields))
				}
			}
			r := request("a")
			if test.vary != nil {
				test.vary(&r)
			}
			before := dump(t, client)
			if err := CheckNext(t.Context(), client, k, r); !errors.Is(err, test.want) {
				t.Errorf("check of %s: got %v, want %v", test.name, err, test.want)
			}
			wantSame(t, before, dump(t, client))
			if _, err := Next(t.Context(), client, k, r); !errors.Is(err, test.want) {
				t.Errorf("next of %s: got %v, want %v", test.name, err, test.want)
			}
		}
	})
}

func TestWriteRefusedIsTheRefusalOfAnyWrite(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.ConfigSet(t.Context(), "min-replicas-to-write", "1")
		r := request("token")
		if err := CheckNext(t.Context(), client, keys, r); !WriteRefused(err) || !strings.HasPrefix(err.Error(), "NOREPLICAS") {
			t.Errorf("check: got %v, want NOREPLICAS", err)
		}
		if got, err := DescribeAsWrite(t.Context(), client, serverKey); err != nil || !WriteRefused(got.Refused) || got.Origin == "" {
			t.Errorf("describe: got %+v, %v, want the settings, and that writes are refused", got, err)
		}
		client.ConfigSet(t.Context(), "min-replicas-to-write", "0")
		if got, err := DescribeAsWrite(t.Context(), client, serverKey); err != nil || got.Refused != nil {
			t.Errorf("describe: got %+v, %v, want that writes are accepted", got, err)
		}
		r.Limit = 0
		if err := CheckNext(t.Context(), client, keys, r); WriteRefused(err) || !errors.Is(err, ErrExhausted) {
			t.Errorf("check: got %v, want ErrExhausted, which is no refusal of any write", err)
		}
		r.Limit = math.MaxInt64
		if err := CheckNext(t.Context(), client, keys, r); err != nil {
			t.Errorf("check: got %v, want <nil>", err)
		}
	})
	if WriteRefused(errors.New("OOM")) {
		t.Error("an error that is no reply: got true, want false")
	}
}
