package scripts

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextMatchesTheVectors(t *testing.T) {
	t.Parallel()
	type row struct {
		Max                        *string
		Floor, Capacity, Low, High string
	}
	rows := vectors[row](t, "next.json")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, row := range rows {
			client.Del(t.Context(), keys.Counter)
			if row.Max != nil {
				set(t, client, "Max", *row.Max)
			}
			r := request("token")
			r.Capacity, r.Floor = number(t, row.Capacity), number(t, row.Floor)
			wantRange(t, mustNext(t, client, r), number(t, row.Low), number(t, row.High))
			wantStored(t, client, "Max", row.High)
		}
	})
}

func TestNextKeepsTheBookkeeping(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("one")
		r.Name = "Orders"
		mustNext(t, client, r)
		r.Token, r.Name, r.Capacity = "two", "orders", 64
		got := mustNext(t, client, r)
		wantRange(t, got, 33, 96)
		if got.Issued != 96 || got.Seconds < 1 || got.Jump != 0 || got.Evidence != "" || got.Epoch != 0 {
			t.Errorf("got %+v, want 96 issued and no jump", got)
		}
		for field, want := range map[string]string{
			"Max": "96", "Low": "33", "Lease": "two", "Ranges": "2", "Name": "Orders", "Issued": "96", "Epoch": "",
		} {
			wantStored(t, client, field, want)
		}
		if len(stored(t, client)["Origin"]) != 40 {
			t.Errorf("got Origin %q, want a replication id", stored(t, client)["Origin"])
		}
		if ttl := client.TTL(t.Context(), keys.Counter).Val(); ttl != -1 {
			t.Errorf("got a TTL of %v, want none", ttl)
		}
	})
}

// A script spends most of its time in the commands that it calls.
func TestNextCallsAsFewCommandsAsPossible(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("one"))
		client.ConfigResetStat(t.Context())
		mustNext(t, client, request("two"))
		said := client.Info(t.Context(), "commandstats").Val()
		for _, calls := range []string{"hmget:calls=2,", "exists:calls=1,", "info:calls=1,", "time:calls=1,"} {
			if !strings.Contains(said, "cmdstat_"+calls) {
				t.Errorf("got %s, want %s", said, calls)
			}
		}
	})
}

func TestNextBeginsAboveAtLeast(t *testing.T) {
	t.Parallel()
	const far = 1<<31 - 1
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, test := range []struct {
			max                string // "" for a missing counter
			atLeast, limit     int64
			low, repeatedAfter int64 // low is 0 where it is refused; an AtLeast with which the same token gets another range
		}{
			{"", 0, math.MaxInt64, 1, 1},
			{"", 40, math.MaxInt64, 41, 41},
			{"", far, math.MaxInt64, far + 1, far + 1},
			{"", far + 1, math.MaxInt64, 0, 0},
			{"100", 99, math.MaxInt64, 101, 101},
			{"5000000000", 1000000000, math.MaxInt64, 5000000001, 5000000001},
			{"100", 100, math.MaxInt64, 101, 101},
			{"100", 101, math.MaxInt64, 102, 102},
			{"100", 100 + far, math.MaxInt64, 101 + far, 101 + far},
			{"100", 101 + far, math.MaxInt64, 0, 0},
			{"100", 150, 149, 0, 0},
			{"100", 149, 150, 150, 0},
		} {
			client.Del(t.Context(), keys.Counter)
			if test.max != "" {
				set(t, client, "Max", test.max)
			}
			before := stored(t, client)
			r := request("token")
			r.AtLeast, r.Limit = test.atLeast, test.limit
			got, err := Next(t.Context(), client, keys, r)
			if test.low == 0 {
				if !errors.Is(err, ErrRaise) {
					t.Errorf("%+v: got %v, want ErrRaise", test, err)
				}
				wantSame(t, before, stored(t, client))
				continue
			}
			if err != nil || got.Low != test.low || got.Jump != 0 || got.Evidence != "" {
				t.Errorf("%+v: got %+v, %v, want a range from %d without a jump", test, got, err, test.low)
			}
			if test.repeatedAfter == 0 {
				continue
			}
			wantRange(t, mustNext(t, client, r), got.Low, got.High) // the same request again
			r.AtLeast = test.repeatedAfter
			if again := mustNext(t, client, r); again.Low != got.High+1 {
				t.Errorf("%+v: again with AtLeast %d: got %d, want %d", test, r.AtLeast, again.Low, got.High+1)
			}
		}
	})
}

func TestNextRepliesSettingsOnlyOfAServerThatHasSome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, test := range []struct {
			setting []any
			want    int
		}{
			{nil, 16}, {[]any{"Durable", "replicas:1"}, 19}, {[]any{"MinValue", "7"}, 19}, {[]any{"MaxValue", "7000"}, 19},
			{[]any{"MinValue", "1", "MaxValue", "9223372036854775807"}, 16},
		} {
			client.Del(t.Context(), keys.Counter, keys.Server)
			if test.setting != nil {
				client.HSet(t.Context(), keys.Server, test.setting...)
			}
			r := request("token")
			r.Awaited = 1
			call := r.call(keys)
			reply, err := next.Run(t.Context(), client, call.keys, call.args...).Slice()
			if err != nil || len(reply) != test.want {
				t.Errorf("%v: got %q, %v, want %d items", test.setting, reply, err, test.want)
			}
		}
	})
}

func TestNextReturnsPrefixAndTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), keys.Server, "ServerPrefix", "NorthServer/", "NodeTag", "A")
		if got := mustNext(t, client, request("one")); got.Prefix != "NorthServer/" || got.Tag != "A" {
			t.Errorf("got prefix %q and tag %q, want NorthServer/ and A", got.Prefix, got.Tag)
		}
	})
}
