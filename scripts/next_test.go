package scripts

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
		settings(t, client, "ServerPrefix", "NorthServer/", "NodeTag", "A")
		r := request("one")
		r.Name = "Orders"
		first := mustNext(t, client, r)
		r.Token, r.Name, r.Capacity = "two", "orders", 64
		got := mustNext(t, client, r)
		wantRange(t, got, 33, 96)
		origin := mustDescribe(t, client).Origin
		want := Range{
			Low: 33, High: 96, Epoch: first.Written * 1_000_000, Prefix: "NorthServer/", Tag: "A", Ceiling: 32 + 16384, Block: 16384,
			Origin: origin, Written: got.Written, Before: first.Written,
		}
		if got != want || len(origin) != 40 || got.Written <= first.Written {
			t.Errorf("got %+v, want %+v", got, want)
		}
		state := map[string]string{
			"Max": "96", "Raised": "16416", "Block": "16384", "RaisedAt": number10(first.Written), "Low": "33", "Lease": "two", "Ranges": "2",
			"Name": "Orders", "Written": number10(got.Written), "Origin": origin, "Epoch": number10(got.Epoch),
		}
		wantSame(t, state, stored(t, client))
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
		stats := client.Info(t.Context(), "commandstats").Val()
		for _, calls := range []string{"hmget:calls=2,", "exists:calls=1,", "info:calls=1,", "time:calls=1,", "hset:calls=1,"} {
			if !strings.Contains(stats, "cmdstat_"+calls) {
				t.Errorf("got %s, want %s", stats, calls)
			}
		}
	})
}

func TestNextResentReturnsTheSameRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("other"))
		got := mustNext(t, client, request("token"))
		wantRange(t, got, 33, 64)
		before := stored(t, client)
		again := mustNext(t, client, request("token"))
		if got.Before = 0; again != got {
			t.Errorf("sent again: got %+v, want %+v", again, got)
		}
		wantSame(t, before, stored(t, client))
		wantRange(t, mustNext(t, client, request("another")), 65, 96)
		wantRange(t, mustNext(t, client, request("token")), 97, 128) // no longer the newest

		r := request("cut")
		r.Limit = 140
		wantRange(t, mustNext(t, client, r), 129, 140)
		wantRange(t, mustNext(t, client, r), 129, 140)
	})
}

func TestNextResentReturnsAnotherRangeWhereTheFirstMayBeInUse(t *testing.T) {
	t.Parallel()
	for name, happen := range map[string]func(t *testing.T, client redistest.Client, got Range, r *NextRequest) (low int64){
		"an edit of Max": func(t *testing.T, client redistest.Client, _ Range, _ *NextRequest) int64 {
			set(t, client, "Max", "4000")
			return 4001
		},
		"a floor in the range": func(_ *testing.T, _ redistest.Client, got Range, r *NextRequest) int64 {
			r.Floor = got.Low
			return got.High + 1
		},
		"an epoch above": func(t *testing.T, client redistest.Client, got Range, r *NextRequest) int64 {
			r.Epoch = got.Epoch + 1
			return jumped(t, client, jump{start: got.Ceiling, unit: rangeUnit, token: r.Token}) + 1
		},
		"a restart": func(t *testing.T, client redistest.Client, got Range, r *NextRequest) int64 {
			set(t, client, "Origin", anotherOrigin)
			return jumped(t, client, jump{start: got.Ceiling, unit: rangeUnit, units: 15, token: r.Token}) + 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				r := request("token")
				got := mustNext(t, client, r)
				low := happen(t, client, got, &r)
				wantRange(t, mustNext(t, client, r), low, low+31)
			})
		})
	}
}

// Two ranges are consecutive only if the newer one names the time at which the older one was written.
func TestNextReportsThePrecedingWrite(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		one := mustNext(t, client, request("one"))
		two := mustNext(t, client, request("two"))
		if one.Before != 0 || two.Before != one.Written || two.Written <= one.Written {
			t.Errorf("got %+v, then %+v, want Before to be Written of the first", one, two)
		}
		written := two.Written
		for what, write := range map[string]func(){
			"a seed":                 func() { mustSeed(t, client, SeedRequest{}) },
			"a seed by force":        func() { mustSeed(t, client, SeedRequest{Value: 64, Force: true}) },
			"an import":              func() { importOne(t, client, ImportRequest{Value: 1}) },
			"a clock that went back": func() { set(t, client, "Written", "90000000000000") },
			"a time of hilo 0.1":     func() { set(t, client, "Written", "1764000000000000") },
		} {
			write()
			got := mustNext(t, client, request(what))
			if got.Before == written {
				t.Errorf("after %s: got %+v, want Before other than %d", what, got, written)
			}
			written = got.Written
			wantReturned(t, client, back(got, what, got.Low), true)
			after := mustNext(t, client, request(what+" and a return"))
			if after.Before == written || after.Written <= after.Before {
				t.Errorf("after %s and a return: got %+v, want Before other than %d", what, after, written)
			}
			written = after.Written
		}
	})
}

// A machine without a battery for its clock starts in 1970.
func TestNextWorksWithAClockNearZero(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	s.Mini().SetTime(time.UnixMilli(7))
	client := s.Client(t)
	one := mustNext(t, client, request("one"))
	two := mustNext(t, client, request("two"))
	if one.Written != 1007 || two.Written != 1008 || two.Before != 1007 || one.Epoch != 1007_000_000 {
		t.Errorf("got %+v, then %+v, want Written 1007, then 1008", one, two)
	}
}

func TestNextAtTheLimitWritesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, limit := range []int64{1, 31, 32, 33, 1<<53 + 1, math.MaxInt64} {
			replace(t, client, map[string]string{"Max": number10(max(0, limit-10))})
			r := request("one")
			r.Limit = limit
			got := mustNext(t, client, r)
			wantRange(t, got, max(0, limit-10)+1, limit)
			if got.Ceiling != limit {
				t.Errorf("got a ceiling of %d, want the limit, %d", got.Ceiling, limit)
			}
			before := stored(t, client)
			r.Token = "two"
			if _, err := Next(t.Context(), client, keys, r); !errors.Is(err, ErrExhausted) {
				t.Errorf("at the limit: got %v, want ErrExhausted", err)
			}
			wantSame(t, before, stored(t, client))
		}
	})
}

func TestNextRefusesCorruptState(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		refused := func(parts ...string) {
			t.Helper()
			before := dump(t, client)
			_, err := Next(t.Context(), client, keys, request("one"))
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v: got %v, want ErrCorrupt", parts, err)
				return
			}
			for _, part := range parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want %q in it", err, part)
				}
			}
			wantSame(t, before, dump(t, client))
		}
		for _, field := range []string{"Max", "Low", "Ranges", "Epoch", "Raised", "Block", "Ceiling", "Bare", "Written"} {
			for _, value := range []string{"abc", "01", "-5", "", "+1", " 1", "1.0", "1e3", "9223372036854775808", "0x1f"} {
				client.Del(t.Context(), keys.Counter)
				set(t, client, "Max", "5", field, value)
				refused(keys.Counter, field, `"`+value+`"`)
			}
			if field == "Max" {
				continue
			}
			client.Del(t.Context(), keys.Counter)
			set(t, client, field, "5")
			refused(keys.Counter, "has no Max")
		}
		for _, field := range []string{"Lease", "Origin"} {
			client.Del(t.Context(), keys.Counter)
			set(t, client, field, "x")
			refused(keys.Counter, "has no Max")
		}
		client.Del(t.Context(), keys.Counter)
		client.Set(t.Context(), keys.Counter, "5", 0)
		refused(keys.Counter, "is not a hash")
		client.Del(t.Context(), keys.Counter)
		for _, row := range [][2]string{
			{"ServerPrefix", "North1"}, {"ServerPrefix", "a b"}, {"ServerPrefix", "a|b"}, {"ServerPrefix", "{a}"},
			{"NodeTag", "1A"}, {"NodeTag", "A-B"}, {"NodeTag", "ABCDEFGHI"}, {"Durable", "Always"}, {"Durable", "fsync"}, {"NewCounters", "yes"},
			{"MinValue", "0"}, {"MinValue", "x"}, {"MaxValue", "0"}, {"MaxValue", "-5"}, {"MaxValue", ""},
		} {
			settings(t, client, row[0], row[1])
			refused(serverKey, row[0], `"`+row[1]+`"`)
		}
		settings(t, client, "MinValue", "9", "MaxValue", "8")
		refused(serverKey, "MaxValue", `"8"`)
		client.Del(t.Context(), serverKey)
		client.Set(t.Context(), serverKey, "NorthServer/", 0)
		refused(serverKey, "is not a hash")
	})
}

func TestNextIgnoresTheFieldsOfVersion01(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		settings(t, client, "Durable", "replicas:1")
		old := []any{"Max", 96, "Low", 65, "Lease", "x", "Ranges", 3, "Written", "1764000000000000", "Minute", "x", "Issued", "x", "GuardGap", "x"}
		set(t, client, old...)
		got := mustNext(t, client, request("one"))
		wantRange(t, got, 97, 128)
		if got.Durable != DurableNone || got.Epoch != got.Written*1_000_000 || got.Ceiling != 128+16384 {
			t.Errorf("got %+v, want no Durable, a birth and a ceiling", got)
		}
	})
}

// forged answers every request with the same reply.
type forged struct {
	redis.Scripter

	reply []any
}

func (f forged) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(f.reply)
	return cmd
}

func forgedRange(token, low, high string, interval ...any) forged {
	return forged{reply: append([]any{token, low, high, "0", "", "", "0", "", "5000", "64", "", "2", "1", ""}, interval...)}
}

func TestNextAndIdentityRejectTheReplyToAnotherRequest(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]error{"mine": nil, "another": ErrReply, "": ErrReply} {
		client := forgedRange(token, "1", "32")
		got, err := Next(t.Context(), client, keys, request("mine"))
		if !errors.Is(err, want) || err != nil && got != (Range{}) {
			t.Errorf("next with the token %q: got %+v, %v, want %v", token, got, err, want)
		}
		r := identityRequest(32)
		r.Token = "mine"
		if got, err := Identity(t.Context(), client, identityKeys, r); !errors.Is(err, want) || err != nil && got != (Range{}) {
			t.Errorf("identity with the token %q: got %+v, %v, want %v", token, got, err, want)
		}
	}
}

func TestNextRejectsARangeThatWasNotRequested(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		low, high string
		want      error
		interval  []any
	}{
		"the range":          {"101", "132", nil, nil},
		"from the floor on":  {"100", "131", ErrReply, nil},
		"more":               {"101", "133", ErrReply, nil},
		"backwards":          {"101", "100", ErrReply, nil},
		"above the limit":    {"980", "1001", ErrReply, nil},
		"up to the limit":    {"980", "1000", nil, nil},
		"below MinValue":     {"101", "132", ErrReply, []any{"102 1000"}},
		"above MaxValue":     {"101", "132", ErrReply, []any{"1 131"}},
		"the whole interval": {"101", "132", nil, []any{"101 132"}},
		"no interval":        {"101", "132", ErrReply, []any{"101"}},
	} {
		r := request("mine")
		r.Floor, r.Limit = 100, 1000
		got, err := Next(t.Context(), forgedRange("mine", test.low, test.high, test.interval...), keys, r)
		if !errors.Is(err, test.want) || err != nil && got != (Range{}) {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, test.want)
		}
	}
}
