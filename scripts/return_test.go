package scripts_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestReturnGivesTheKnownAnswers(t *testing.T) {
	t.Parallel()
	type row struct {
		Max       *string
		End, Last string
		Want      *string
	}
	rows := vectors[row](t, "return.json")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("origin"))
		origin := stored(t, client)["Origin"]
		for i, row := range rows {
			client.Del(t.Context(), keys.Counter)
			if row.Max != nil {
				set(t, client, "Max", *row.Max, "Lease", "token", "Origin", origin)
			}
			_, err := scripts.Return(t.Context(), client, scripts.ReturnRequest{
				Counter: keys.Counter, Token: "token", End: number(t, row.End), Last: number(t, row.Last),
			})
			if err != nil {
				t.Errorf("row %d: %v", i, err)
			}
			want := ""
			if row.Want != nil {
				want = *row.Want
			}
			wantStored(t, client, "Max", want)
		}
	})
}

// back returns what is left of a range after last.
func back(got scripts.Range, token string, last int64) scripts.ReturnRequest {
	return scripts.ReturnRequest{Counter: keys.Counter, Token: token, End: got.High, Last: last, Epoch: got.Epoch, Written: got.Written}
}

func wantReturned(t *testing.T, client *redis.Client, r scripts.ReturnRequest, want bool) {
	t.Helper()
	before := stored(t, client)
	got, err := scripts.Return(t.Context(), client, r)
	if err != nil || got != want {
		t.Fatalf("returned %v, %v, want %v", got, err, want)
	}
	if !want {
		wantSame(t, before, stored(t, client))
	}
}

func TestReturnTakesBackOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		first := mustNext(t, client, request("one"))
		wantReturned(t, client, back(first, "one", 5), true)
		wantStored(t, client, "Max", "5")
		wantStored(t, client, "Lease", "")
		wantStored(t, client, "Low", "")
		wantReturned(t, client, back(first, "one", 5), false)
		wantRange(t, mustNext(t, client, request("one")), 6, 37) // its lease is gone: not a resend
	})
}

// A return that looks at Max alone is fooled when somebody else brought Max
// back to the same value. The first half shows that it is, with such a return;
// the second that ours is not.
func TestReturnRefusesAKeyThatIsNoHash(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		got := mustNext(t, client, request("one"))
		client.Set(t.Context(), keys.Counter, "32", 0)
		if ok, err := scripts.Return(t.Context(), client, back(got, "one", 5)); ok || !errors.Is(err, scripts.ErrCorrupt) {
			t.Errorf("%v, %v", ok, err)
		}
		if text := client.Get(t.Context(), keys.Counter).Val(); text != "32" {
			t.Errorf("%q stands there", text)
		}
	})
}

func TestReturnIsNotFooledByTheSameMax(t *testing.T) {
	t.Parallel()
	bare := redis.NewScript(`
		if redis.call('HGET', KEYS[1], 'Max') ~= ARGV[1] then return 0 end
		redis.call('HSET', KEYS[1], 'Max', ARGV[2])
		return 1`)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		// A takes 1..32 and returns 6..32; B takes 6..32 and holds it. A's
		// return arrives again.
		first := mustNext(t, client, request("a"))
		wantReturned(t, client, back(first, "a", 5), true)
		r := request("b")
		r.Capacity = 27
		held := mustNext(t, client, r)
		wantRange(t, held, 6, 32)

		wantReturned(t, client, back(first, "a", 5), false)
		r.Token = "c"
		wantRange(t, mustNext(t, client, r), 33, 59)

		client.Del(t.Context(), keys.Counter)
		set(t, client, "Max", "32")
		bare.Run(t.Context(), client, []string{keys.Counter}, 32, 5)
		r.Token = "d"
		if got := mustNext(t, client, r); got.Low > held.High {
			t.Errorf("the bare return did not show the fault: %+v", got)
		}
	})
}

// A late copy of a range's own request makes its token the newest again; a late
// copy of its return must still take nothing back.
func TestReturnIsNotFooledByALateCopyOfItsOwnRequest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("a1"))
		second := mustNext(t, client, request("a2"))
		wantReturned(t, client, back(second, "a2", 5), true) // 33..64, and 6..32 of a1
		r := request("b")
		r.Capacity = 27
		wantRange(t, mustNext(t, client, r), 6, 32) // b holds these
		wantRange(t, mustNext(t, client, request("a2")), 33, 64)
		wantReturned(t, client, back(second, "a2", 5), false)
	})
}

// The same where an edit brings Max back to where the range ended.
func TestReturnIsNotFooledByAnEdit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		got := mustNext(t, client, request("a"))
		wantReturned(t, client, back(got, "a", 5), true)
		wantRange(t, mustNext(t, client, request("a")), 6, 37) // late, for nobody
		set(t, client, "Max", 32)                              // up to here are other people's
		wantReturned(t, client, back(got, "a", 5), false)

		mustSeed(t, client, scripts.SeedRequest{Value: 100})
		got = mustNext(t, client, request("c"))
		wantReturned(t, client, back(got, "c", 100), true)
		wantRange(t, mustNext(t, client, request("d")), 101, 132) // d holds these
		client.Del(t.Context(), keys.Counter)
		wantRange(t, mustNext(t, client, request("c")), 1, 32) // late, for nobody
		set(t, client, "Max", 132)                             // as it was
		wantReturned(t, client, back(got, "c", 100), false)
	})
}

// A counter that was lost begins anew, so that late copies of the requests of a client take ranges that end, and are as
// many, as those were. Below them stands what others have, or a seed or an edit.
func TestReturnIsNotFooledByLateCopiesWhereTheCounterWasLost(t *testing.T) {
	t.Parallel()
	const capacity = 5
	tests := []struct {
		name string
		from int64 // what stands at first
		last int64 // used of two ranges in a row
		anew func(t *testing.T, client *redis.Client, first, second scripts.NextRequest)
	}{
		{"another client's", 0, 4, func(t *testing.T, client *redis.Client, _, second scripts.NextRequest) {
			mustSeed(t, client, scripts.SeedRequest{Value: 3})
			r := request("b")
			r.Capacity = 2
			wantRange(t, mustNext(t, client, r), 4, 5) // b holds these
			wantRange(t, mustNext(t, client, second), 6, 10)
		}},
		{"another client's in the same place", 0, 4, func(t *testing.T, client *redis.Client, _, second scripts.NextRequest) {
			r := request("b")
			r.Capacity = capacity
			wantRange(t, mustNext(t, client, r), 1, 5) // b holds these
			wantRange(t, mustNext(t, client, second), 6, 10)
		}},
		{"a seed", 0, 0, func(t *testing.T, client *redis.Client, first, second scripts.NextRequest) {
			mustSeed(t, client, scripts.SeedRequest{Value: 1})
			first.Limit = 5 // which cut nothing the first time
			wantRange(t, mustNext(t, client, first), 2, 5)
			wantRange(t, mustNext(t, client, second), 6, 10)
		}},
		{"an edit", 5, 5, func(t *testing.T, client *redis.Client, first, second scripts.NextRequest) {
			wantRange(t, mustNext(t, client, first), 1, 5)
			set(t, client, "Max", 10) // up to here are other people's
			wantRange(t, mustNext(t, client, second), 11, 15)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				mustSeed(t, client, scripts.SeedRequest{Value: test.from})
				first, second := request("a1"), request("a2")
				first.Capacity, second.Capacity = capacity, capacity
				held := mustNext(t, client, first)
				second.Floor = held.High
				all := back(mustNext(t, client, second), "a2", test.last)
				wantReturned(t, client, all, true)

				client.Del(t.Context(), keys.Counter)
				test.anew(t, client, first, second)
				wantReturned(t, client, all, false)
			})
		})
	}
}

func TestReturnTakesNothingBackAfterAnythingHappened(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		happen func(t *testing.T, s *redistest.Server, client *redis.Client)
	}{
		{"another range", func(t *testing.T, _ *redistest.Server, client *redis.Client) {
			mustNext(t, client, request("another"))
		}},
		{"a seed below", func(t *testing.T, _ *redistest.Server, client *redis.Client) {
			mustSeed(t, client, scripts.SeedRequest{Value: 20})
		}},
		{"a seed of the same value", func(t *testing.T, _ *redistest.Server, client *redis.Client) {
			mustSeed(t, client, scripts.SeedRequest{Value: 32})
		}},
		{"a restart that brought back the same state", func(t *testing.T, s *redistest.Server, client *redis.Client) {
			state := stored(t, client)
			s.Restart()
			set(t, client, state)
		}},
		{"another epoch", func(t *testing.T, _ *redistest.Server, client *redis.Client) {
			set(t, client, "Epoch", "1")
		}},
		{"a counter that vanished", func(t *testing.T, _ *redistest.Server, client *redis.Client) {
			client.Del(t.Context(), keys.Counter)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				got := mustNext(t, client, request("one"))
				test.happen(t, s, client)
				wantReturned(t, client, back(got, "one", 5), false)
			})
		})
	}
}

func TestReturnAllReturnsManyAlsoWithoutTheScriptCached(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		const n = 1100 // more than one pipeline
		requests := make([]scripts.ReturnRequest, n)
		for i := range requests {
			k := keys
			k.Counter = fmt.Sprintf("{Raven}/HiLo/c%d", i)
			got, err := scripts.Next(t.Context(), client, k, request("token"))
			if err != nil {
				t.Fatal(err)
			}
			requests[i] = back(got, "token", 3)
			requests[i].Counter = k.Counter
		}
		requests[7].Token = "not the lease"
		client.ScriptFlush(t.Context())
		for i, result := range scripts.ReturnAll(t.Context(), client, requests) {
			if result.Err != nil || result.OK != (i != 7) {
				t.Fatalf("request %d: %+v", i, result)
			}
		}
		if got := client.HGet(t.Context(), requests[n-1].Counter, "Max").Val(); got != "3" {
			t.Errorf("Max of the last is %q", got)
		}
	})
}

func TestReturnAllSendsNothingMoreToAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	sent := 0
	s.Hook(func(cmd string, _ []string) string {
		if cmd != "EVALSHA" {
			return ""
		}
		sent++
		return "ERR something that is no answer of a script"
	})
	opts := s.Options()
	opts.MaxRetries = -1
	client := redis.NewClient(opts)
	defer func() { _ = client.Close() }()
	requests := make([]scripts.ReturnRequest, 3)
	for i := range requests {
		requests[i] = back(scripts.Range{Low: 1, High: 32}, "token", 3)
	}
	for i, result := range scripts.ReturnAll(t.Context(), client, requests) {
		if result.Err == nil {
			t.Errorf("request %d: %+v", i, result)
		}
	}
	if sent != 1 {
		t.Errorf("%d requests were sent", sent)
	}
}

func TestReturnAllGivesUpWhenTheServerIsGone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		s.Kill()
		for i, result := range scripts.ReturnAll(t.Context(), client, make([]scripts.ReturnRequest, 1500)) {
			if result.Err == nil || result.OK {
				t.Fatalf("request %d: %+v", i, result)
			}
		}
	})
}
