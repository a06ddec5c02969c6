package scripts_test

import (
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

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
