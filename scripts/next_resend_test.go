package scripts_test

import (
	"testing"

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
