package scripts

import (
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextRaisesThePlainCeilingInTheWriteThatPassesIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		first := mustNext(t, client, request("first"))
		state := stored(t, client)
		if first.Ceiling != 32+16384 || first.Block != 16384 || state["Raised"] != "16416" || state["RaisedAt"] != number10(first.Written) {
			t.Errorf("first range: got %+v, stored %v, want a ceiling of 16416", first, state)
		}
		r := request("up to it")
		r.Capacity = 16384
		if got := mustNext(t, client, r); got.High != 16416 || got.Ceiling != 16416 {
			t.Errorf("a range that ends at the ceiling: got %+v, want no raise", got)
		}
		wantStored(t, client, "RaisedAt", state["RaisedAt"])
		if got := mustNext(t, client, request("past it")); got.Block != 65536 || got.Ceiling != got.High+65536 {
			t.Errorf("a range past the ceiling: got %+v, want a raise by 65536", got)
		}
		r = request("large")
		r.Capacity = 5_000_000
		large := mustNext(t, client, r)
		if large.Block != 4*65536 || large.Ceiling != large.High+large.Block {
			t.Errorf("a large request: got %+v, want it added to the raise and not kept in Block", large)
		}
		mustSeed(t, client, SeedRequest{Value: 10_000_000}) // which counts as Raised
		if got := mustNext(t, client, request("after a seed")); got.Ceiling != got.High+got.Block || got.Low != 10_000_001 {
			t.Errorf("after a seed: got %+v, want a raise from there", got)
		}
	})
}

func TestTheBlockFollowsTheRate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		take  func(t *testing.T, client redistest.Client, token string, count int64) Range
		first int64
	}{
		"collection": {func(t *testing.T, client redistest.Client, token string, count int64) Range {
			r := request(token)
			r.Capacity = count
			return mustNext(t, client, r)
		}, 16384},
		"identity": {func(t *testing.T, client redistest.Client, _ string, count int64) Range {
			return mustIdentity(t, client, identityRequest(count))
		}, 256},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t) // the only server whose clock can be set
			client := s.Client(t)
			now, block := began, int64(0)
			for _, step := range []struct {
				name    string
				after   time.Duration
				restart bool
				want    int64 // in first blocks
			}{
				{"the first raise", 0, false, 1},
				{"within a minute", 59_999 * time.Millisecond, false, 4},
				{"at once", 0, false, 16},
				{"after a minute", time.Minute, false, 16},
				{"at once, after a jump", 0, true, 16},
				{"after two hours", 2 * time.Hour, false, 16},
				{"after more than two hours", 2*time.Hour + time.Millisecond, false, 8},
				{"after more than two hours and a jump", 3 * time.Hour, true, 8},
				{"after a day", 24 * time.Hour, false, 4},
				{"after another day", 24 * time.Hour, false, 2},
				{"after a third day", 24 * time.Hour, false, 1},
				{"after a fourth day", 24 * time.Hour, false, 1},
			} {
				now = now.Add(step.after)
				s.Mini().SetTime(now)
				if step.restart {
					s.ChangeReplicationID()
				}
				got := test.take(t, client, step.name, block+1) // one more than was reserved
				block = got.Block
				if block != step.want*test.first || got.Ceiling != got.High+block || (got.Evidence != "") != step.restart {
					t.Errorf("%s: got %+v, want a block of %d", step.name, got, step.want*test.first)
				}
			}
		})
	}
}

// What is reserved stays reserved, whichever client asks next.
func TestNextWithASmallerLimitNeverLowersRaised(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		small := request("small")
		small.Limit = 100
		if got := mustNext(t, client, small); got.Ceiling != 100 {
			t.Errorf("got %+v, want a ceiling at the limit", got)
		}
		if got := mustNext(t, client, request("great")); got.High != 64 || got.Ceiling != 100 {
			t.Errorf("got %+v, want no raise below the ceiling", got)
		}
		great := request("great again")
		great.Capacity = 37 // past the ceiling by one
		raised := mustNext(t, client, great)
		set(t, client, "Max", "64")
		small.Token = "small again"
		if got := mustNext(t, client, small); got.Ceiling != raised.Ceiling {
			t.Errorf("got %+v, want the ceiling of %d as before", got, raised.Ceiling)
		}
		wantStored(t, client, "Raised", number10(raised.Ceiling))
	})
}
