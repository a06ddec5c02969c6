package scripts_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextGivesTheKnownAnswers(t *testing.T) {
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
			t.Errorf("reply is %+v", got)
		}
		for field, want := range map[string]string{
			"Max": "96", "Low": "33", "Lease": "two", "Ranges": "2", "Name": "Orders", "Issued": "96", "Epoch": "",
		} {
			wantStored(t, client, field, want)
		}
		if len(stored(t, client)["Origin"]) != 40 {
			t.Errorf("Origin is %q", stored(t, client)["Origin"])
		}
		if ttl := client.TTL(t.Context(), keys.Counter).Val(); ttl != -1 {
			t.Errorf("the counter has a TTL of %v", ttl)
		}
	})
}

func TestNextBringsTheServersPrefixAndTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), keys.Server, "ServerPrefix", "NorthServer/", "NodeTag", "A")
		if got := mustNext(t, client, request("one")); got.Prefix != "NorthServer/" || got.Tag != "A" {
			t.Errorf("got prefix %q and tag %q", got.Prefix, got.Tag)
		}
	})
}

func TestNextResentWithItsTokenGetsTheSameRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("other"))
		wantRange(t, mustNext(t, client, request("token")), 33, 64)
		before := stored(t, client)
		wantRange(t, mustNext(t, client, request("token")), 33, 64)
		wantSame(t, before, stored(t, client))
		wantRange(t, mustNext(t, client, request("another")), 65, 96)
		wantRange(t, mustNext(t, client, request("token")), 97, 128) // no longer the newest
	})
}

func TestNextResentAfterMaxWasMovedByHandGetsAnotherRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("token"))
		set(t, client, "Max", "4000")
		wantRange(t, mustNext(t, client, request("token")), 4001, 4032)
	})
}

func TestNextResentToARestartedServerGetsAnotherRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("token"))
		state := stored(t, client)
		s.Restart() // others may have been given the range meanwhile, by a server that is gone again
		set(t, client, state)
		wantRange(t, mustNext(t, client, request("token")), 32+1024+1, 32+1024+32)
	})
}

func TestNextTellsWhichRangeItFollows(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for i, step := range []struct {
			token, before string
			ranges        int64
		}{{"one", "", 1}, {"two", "one", 2}, {"two", "", 2}, {"three", "two", 3}} {
			if got := mustNext(t, client, request(step.token)); got.Before != step.before || got.Ranges != step.ranges {
				t.Errorf("%d: follows %q as number %d, want %q, %d", i, got.Before, got.Ranges, step.before, step.ranges)
			}
		}
		mustSeed(t, client, scripts.SeedRequest{})
		if got := mustNext(t, client, request("four")); got.Before != "" {
			t.Errorf("after a seed it follows %q", got.Before)
		}
	})
}

func TestNextsGapDoesNotShrinkWithTheOutage(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t) // the only server whose clock can be set
	client := s.Client(t)
	start := time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC)
	s.Mini().SetTime(start)
	r := request("before")
	r.Capacity = 5000
	mustNext(t, client, r)
	s.SetReplicationID("0123456789012345678901234567890123456789")
	s.Mini().SetTime(start.Add(time.Hour))
	if got := mustNext(t, client, request("after")); got.Jump != 10_000 {
		t.Errorf("an hour later the jump is %d, want twice what was issued before it", got.Jump)
	}
}

func TestNextResentGetsTheSameRangeWhereTheLimitCutIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("token")
		r.Limit = 20
		wantRange(t, mustNext(t, client, r), 1, 20)
		wantRange(t, mustNext(t, client, r), 1, 20)
	})
}

func TestNextEndsAtTheLimitWithNothingWritten(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{1, 31, 32, 33, 1<<53 + 1, math.MaxInt64} {
		redistest.Each(t, func(t *testing.T, s *redistest.Server) {
			client := s.Client(t)
			set(t, client, "Max", max(0, limit-10))
			r := request("one")
			r.Limit = limit
			wantRange(t, mustNext(t, client, r), max(0, limit-10)+1, limit)
			before := stored(t, client)
			r.Token = "two"
			if _, err := scripts.Next(t.Context(), client, keys, r); !errors.Is(err, scripts.ErrExhausted) {
				t.Errorf("at the limit: %v", err)
			}
			wantSame(t, before, stored(t, client))
		})
	}
}

func TestNextRefusesWhatNoScriptWrote(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, field := range []string{"Max", "Ranges", "Epoch", "Low", "Minute", "Issued", "IssuedBefore"} {
			for _, value := range []string{"abc", "01", "-5", "", "+1", " 1", "1.0", "1e3", "9223372036854775808", "10000000000000000000", "0x1f"} {
				client.Del(t.Context(), keys.Counter)
				set(t, client, "Max", "5", field, value)
				before := stored(t, client)
				_, err := scripts.Next(t.Context(), client, keys, request("one"))
				if !errors.Is(err, scripts.ErrCorrupt) {
					t.Errorf("%s %q: %v", field, value, err)
				}
				wantSame(t, before, stored(t, client))
			}
		}
		client.Del(t.Context(), keys.Counter)
		client.Set(t.Context(), keys.Counter, "5", 0)
		if _, err := scripts.Next(t.Context(), client, keys, request("one")); !errors.Is(err, scripts.ErrCorrupt) {
			t.Errorf("a string for a counter: %v", err)
		}
		client.Del(t.Context(), keys.Counter)
		set(t, client, "Ranges", "5")
		if _, err := scripts.Next(t.Context(), client, keys, request("one")); !errors.Is(err, scripts.ErrCorrupt) {
			t.Errorf("ranges without Max: %v", err)
		}
	})
}

func TestNextRefusesAnUnusableServerPrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, row := range []struct{ field, value string }{
			{"ServerPrefix", "North1"}, {"ServerPrefix", "a b"}, {"ServerPrefix", "a|b"}, {"ServerPrefix", "{a}"},
			{"NodeTag", "1A"}, {"NodeTag", "A-B"}, {"NodeTag", "ABCDEFGHI"},
		} {
			client.Del(t.Context(), keys.Server)
			client.HSet(t.Context(), keys.Server, row.field, row.value)
			if _, err := scripts.Next(t.Context(), client, keys, request("one")); !errors.Is(err, scripts.ErrCorrupt) {
				t.Errorf("%s %q: %v", row.field, row.value, err)
			}
			wantSame(t, nil, stored(t, client))
		}
		client.Del(t.Context(), keys.Server)
		client.Set(t.Context(), keys.Server, "NorthServer/", 0)
		if _, err := scripts.Next(t.Context(), client, keys, request("one")); !errors.Is(err, scripts.ErrCorrupt) {
			t.Errorf("a string for the prefix: %v", err)
		}
	})
}

func TestNextRequiresASeededCounterWhereAsked(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("one")
		r.RequireSeeded = true
		for _, floor := range []int64{0, 100} {
			r.Floor = floor
			if _, err := scripts.Next(t.Context(), client, keys, r); !errors.Is(err, scripts.ErrNotSeeded) {
				t.Errorf("floor %d: %v", floor, err)
			}
		}
		wantSame(t, nil, stored(t, client))
		set(t, client, "Max", "100")
		wantRange(t, mustNext(t, client, r), 101, 132)
	})
}

func TestNextRefusesACollectionThatIsAnIdentity(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), keys.Other, "Value", "5")
		if _, err := scripts.Next(t.Context(), client, keys, request("one")); !errors.Is(err, scripts.ErrMixed) {
			t.Errorf("mixed: %v", err)
		}
		wantSame(t, nil, stored(t, client))
		client.HSet(t.Context(), keys.Server, "NodeTag", "A")
		wantRange(t, mustNext(t, client, request("one")), 1, 32)
	})
}

func TestNextJumpsOnEvidenceOfLostWrites(t *testing.T) {
	t.Parallel()
	const restarted = "0123456789012345678901234567890123456789"
	tests := []struct {
		name     string
		state    []any
		floor    int64
		guard    int64
		least    int64
		capacity int64
		low      int64
		jump     int64
		evidence scripts.Evidence
	}{
		{"a counter by hand is none", []any{"Max", "4000"}, 0, 0, 0, 32, 4001, 0, ""},
		{"the floor at Max is none", []any{"Max", "4000"}, 4000, 0, 0, 32, 4001, 0, ""},
		{"Max below the floor", []any{"Max", "4000"}, 4001, 0, 0, 32, 4001 + 1024 + 1, 1025, scripts.EvidenceFloor},
		{"another origin", []any{"Max", "4000", "Origin", restarted}, 0, 0, 0, 32, 4000 + 1024 + 1, 1024, scripts.EvidenceOrigin},
		{"no counter where there was one", nil, 4000, 0, 0, 32, 4000 + 1024 + 1, 5024, scripts.EvidenceMissing},
		{"twice the capacity", []any{"Max", "4000"}, 4001, 0, 0, 1000, 4001 + 2000 + 1, 2001, scripts.EvidenceFloor},
		{"what the client knows", []any{"Max", "4000"}, 4001, 0, 5000, 1000, 4001 + 5000 + 1, 5001, scripts.EvidenceFloor},
		{"a fixed gap", []any{"Max", "4000"}, 4001, 7, 5000, 1000, 4001 + 7 + 1, 8, scripts.EvidenceFloor},
		{"past 2^53", []any{"Max", "9007199254740993"}, 9007199254740995, 0, 0, 1, 9007199254740995 + 1024 + 1, 1026, scripts.EvidenceFloor},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				if test.state != nil {
					set(t, client, test.state...)
				}
				r := request("one")
				r.Floor, r.GuardGap, r.LeastGap, r.Capacity = test.floor, test.guard, test.least, test.capacity
				got := mustNext(t, client, r)
				wantRange(t, got, test.low, test.low+test.capacity-1)
				if got.Jump != test.jump || got.Evidence != test.evidence {
					t.Errorf("jump %d for %q, want %d for %q", got.Jump, got.Evidence, test.jump, test.evidence)
				}
				wantEpoch := int64(0)
				if test.evidence != "" {
					wantEpoch = 1
				}
				if got.Epoch != wantEpoch {
					t.Errorf("epoch %d, want %d", got.Epoch, wantEpoch)
				}
				r.Token, r.Floor = "two", got.High
				wantRange(t, mustNext(t, client, r), got.High+1, got.High+test.capacity) // once
			})
		})
	}
}

func TestNextJumpsOnceAfterARestartOfTheServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("one"))
		state := stored(t, client)
		s.Restart() // comes back empty; the state as of some time before is put back
		set(t, client, state)
		got := mustNext(t, client, request("two"))
		wantRange(t, got, 32+1024+1, 32+1024+32)
		if got.Evidence != scripts.EvidenceOrigin || got.Epoch != 1 {
			t.Errorf("reply is %+v", got)
		}
		wantRange(t, mustNext(t, client, request("three")), got.High+1, got.High+32)
	})
}

func TestNextDoesWithoutInfo(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	s.Hook(func(cmd string, _ []string) string {
		if cmd == "INFO" {
			return "NOPERM this user has no permissions to run the 'info' command"
		}
		return ""
	})
	client := s.Client(t)
	set(t, client, "Max", "5", "Origin", "0123456789012345678901234567890123456789")
	if got := mustNext(t, client, request("one")); got.Low != 6 || got.Jump != 0 {
		t.Errorf("got %+v", got)
	}
	wantStored(t, client, "Origin", "0123456789012345678901234567890123456789")
}

func TestNextTalliesByTheServersMinute(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t) // the only server whose clock can be set
	client := s.Client(t)
	start := time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC)
	steps := []struct {
		name            string
		at              time.Duration
		issued, seconds int64
	}{
		{"the first minute", 0, 10, 30},
		{"the same minute", 20 * time.Second, 20, 50},
		{"the next minute counts both", 60 * time.Second, 30, 90},
		{"the one after drops the first", 120 * time.Second, 20, 90},
		{"a long pause drops all", time.Hour, 10, 30},
		{"a clock set back keeps all", 30 * time.Minute, 20, 90},
		{"and goes on from there", 30*time.Minute + time.Second, 30, 91},
	}
	for i, step := range steps {
		s.Mini().SetTime(start.Add(step.at))
		r := request(step.name)
		r.Capacity = 10
		got := mustNext(t, client, r)
		if got.Issued != step.issued || got.Seconds != step.seconds {
			t.Errorf("%d, %s: issued %d in %d s, want %d in %d s", i, step.name, got.Issued, got.Seconds, step.issued, step.seconds)
		}
	}
	r := request("lost")
	r.Floor = 1000
	if got := mustNext(t, client, r); got.Jump != 1000-70+1024 {
		t.Errorf("the gap is not the least one: jump %d", got.Jump)
	}
	for i := range 60 { // 60 * 32 lately make a gap above 1024
		mustNext(t, client, request("many"+string(rune('a'+i))))
	}
	before := mustNext(t, client, request("last"))
	r.Token, r.Floor = "lost again", before.High+1
	if got := mustNext(t, client, r); got.Jump != 1+2*before.Issued {
		t.Errorf("jump %d, want %d, twice what was issued lately", got.Jump, 1+2*before.Issued)
	}
}

func TestNextRefusesBadArguments(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for name, change := range map[string]func(*scripts.NextRequest){
			"no token":          func(r *scripts.NextRequest) { r.Token = "" },
			"no capacity":       func(r *scripts.NextRequest) { r.Capacity = 0 },
			"negative capacity": func(r *scripts.NextRequest) { r.Capacity = -1 },
			"negative floor":    func(r *scripts.NextRequest) { r.Floor = -1 },
			"negative limit":    func(r *scripts.NextRequest) { r.Limit = -1 },
		} {
			r := request("one")
			change(&r)
			if _, err := scripts.Next(t.Context(), client, keys, r); err == nil || !scripts.Answered(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		wantSame(t, nil, stored(t, client))
	})
}
