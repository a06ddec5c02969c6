package scripts

import (
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextKeepsItsGapAfterALongOutage(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t) // the only server whose clock can be set
	client := s.Client(t)
	start := time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC)
	s.Mini().SetTime(start)
	r := request("before")
	r.Capacity = 50_000
	mustNext(t, client, r)
	s.SetReplicationID("0123456789012345678901234567890123456789")
	s.Mini().SetTime(start.Add(time.Hour))
	if got, want := mustNext(t, client, request("after")), jumped(t, client, 50_000, 100_000, "after"); got.Jump != want-50_000 {
		t.Errorf("an hour later the jump is %d, want %d, past twice what was issued before it", got.Jump, want-50_000)
	}
}

func TestNextJumpsOnEvidenceOfLostWrites(t *testing.T) {
	t.Parallel()
	const restarted = "0123456789012345678901234567890123456789"
	tests := []struct {
		name     string
		state    []any
		floor    int64
		least    int64
		capacity int64
		base     int64 // that the jump starts at
		gap      int64 // and its minimum, 0 without a jump
		evidence Evidence
	}{
		{"a counter by hand is none", []any{"Max", "4000"}, 0, 0, 32, 4000, 0, ""},
		{"the floor at Max is none", []any{"Max", "4000"}, 4000, 0, 32, 4000, 0, ""},
		{"Max below the floor", []any{"Max", "4000"}, 4001, 0, 32, 4001, rangeGap, EvidenceFloor},
		{"another origin", []any{"Max", "4000", "Origin", restarted}, 0, 0, 32, 4000, rangeGap, EvidenceOrigin},
		{"another origin, above the floor", []any{"Max", "4000", "Origin", restarted}, 3000, 0, 32, 4000, rangeGap, EvidenceOrigin},
		{"no counter where there was one", nil, 4000, 0, 32, 4000, rangeGap, EvidenceMissing},
		{"twice the capacity", []any{"Max", "4000"}, 4001, 0, 50_000, 4001, 100_000, EvidenceFloor},
		{"what the client knows", []any{"Max", "4000"}, 4001, 500_000, 50_000, 4001, 500_000, EvidenceFloor},
		{"twice what was issued lately", []any{"Max", "4000", "Minute", "1", "Issued", "70000", "IssuedBefore", "20000"}, 4001, 0, 32, 4001, 180_000, EvidenceFloor},
		{"past 2^53", []any{"Max", "9007199254740993"}, 9007199254740995, 0, 1, 9007199254740995, rangeGap, EvidenceFloor},
		{"a gap past 2^53", []any{"Max", "4000"}, 4001, 9007199254740993, 1, 4001, 9007199254740993, EvidenceFloor},
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
				r.Floor, r.LeastGap, r.Capacity = test.floor, test.least, test.capacity
				got := mustNext(t, client, r)
				base, jump := test.base, int64(0)
				if test.gap > 0 {
					base = jumped(t, client, test.base, test.gap, "one")
					jump = base
					if test.state != nil {
						jump -= number(t, test.state[1].(string))
					}
				}
				wantRange(t, got, base+1, base+test.capacity)
				if got.Jump != jump || got.Evidence != test.evidence {
					t.Errorf("jump %d for %q, want %d for %q", got.Jump, got.Evidence, jump, test.evidence)
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
		base := jumped(t, client, 32, rangeGap, "two")
		wantRange(t, got, base+1, base+32)
		if got.Evidence != EvidenceOrigin || got.Epoch != 1 {
			t.Errorf("got %+v, want evidence origin and epoch 1", got)
		}
		wantRange(t, mustNext(t, client, request("three")), got.High+1, got.High+32)
	})
}

func TestNextCountsIssuedNumbersByServerMinute(t *testing.T) {
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
		{"a long pause keeps the last minute that had any", time.Hour, 20, 90},
		{"the next one", time.Hour + time.Minute, 20, 90},
		{"a clock set back keeps both", 30 * time.Minute, 30, 90},
		{"and goes on from there", 30*time.Minute + time.Second, 40, 91},
		{"at the beginning of a minute", 2*time.Hour + 30*time.Second, 30, 61},
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
	if got, want := mustNext(t, client, r), jumped(t, client, 1000, rangeGap, "lost"); got.Jump != want-90 {
		t.Errorf("the gap is not the least one: jump %d, want %d", got.Jump, want-90)
	}
	r.Floor = 0
	for i := range 60 { // 60,000 lately make a gap above the least one
		r.Token, r.Capacity = "many"+string(rune('a'+i)), 1000
		mustNext(t, client, r)
	}
	before := mustNext(t, client, request("last"))
	r.Token, r.Floor, r.Capacity = "lost again", before.High+1, 32
	if got, want := mustNext(t, client, r), jumped(t, client, r.Floor, 2*before.Issued, r.Token); got.Jump != want-before.High {
		t.Errorf("jump %d, want %d, past twice what was issued lately", got.Jump, want-before.High)
	}
}
