package scripts_test

import (
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

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

// Whoever was given the range by another way never gets it again.
func TestNextResentByWhoHasTheRangeGetsAnother(t *testing.T) {
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

// The first time the range had a prefix, and its reply was lost; what is given is bare.
func TestNextResentNotesWhatItGivesBare(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		say(t, client, "ServerPrefix", "N/", "Identities", "here")
		mustNext(t, client, request("token"))
		say(t, client)
		got := mustNext(t, client, request("token"))
		wantRange(t, got, 1, 32)
		if bare := stored(t, client)["Bare"]; got.Prefix != "" || bare != "32" {
			t.Errorf("%+v, and Bare is %q", got, bare)
		}
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
		base := jumped(t, client, 32, rangeGap, "token")
		wantRange(t, mustNext(t, client, request("token")), base+1, base+32)
	})
}

// Nothing happened between two ranges where the newer one names the time of the older.
func TestNextTellsWhenTheCounterWasWritten(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		one := mustNext(t, client, request("one"))
		two := mustNext(t, client, request("two"))
		if one.Before != 0 || two.Before != one.Written || two.Written <= one.Written {
			t.Errorf("%+v, then %+v", one, two)
		}
		if again := mustNext(t, client, request("two")); again.Written != two.Written || again.Before != 0 {
			t.Errorf("sent again: %+v, first %+v", again, two)
		}
		written := two.Written
		for what, write := range map[string]func(){
			"a seed":                 func() { mustSeed(t, client, scripts.SeedRequest{}) },
			"a seed by force":        func() { mustSeed(t, client, scripts.SeedRequest{Value: 64, Force: true}) },
			"an import":              func() { importOne(t, client, scripts.ImportRequest{Value: 1}) },
			"a clock that went back": func() { set(t, client, "Written", "9000000000000000000") },
		} {
			write()
			got := mustNext(t, client, request(what))
			if got.Before == written || got.Written <= got.Before {
				t.Errorf("after %s: %+v, before it %d", what, got, written)
			}
			written = got.Written
			wantReturned(t, client, back(got, what, got.Low), true)
			if after := mustNext(t, client, request(what+" and a return")); after.Before == written || after.Written <= after.Before {
				t.Errorf("after %s and a return: %+v, before it %d", what, after, written)
			} else {
				written = after.Written
			}
		}
	})
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

// A machine without a battery begins in 1970.
func TestTheFirstSecondOfAClockIsATimeLikeOthers(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	s.Mini().SetTime(time.UnixMicro(7))
	client := s.Client(t)
	one := mustNext(t, client, request("one"))
	if two := mustNext(t, client, request("two")); one.Written != 7 || two.Written != 8 || two.Before != 7 {
		t.Errorf("%+v, then %+v", one, two)
	}
}
