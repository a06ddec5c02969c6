package scripts

import (
	"errors"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// mustRaise raises and, unless that permitted it, permits. Tests that lose no write do not wait for the disk.
func mustRaise(t *testing.T, client redistest.Client, r NextRequest) Raised {
	t.Helper()
	got, err := RaiseNext(t.Context(), client, keys, r)
	if err != nil || got.Obstacle != "" {
		t.Fatalf("raise: got %+v, %v, want <nil>", got, err)
	}
	mustPermit(t, client, keys, got)
	return got
}

func TestNextIssuesNothingAboveTheCeiling(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, client redistest.Client, _ func()) {
		refused := func(token string) {
			t.Helper()
			before := dump(t, client)
			if _, err := Next(t.Context(), client, keys, request(token)); !errors.Is(err, ErrCeiling) || !Answered(err) {
				t.Errorf("next %s: got %v, want ErrCeiling", token, err)
			}
			wantSame(t, before, dump(t, client))
		}
		refused("new")
		if got := mustRaise(t, client, request("r1")); got.Raised != 32+64 || got.Base != 0 || got.Evidence != "" {
			t.Errorf("first raise: got %+v, want 96", got)
		}
		one := mustNext(t, client, request("one"))
		wantRange(t, one, 1, 32)
		if one.Ceiling != 96 || one.Block != 64 || !one.Durable.Holds() {
			t.Errorf("got %+v, want a ceiling of 96", one)
		}
		r := request("two")
		r.Capacity = 100
		two := mustNext(t, client, r)
		wantRange(t, two, 33, 96) // cut at the ceiling
		refused("three")
		mustRaise(t, client, request("r2"))
		wantRange(t, mustNext(t, client, request("three")), 97, 128)

		// Only what is permitted is issued.
		ceiling := stored(t, client)["Ceiling"]
		r = request("r3")
		r.Capacity = 10_000
		got, err := RaiseNext(t.Context(), client, keys, r)
		if err != nil || got.Permitted != (one.Durable == DurableAlways) {
			t.Errorf("raise: got %+v, %v, want that only always permits by itself", got, err)
		}
		if got.Permitted {
			ceiling = number10(got.Raised)
		}
		wantStored(t, client, "Ceiling", ceiling)
		wantStored(t, client, "Raised", number10(got.Raised))
		r.Token = "four"
		if four := mustNext(t, client, r); four.High > number(t, ceiling) {
			t.Errorf("got %+v, want nothing above %s", four, ceiling)
		}
	})
}

// A resend of a cut range is the same range.
func TestNextResentReturnsTheSameRangeCutAtTheCeiling(t *testing.T) {
	t.Parallel()
	_, client := miniDurable(t, "always")
	mustRaise(t, client, request("raise"))
	r := request("token")
	r.Capacity = 500
	wantRange(t, mustNext(t, client, r), 1, 96)
	wantRange(t, mustNext(t, client, r), 1, 96)
}

func TestIdentityIssuesNothingAboveTheCeiling(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, client redistest.Client, _ func()) {
		for _, k := range []Keys{identityKeys, serverSideKeys} {
			raise := func(r IdentityRequest) {
				t.Helper()
				before := dump(t, client)
				if _, err := Identity(t.Context(), client, k, r); !errors.Is(err, ErrCeiling) {
					t.Errorf("%s: got %v, want ErrCeiling", k.Counter, err)
				}
				wantSame(t, before, dump(t, client))
				got, err := RaiseIdentity(t.Context(), client, k, r)
				if err != nil {
					t.Fatal(err)
				}
				mustPermit(t, client, k, got)
			}
			r := identityRequest(1)
			raise(r)
			got, err := Identity(t.Context(), client, k, r)
			if err != nil || got.Low != 1 || got.Ceiling != 1+16 || got.Block != 16 {
				t.Errorf("%s: got %+v, %v, want 1 and a ceiling of 17", k.Counter, got, err)
			}
			r.Count = 17 // one more than is left; it is not cut
			raise(r)
			if got, err := Identity(t.Context(), client, k, r); err != nil || got.Low != 2 || got.High != 18 {
				t.Errorf("%s: got %+v, %v, want 2..18", k.Counter, got, err)
			}
			r.Exact = 5000
			raise(r)
			if got, err := Identity(t.Context(), client, k, r); err != nil || got.Low != 5000 {
				t.Errorf("%s: got %+v, %v, want 5000", k.Counter, got, err)
			}
			if got, err := Identity(t.Context(), client, k, r); err != nil || got.Low != 0 {
				t.Errorf("%s: the same value: got %+v, %v, want it refused", k.Counter, got, err)
			}
		}
	})
}

// A second client that raises waits for a write of its own, and must not disturb those of the first.
func TestRaiseAlwaysWritesAndKeepsWhatARangeNeeds(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "everysec")
	first := mustRaise(t, client, request("raise"))
	got := mustNext(t, client, request("range"))
	writes := 0
	s.Hook(func(cmd string, _ []string) string {
		if cmd == "HSET" {
			writes++
		}
		return ""
	})
	again, err := RaiseNext(t.Context(), client, keys, request("raise again"))
	if err != nil || again.Raised != first.Raised || writes != 1 {
		t.Errorf("raise again: got %+v, %v, %d writes, want %d and 1 write", again, err, writes, first.Raised)
	}
	wantReturned(t, client, back(got, "range", 5), true)
	two := mustNext(t, client, request("two"))
	if _, err := RaiseNext(t.Context(), client, keys, request("raise once more")); err != nil {
		t.Fatal(err)
	}
	r := request("three")
	r.Capacity = 1
	if three := mustNext(t, client, r); three.Before != two.Written {
		t.Errorf("a range after a raise: got %+v, want it right behind %+v", three, two)
	}
}

// A client raises in time, in the background.
func TestRaiseReservesABlockOnceLessThanHalfOfOneIsLeft(t *testing.T) {
	t.Parallel()
	_, client := miniDurable(t, "always")
	mustRaise(t, client, request("raise"))
	for _, step := range []struct{ take, want int64 }{{64, 96}, {1, 66 + 256}} { // half a block is left, and one number less
		r := request(number10(step.want))
		r.Capacity = step.take
		mustNext(t, client, r)
		ahead := request("ahead " + r.Token)
		ahead.Capacity = 1
		if got := mustRaise(t, client, ahead); got.Raised != step.want {
			t.Errorf("got %+v, want Raised at %d", got, step.want)
		}
	}
}

func TestRaiseWithASmallerLimitNeverLowersRaised(t *testing.T) {
	t.Parallel()
	_, client := miniDurable(t, "always")
	first := mustRaise(t, client, request("raise"))
	r := request("range")
	r.Capacity = 80 // less than half a block is left
	mustNext(t, client, r)
	small := request("small")
	small.Limit = 90
	if got := mustRaise(t, client, small); got.Raised != first.Raised {
		t.Errorf("got %+v, want Raised at %d as before", got, first.Raised)
	}
	wantStored(t, client, "Raised", number10(first.Raised))
}

func TestTheBlockOfADurableServerFollowsTheRate(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "always")
	now, capacity := began, int64(32)
	for _, step := range []struct {
		name    string
		after   time.Duration
		restart bool
		want    int64
	}{
		{"the first raise", 0, false, 64},
		{"within half an hour", 29 * time.Minute, false, 256},
		{"after half an hour", 30 * time.Minute, false, 256},
		{"at once, after a restart", 0, true, 256},
		{"after more than two hours", 2*time.Hour + time.Millisecond, false, 128},
		{"after a day", 24 * time.Hour, false, 64},
		{"after another day", 24 * time.Hour, false, 64},
	} {
		now = now.Add(step.after)
		s.Mini().SetTime(now)
		if step.restart {
			s.ChangeReplicationID()
		}
		r := request(step.name)
		r.Capacity = capacity
		raised := mustRaise(t, client, r)
		got := mustNext(t, client, r)
		if got.Block != step.want || raised.Raised != got.High+step.want || got.Ceiling != raised.Raised {
			t.Errorf("%s: got %+v after %+v, want a block of %d", step.name, got, raised, step.want)
		}
		r.Token, r.Capacity = step.name+", the rest", got.Ceiling-got.High
		mustNext(t, client, r) // up to the ceiling, so that the next one raises
		capacity = 1
	}
}

func TestRaiseReportsWhatIsLeft(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "everysec")
	s.Mini().SetTime(began)
	mustRaise(t, client, request("raise")) // for 32 and a block of 64
	mustNext(t, client, request("one"))
	mustNext(t, client, request("two")) // 32 since the raise, in 10 s
	s.Mini().SetTime(began.Add(10 * time.Second))
	s.SetInfo("aof_enabled", "0")
	got, err := RaiseNext(t.Context(), client, keys, request("raise again"))
	if err != nil || got.Left != 32 || got.Lasts != 10*time.Second || got.Obstacle == "" || got.Raised != 0 || got.Epoch != 0 {
		t.Errorf("got %+v, %v, want 32 left, which last 10 s, and an obstacle", got, err)
	}
}

// A counter that was issued from before Durable was set has no Raised that is known to be on disk, so a restart then is one of a plain server.
func TestRaiseJumpsAsAPlainServerWithoutACeiling(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "always")
	settings(t, client, "Initialized", "now")
	held := mustNext(t, client, request("one"))
	settings(t, client, "Durable", "always")
	s.ChangeReplicationID()
	got := mustRaise(t, client, request("two"))
	if want := jumped(t, client, jump{start: held.Ceiling, unit: rangeUnit, token: "two"}); got.Base != want || got.Evidence != EvidenceOrigin {
		t.Errorf("got %+v, want a jump to %d", got, want)
	}
	wantRange(t, mustNext(t, client, request("two")), got.Base+1, got.Base+32)
	wantDurable(t, client, "always")
}
