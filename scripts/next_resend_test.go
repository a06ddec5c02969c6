package scripts

import (
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextResentReturnsTheSameRange(t *testing.T) {
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

func TestNextResentAfterAnEditOfMaxReturnsAnotherRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("token"))
		set(t, client, "Max", "4000")
		wantRange(t, mustNext(t, client, request("token")), 4001, 4032)
	})
}

// A client whose floor shows that it holds the range already never receives it again.
func TestNextResentWithTheRangeBelowItsFloorReturnsAnother(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("token")
		got := mustNext(t, client, r)
		for _, floor := range []int64{got.Low, got.High} {
			set(t, client, "Max", got.High, "Low", got.Low, "Lease", r.Token)
			r.Floor = floor
			wantRange(t, mustNext(t, client, r), got.High+1, got.High+32)
		}
	})
}

// The range was first issued with a prefix, and the reply was lost. The resend issues it bare.
func TestNextResentRecordsBareNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		say(t, client, "ServerPrefix", "N/", "Identities", "here")
		mustNext(t, client, request("token"))
		say(t, client)
		got := mustNext(t, client, request("token"))
		wantRange(t, got, 1, 32)
		if bare := stored(t, client)["Bare"]; got.Prefix != "" || bare != "32" {
			t.Errorf("got %+v and Bare %q, want no prefix and 32", got, bare)
		}
	})
}

func TestNextResentToARestartedServerReturnsAnotherRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("token"))
		state := stored(t, client)
		s.Restart() // another server may have issued the range to others meanwhile
		set(t, client, state)
		base := jumped(t, client, 32, rangeGap, "token")
		wantRange(t, mustNext(t, client, request("token")), base+1, base+32)
	})
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
		if again := mustNext(t, client, request("two")); again.Written != two.Written || again.Before != 0 {
			t.Errorf("sent again: got %+v, want Written of %+v and Before 0", again, two)
		}
		written := two.Written
		for what, write := range map[string]func(){
			"a seed":                 func() { mustSeed(t, client, SeedRequest{}) },
			"a seed by force":        func() { mustSeed(t, client, SeedRequest{Value: 64, Force: true}) },
			"an import":              func() { importOne(t, client, ImportRequest{Value: 1}) },
			"a clock that went back": func() { set(t, client, "Written", "9000000000000000000") },
		} {
			write()
			got := mustNext(t, client, request(what))
			if got.Before == written || got.Written <= got.Before {
				t.Errorf("after %s: got %+v, want Before other than %d", what, got, written)
			}
			written = got.Written
			wantReturned(t, client, back(got, what, got.Low), true)
			if after := mustNext(t, client, request(what+" and a return")); after.Before == written || after.Written <= after.Before {
				t.Errorf("after %s and a return: got %+v, want Before other than %d", what, after, written)
			} else {
				written = after.Written
			}
		}
	})
}

func TestNextResentReturnsTheSameRangeCutAtTheLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("token")
		r.Limit = 20
		wantRange(t, mustNext(t, client, r), 1, 20)
		wantRange(t, mustNext(t, client, r), 1, 20)
	})
}

// A machine without a real-time clock battery starts in 1970.
func TestNextWorksWithAClockNearZero(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	s.Mini().SetTime(time.UnixMicro(7))
	client := s.Client(t)
	one := mustNext(t, client, request("one"))
	if two := mustNext(t, client, request("two")); one.Written != 7 || two.Written != 8 || two.Before != 7 {
		t.Errorf("got %+v, then %+v, want Written 7, then 8", one, two)
	}
}
