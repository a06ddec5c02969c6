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

// A run is what one client took one right after another.
func TestNextTellsWhereTheRunBegins(t *testing.T) {
	t.Parallel()
	one, two, three := scripts.Held{Token: "one", Low: 1}, scripts.Held{Token: "two", Low: 33}, scripts.Held{Token: "three", Low: 65}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		next := func(token string, floor int64, follows scripts.Held) scripts.Range {
			r := request(token)
			r.Floor, r.Follows = floor, follows
			return mustNext(t, client, r)
		}
		for i, step := range []struct {
			token   string
			floor   int64
			follows scripts.Held
			from    int64
		}{
			{"one", 0, scripts.Held{}, 1},
			{"two", 32, one, 1},
			{"two", 32, one, 1}, // sent again
			{"three", 64, two, 1},
			{"of another", 0, scripts.Held{}, 97},
			{"of a third", 0, scripts.Held{}, 129},
			{"four", 96, three, 161},
		} {
			if got := next(step.token, step.floor, step.follows); got.From != step.from {
				t.Errorf("step %d: %d..%d from %d, want %d", i, got.Low, got.High, got.From, step.from)
			}
		}
		for what, between := range map[string]func(){
			"a seed":                func() { mustSeed(t, client, scripts.SeedRequest{}) },
			"a return":              func() { wantReturned(t, client, back(scripts.Range{High: 32}, "one", 32), true) },
			"Max raised by hand":    func() { set(t, client, "Max", 40) },
			"another first number":  func() { set(t, client, "Low", 5) },
			"a restart":             func() { set(t, client, "Origin", "another") },
			"From edited":           func() { set(t, client, "From", "x") },
			"From beyond the range": func() { set(t, client, "From", 100) },
		} {
			client.Del(t.Context(), keys.Counter)
			next("one", 0, scripts.Held{})
			between()
			if got := next("two", 32, one); got.From != got.Low {
				t.Errorf("after %s: %d..%d from %d", what, got.Low, got.High, got.From)
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
