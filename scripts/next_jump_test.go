package scripts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// successors resets one counter to the same state under n replication ids, like those of an old primary and its successors. It
// returns the first range under each, in order.
func successors(t *testing.T, s *redistest.Server, n int, r NextRequest) []Range {
	t.Helper()
	client := s.Client(t)
	mustNext(t, client, request("before"))
	state := stored(t, client)
	given := make([]Range, n)
	for i := range given {
		client.Del(t.Context(), keys.Counter)
		set(t, client, state)
		s.ChangeReplicationID()
		r.Token = fmt.Sprintf("life %d", i)
		given[i] = mustNext(t, client, r)
	}
	slices.SortFunc(given, func(a, b Range) int { return int(a.Low - b.Low) })
	return given
}

// wantApart checks that sorted ranges do not overlap. The replication ids are random, so a few of many ranges within a small gap
// may.
func wantApart(t *testing.T, given []Range) {
	t.Helper()
	meet := 0
	for i := range given {
		if i > 0 && given[i].Low <= given[i-1].High {
			meet++
		}
	}
	if meet > 4 {
		t.Errorf("got %d of %d ranges that overlap the one before, want at most 4", meet, len(given))
	}
}

// Two servers that continue from the same state cannot coordinate, so the tokens of the requests separate them.
func TestNextJumpsApartFromTheSameState(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		given := successors(t, s, 64, request(""))
		wantApart(t, given)
		places := map[int64]bool{}
		for _, got := range given {
			if got.Evidence != EvidenceOrigin || got.Epoch != 1 || got.Jump != got.Low-1-32 {
				t.Errorf("got %+v, want a jump on evidence origin", got)
			}
			places[(got.Low-1-32)/rangeGap] = true
		}
		// 64 random offsets within 64 gaps reach about 41 of them, from one end to the other.
		if len(places) < 25 || given[0].Low > 32+24*rangeGap || given[63].High < 32+40*rangeGap {
			t.Errorf("got %d of 64 gaps, from %d to %d, want at least 25, all over them", len(places), given[0].Low, given[63].High)
		}
		if given[0].Low <= 32+rangeGap || given[63].High > 32+65*rangeGap+32 {
			t.Errorf("got %d to %d, want 1 gap to 65", given[0].Low, given[63].High)
		}
	})
}

// The gaps are on both sides of 2^53, above which doubles lose precision.
func TestNextJumpsApartWithAnyGap(t *testing.T) {
	t.Parallel()
	for _, gap := range []int64{1 << 17, 1 << 31, 1 << 53, 1 << 56} {
		t.Run(fmt.Sprint(gap), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				r := request("")
				r.LeastGap = gap
				widest := int64(0)
				given := successors(t, s, 16, r)
				wantApart(t, given)
				for _, got := range given {
					if got.Jump < gap {
						t.Errorf("got a jump of %d, want at least %d", got.Jump, gap)
					}
					widest = max(widest, got.Jump)
				}
				if places := min(gap, math.MaxInt64/1000/64); widest < gap+16*places {
					t.Errorf("got a farthest jump of %d, want at least %d", widest, gap+16*places)
				}
			})
		})
	}
}

func TestNextSpreadsJumpsOverAThousandthOfTheRest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		r := request("")
		r.Limit = 10_000_000
		given := successors(t, s, 64, r)
		room := (r.Limit - 32 - rangeGap) / 1000
		first, last := given[0].Jump-rangeGap, given[63].Jump-rangeGap
		if first < 0 || first > room/2 || last >= room || last < room/2 {
			t.Errorf("got offsets of %d to %d, want them all over %d", first, last, room)
		}
	})
}

func TestNextExplainsWhyNoJumpFits(t *testing.T) {
	t.Parallel()
	const another = "0123456789012345678901234567890123456789"
	tests := []struct {
		name     string
		state    []any
		vary     func(r *NextRequest)
		evidence string
		gap      string
		above    string
	}{
		{"below a floor", []any{"Max", "1000"}, func(r *NextRequest) { r.Floor = 1001 }, "floor", "65536", "1001"},
		{"after a restart", []any{"Max", "1000", "Origin", another}, func(*NextRequest) {}, "origin", "65536", "1000"},
		{"below an epoch", []any{"Max", "1000", "Epoch", "1"}, func(r *NextRequest) { r.Epoch = 2 }, "epoch", "65536", "1000"},
		{"with no counter", nil, func(r *NextRequest) { r.Floor = 7 }, "missing", "65536", "7"},
		{"with a greater gap", []any{"Max", "1000"}, func(r *NextRequest) { r.Floor, r.LeastGap = 1001, 99999 }, "floor", "99999", "1001"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				if test.state != nil {
					set(t, client, test.state...)
				}
				before := stored(t, client)
				r := request("one")
				r.Limit = 2000
				test.vary(&r)
				_, err := Next(t.Context(), client, keys, r)
				if !errors.Is(err, ErrExhausted) {
					t.Fatal(err)
				}
				for _, part := range []string{keys.Counter, "(" + test.evidence + ")", "a gap of " + test.gap + " above " + test.above, "limit 2000", "seed"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("got %q, want %q in it", err, part)
					}
				}
				wantSame(t, before, stored(t, client))

				// This is the remedy that the error names. A counter below an epoch, or with another Origin, has to be recreated.
				client.Del(t.Context(), keys.Counter)
				if _, err := Seed(t.Context(), client, keys, SeedRequest{Field: FieldMax, Name: "orders", Value: 1100}); err != nil {
					t.Fatal(err)
				}
				r.Epoch = 0
				wantRange(t, mustNext(t, client, r), 1101, 1132)
			})
		})
	}
}

// A limit that admits one number after the gap is enough, and one less is not.
func TestNextJumpsUpToTheLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("one")
		r.Floor, r.Limit = 100, 100+rangeGap
		if _, err := Next(t.Context(), client, keys, r); !errors.Is(err, ErrExhausted) {
			t.Errorf("with the gap up to the limit: got %v, want ErrExhausted", err)
		}
		r.Limit++
		wantRange(t, mustNext(t, client, r), r.Limit, r.Limit)
	})
}

// A counter at or above the floor may still have been lost and have continued since. A lower epoch shows that.
func TestNextJumpsBelowAnEpochThatTheClientSaw(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, state := range []struct {
			name   string
			fields []any
			base   int64
		}{
			{"an older state", []any{"Max", "4000", "Epoch", "2"}, 4000},
			{"one that never jumped", []any{"Max", "4000"}, 4000},
			{"no counter", nil, 0},
		} {
			client.Del(t.Context(), keys.Counter)
			if state.fields != nil {
				set(t, client, state.fields...)
			}
			r := request("one")
			r.Floor, r.Epoch = 0, 3
			got := mustNext(t, client, r)
			base := jumped(t, client, state.base, rangeGap, "one")
			if got.Evidence != EvidenceEpoch || got.Epoch != 4 || got.Low != base+1 || got.Jump != base-state.base {
				t.Errorf("%s: got %+v, want %d in epoch 4", state.name, got, base+1)
			}
			wantStored(t, client, "Epoch", "4")
			r.Token, r.Floor, r.Epoch = "two", got.High, got.Epoch
			wantRange(t, mustNext(t, client, r), got.High+1, got.High+32) // once
			r.Token, r.Floor, r.Epoch = "three", 0, 2
			wantRange(t, mustNext(t, client, r), got.High+33, got.High+64) // an epoch that the counter is past has no effect
		}
	})
}

// A resend returns the same range only without evidence of lost writes.
func TestNextResentBelowAnEpochGetsAnotherRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("token")
		mustNext(t, client, r)
		r.Epoch = 1
		base := jumped(t, client, 32, rangeGap, "token")
		wantRange(t, mustNext(t, client, r), base+1, base+32)
	})
}

// forged answers every request with the reply to another one.
type forged struct {
	redis.Scripter

	reply []any
}

func (f forged) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(f.reply)
	return cmd
}

func TestNextAndIdentityRejectTheReplyToAnotherRequest(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]error{"mine": nil, "another": ErrReply, "": ErrReply} {
		client := forged{reply: []any{token, "1", "32", "0", "", "", "0", "", "32", "1", "", "1", "2", "0", "", "0"}}
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
		"what was asked for":  {"101", "132", nil, nil},
		"from the floor on":   {"100", "131", ErrReply, nil},
		"more than there are": {"101", "133", ErrReply, nil},
		"backwards":           {"101", "100", ErrReply, nil},
		"above the limit":     {"980", "1001", ErrReply, nil},
		"up to the limit":     {"980", "1000", nil, nil},
		"below MinValue":      {"101", "132", ErrReply, []any{"102", "1000", "0"}},
		"above MaxValue":      {"101", "132", ErrReply, []any{"1", "131", "0"}},
		"the whole interval":  {"101", "132", nil, []any{"101", "132", "0"}},
	} {
		client := forged{reply: []any{"mine", test.low, test.high, "0", "", "", "0", "", "32", "1", "", "1", "2", "0", "", "0"}}
		client.reply = append(client.reply, test.interval...)
		r := request("mine")
		r.Floor, r.Limit = 100, 1000
		if got, err := Next(t.Context(), client, keys, r); !errors.Is(err, test.want) || err != nil && got != (Range{}) {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, test.want)
		}
	}
}

func TestIdentityRejectsValuesThatWereNotRequested(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		low, high string
		raise     int64
		want      error
	}{
		"what was asked for":      {"101", "132", 0, nil},
		"fewer":                   {"101", "131", 0, ErrReply},
		"more":                    {"101", "133", 0, ErrReply},
		"none":                    {"0", "31", 0, ErrReply},
		"above the limit":         {"980", "1011", 0, ErrReply},
		"the value":               {"7", "7", 7, nil},
		"a refusal of the value":  {"0", "50", 7, nil},
		"another value":           {"8", "8", 7, ErrReply},
		"the value and one above": {"7", "8", 7, ErrReply},
	} {
		client := forged{reply: []any{"mine", test.low, test.high, "0", "", "", "0", "", "32", "1", "", "1", "2", "0", "", "0"}}
		r := identityRequest(32)
		r.Token, r.Limit, r.Raise = "mine", 1000, test.raise
		if got, err := Identity(t.Context(), client, identityKeys, r); !errors.Is(err, test.want) || err != nil && got != (Range{}) {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, test.want)
		}
	}
}

// A request without reply is sent again with its token, possibly to the successor of the server at which it caused a jump. Both
// servers continue from there.
func TestNextJumpsApartForOneRequestAtTwoServers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("before"))
		state := stored(t, client)
		var lows []int64
		for range 2 {
			client.Del(t.Context(), keys.Counter)
			set(t, client, state)
			s.ChangeReplicationID()
			r := request("one and the same")
			r.LeastGap = 1 << 40
			lows = append(lows, mustNext(t, client, r).Low)
		}
		if apart := lows[0] - lows[1]; -64 < apart && apart < 64 {
			t.Errorf("got ranges at %d and %d, want them apart", lows[0], lows[1])
		}
	})
}
