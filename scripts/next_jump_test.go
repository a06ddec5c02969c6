package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// lives has one counter begin again from the same state under n replication ids,
// as an old primary and its successor do, and gives the first range of each life.
func lives(t *testing.T, s *redistest.Server, n int, r scripts.NextRequest) []scripts.Range {
	t.Helper()
	client := s.Client(t)
	mustNext(t, client, request("before"))
	state := stored(t, client)
	given := make([]scripts.Range, n)
	for i := range given {
		client.Del(t.Context(), keys.Counter)
		set(t, client, state)
		s.ChangeReplicationID()
		r.Token = fmt.Sprintf("life %d", i)
		given[i] = mustNext(t, client, r)
	}
	slices.SortFunc(given, func(a, b scripts.Range) int { return int(a.Low - b.Low) })
	return given
}

// wantApart demands of ranges in order that they do not meet. The replication ids
// are random, so that of those in a small room a few may.
func wantApart(t *testing.T, given []scripts.Range) {
	t.Helper()
	meet := 0
	for i := range given {
		if i > 0 && given[i].Low <= given[i-1].High {
			meet++
		}
	}
	if meet > 4 {
		t.Errorf("of %d ranges %d meet the one before", len(given), meet)
	}
}

// Two servers that go on from one state know nothing of each other, so it is the
// requests' own tokens that lead them apart.
func TestNextLandsApartWhereOneStateIsGoneOnFromTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		given := lives(t, s, 64, request(""))
		wantApart(t, given)
		places := map[int64]bool{}
		for _, got := range given {
			if got.Evidence != scripts.EvidenceOrigin || got.Epoch != 1 || got.Jump != got.Low-1-32 {
				t.Errorf("%+v", got)
			}
			places[(got.Low-1-32)/rangeGap] = true
		}
		// 64 throws at 64 gaps reach about 41 of them, from one end to the other.
		if len(places) < 25 || given[0].Low > 32+24*rangeGap || given[63].High < 32+40*rangeGap {
			t.Errorf("64 lives reached %d gaps of 64, from %d to %d", len(places), given[0].Low, given[63].High)
		}
		if given[0].Low <= 32+rangeGap || given[63].High > 32+65*rangeGap+32 {
			t.Errorf("they reach from %d to %d, not from 1 gap to 65", given[0].Low, given[63].High)
		}
	})
}

// On both sides of where doubles end.
func TestNextLandsApartWhateverTheGap(t *testing.T) {
	t.Parallel()
	for _, gap := range []int64{1000, 1 << 31, 1 << 53, 1 << 56} {
		t.Run(fmt.Sprint(gap), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				r := request("")
				r.GuardGap = gap
				widest := int64(0)
				given := lives(t, s, 16, r)
				wantApart(t, given)
				for _, got := range given {
					if got.Jump < gap {
						t.Errorf("it jumped by %d only", got.Jump)
					}
					widest = max(widest, got.Jump)
				}
				if places := min(gap, math.MaxInt64/1000/64); widest < gap+16*places {
					t.Errorf("the farthest of 16 jumps went %d, with a gap of %d", widest, gap)
				}
			})
		})
	}
}

func TestNextsSpreadTakesAThousandthOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		r := request("")
		r.Limit = 10_000_000
		given := lives(t, s, 64, r)
		room := (r.Limit - 32 - rangeGap) / 1000
		first, last := given[0].Jump-rangeGap, given[63].Jump-rangeGap
		if first < 0 || first > room/2 || last >= room || last < room/2 {
			t.Errorf("past the gap they went %d to %d, of %d", first, last, room)
		}
	})
}

func TestNextSaysWhyThereIsNoRoomForAJump(t *testing.T) {
	t.Parallel()
	const another = "0123456789012345678901234567890123456789"
	tests := []struct {
		name     string
		state    []any
		vary     func(r *scripts.NextRequest)
		evidence string
		gap      string
		above    string
	}{
		{"below a floor", []any{"Max", "1000"}, func(r *scripts.NextRequest) { r.Floor = 1001 }, "floor", "65536", "1001"},
		{"after a restart", []any{"Max", "1000", "Origin", another}, func(*scripts.NextRequest) {}, "origin", "65536", "1000"},
		{"below an epoch", []any{"Max", "1000", "Epoch", "1"}, func(r *scripts.NextRequest) { r.Epoch = 2 }, "epoch", "65536", "1000"},
		{"with no counter", nil, func(r *scripts.NextRequest) { r.Floor = 7 }, "missing", "65536", "7"},
		{"with a gap of its own", []any{"Max", "1000"}, func(r *scripts.NextRequest) { r.Floor, r.GuardGap = 1001, 999 }, "floor", "999", "1001"},
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
				_, err := scripts.Next(t.Context(), client, keys, r)
				if !errors.Is(err, scripts.ErrExhausted) {
					t.Fatal(err)
				}
				for _, part := range []string{keys.Counter, "(" + test.evidence + ")", "a gap of " + test.gap + " above " + test.above, "limit 2000", "GuardGap"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not say %q", err, part)
					}
				}
				wantSame(t, before, stored(t, client))

				// The way out that the text names.
				r.GuardGap = 10
				got := mustNext(t, client, r)
				if low := number(t, test.above) + 10 + 1; got.Low != low {
					t.Errorf("with a smaller gap it begins at %d, want %d", got.Low, low)
				}
			})
		})
	}
}

// The last number that fits is given, one less is not room enough.
func TestNextJumpsUpToTheVeryLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("one")
		r.Floor, r.GuardGap, r.Limit = 100, 50, 150
		if _, err := scripts.Next(t.Context(), client, keys, r); !errors.Is(err, scripts.ErrExhausted) {
			t.Errorf("with the gap up to the limit: %v", err)
		}
		r.Limit = 151
		wantRange(t, mustNext(t, client, r), 151, 151)
	})
}

// A counter that stands high enough may still be one that was lost and went on:
// its epoch tells.
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
			if got.Evidence != scripts.EvidenceEpoch || got.Epoch != 4 || got.Low != base+1 || got.Jump != base-state.base {
				t.Errorf("%s: %+v", state.name, got)
			}
			wantStored(t, client, "Epoch", "4")
			r.Token, r.Floor, r.Epoch = "two", got.High, got.Epoch
			wantRange(t, mustNext(t, client, r), got.High+1, got.High+32) // once
			r.Token, r.Floor, r.Epoch = "three", 0, 2
			wantRange(t, mustNext(t, client, r), got.High+33, got.High+64) // one that it is past is none
		}
	})
}

// A resend is one only while nothing speaks for lost writes.
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

func TestAReplyToAnotherRequestIsNotBelieved(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]error{"mine": nil, "another": scripts.ErrReply, "": scripts.ErrReply} {
		client := forged{reply: []any{token, "1", "32", "0", "", "", "0", "", "32", "1", "", "1", "2", "0"}}
		got, err := scripts.Next(t.Context(), client, keys, request("mine"))
		if !errors.Is(err, want) || err != nil && got != (scripts.Range{}) {
			t.Errorf("next with the token %q: %+v, %v", token, got, err)
		}
		r := identityRequest(32)
		r.Token = "mine"
		if got, err := scripts.Identity(t.Context(), client, identityKeys, r); !errors.Is(err, want) || err != nil && got != (scripts.Range{}) {
			t.Errorf("identity with the token %q: %+v, %v", token, got, err)
		}
	}
}

func TestARangeThatWasNotAskedForIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		low, high string
		want      error
	}{
		"what was asked for":  {"101", "132", nil},
		"from the floor on":   {"100", "131", scripts.ErrReply},
		"more than there are": {"101", "133", scripts.ErrReply},
		"backwards":           {"101", "100", scripts.ErrReply},
		"above the limit":     {"980", "1001", scripts.ErrReply},
		"up to the limit":     {"980", "1000", nil},
	} {
		client := forged{reply: []any{"mine", test.low, test.high, "0", "", "", "0", "", "32", "1", "", "1", "2", "0"}}
		r := request("mine")
		r.Floor, r.Limit = 100, 1000
		if got, err := scripts.Next(t.Context(), client, keys, r); !errors.Is(err, test.want) || err != nil && got != (scripts.Range{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A request whose reply was lost is sent again with its token, maybe to the
// successor of the server that it jumped on. Both go on from there.
func TestNextLandsApartWhereOneRequestIsSentToTwoServers(t *testing.T) {
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
			r.GuardGap = 1 << 40
			lows = append(lows, mustNext(t, client, r).Low)
		}
		if apart := lows[0] - lows[1]; -64 < apart && apart < 64 {
			t.Errorf("they went on from %d and %d", lows[0], lows[1])
		}
	})
}
