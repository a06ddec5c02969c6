package scripts

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestReturnMatchesTheVectors(t *testing.T) {
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
			_, err := Return(t.Context(), client, ReturnRequest{
				Counter: keys.Counter, Token: "token", End: number(t, row.End), Last: number(t, row.Last),
			})
			if err != nil {
				t.Errorf("row %d: got %v, want <nil>", i, err)
			}
			want := ""
			if row.Want != nil {
				want = *row.Want
			}
			wantStored(t, client, "Max", want)
		}
	})
}

// back returns a request that returns what is left of a range after last.
func back(got Range, token string, last int64) ReturnRequest {
	return ReturnRequest{Counter: keys.Counter, Token: token, End: got.High, Last: last, Epoch: got.Epoch, Written: got.Written}
}

func wantReturned(t *testing.T, client redistest.Client, r ReturnRequest, want bool) {
	t.Helper()
	before := stored(t, client)
	got, err := Return(t.Context(), client, r)
	if err != nil || got != want {
		t.Fatalf("returned %v, %v, want %v", got, err, want)
	}
	if !want {
		wantSame(t, before, stored(t, client))
	}
}

func TestReturnActsOnce(t *testing.T) {
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

func TestReturnRefusesAKeyThatIsNoHash(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		got := mustNext(t, client, request("one"))
		client.Set(t.Context(), keys.Counter, "32", 0)
		if ok, err := Return(t.Context(), client, back(got, "one", 5)); ok || !errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v, %v, want ErrCorrupt", ok, err)
		}
		if text := client.Get(t.Context(), keys.Counter).Val(); text != "32" {
			t.Errorf("got %q, want 32 as before", text)
		}
	})
}

// A return that compares Max alone takes back numbers of another client after Max reached the same value again. The second
// half shows that fault with such a return.
func TestReturnChecksMoreThanMax(t *testing.T) {
	t.Parallel()
	bare := redis.NewScript(`
		if redis.call('HGET', KEYS[1], 'Max') ~= ARGV[1] then return 0 end
		redis.call('HSET', KEYS[1], 'Max', ARGV[2])
		return 1`)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		// A takes 1..32 and returns 6..32. B takes 6..32 and holds it. A's return arrives again.
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
			t.Errorf("got %+v after a return without the guard, want numbers of the range in use, or the test proves nothing", got)
		}
	})
}

// A late copy of the request of a range makes its token the newest lease again. A late copy of its return must still do nothing.
func TestReturnIgnoresALateCopyOfItsRequest(t *testing.T) {
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

func TestReturnDoesNothingAfterAnyChange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		happen func(t *testing.T, s *redistest.Server, client redistest.Client)
	}{
		{"another range", func(t *testing.T, _ *redistest.Server, client redistest.Client) {
			mustNext(t, client, request("another"))
		}},
		{"a seed below", func(t *testing.T, _ *redistest.Server, client redistest.Client) {
			mustSeed(t, client, SeedRequest{Value: 20})
		}},
		{"a seed of the same value", func(t *testing.T, _ *redistest.Server, client redistest.Client) {
			mustSeed(t, client, SeedRequest{Value: 32})
		}},
		{"a restart that brought back the same state", func(t *testing.T, s *redistest.Server, client redistest.Client) {
			state := stored(t, client)
			s.Restart()
			replace(t, client, state)
		}},
		{"an import below", func(t *testing.T, _ *redistest.Server, client redistest.Client) {
			importOne(t, client, ImportRequest{Value: 1})
		}},
		{"another time of the newest write", func(t *testing.T, _ *redistest.Server, client redistest.Client) {
			set(t, client, "Written", "1")
		}},
		{"another epoch", func(t *testing.T, _ *redistest.Server, client redistest.Client) {
			set(t, client, "Epoch", "1")
		}},
		{"a counter that was made anew", func(t *testing.T, s *redistest.Server, client redistest.Client) {
			client.Del(t.Context(), keys.Counter)
			written := client.Time(t.Context()).Val() // two births in one millisecond look equal
			s.Await("to be past it", func(ctx context.Context) bool { return client.Time(ctx).Val().Sub(written) > time.Millisecond })
			wantRange(t, mustNext(t, client, request("one")), 1, 32) // a late copy of the request
		}},
		{"a counter that vanished", func(t *testing.T, _ *redistest.Server, client redistest.Client) {
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

func TestReturnAllLoadsAMissingScript(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		options := redistest.Options(s)
		options.ReadTimeout = time.Minute // a pipeline that is sent again would find its leases gone
		client := redis.NewClient(options)
		t.Cleanup(func() { _ = client.Close() })
		const n = 1100 // more than one pipeline
		requests := make([]ReturnRequest, n)
		for i := range requests {
			k := keys
			k.Counter = fmt.Sprintf("{Raven}/HiLo/c%d", i)
			got, err := Next(t.Context(), client, k, request("token"))
			if err != nil {
				t.Fatal(err)
			}
			requests[i] = back(got, "token", 3)
			requests[i].Counter = k.Counter
		}
		requests[7].Token = "not the lease"
		client.ScriptFlush(t.Context())
		for i, result := range ReturnAll(t.Context(), client, requests) {
			if result.Err != nil || result.OK != (i != 7) {
				t.Fatalf("request %d: got %+v, want OK %v", i, result, i != 7)
			}
		}
		if got := client.HGet(t.Context(), requests[n-1].Counter, "Max").Val(); got != "3" {
			t.Errorf("Max of the last: got %q, want 3", got)
		}
	})
}

func TestReturnAllStopsAtTheFirstRequestWithoutReply(t *testing.T) {
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
	opts := redistest.Options(s)
	opts.MaxRetries = -1
	client := redis.NewClient(opts)
	defer func() { _ = client.Close() }()
	requests := make([]ReturnRequest, 3)
	for i := range requests {
		requests[i] = back(Range{Low: 1, High: 32}, "token", 3)
	}
	for i, result := range ReturnAll(t.Context(), client, requests) {
		if result.Err == nil {
			t.Errorf("request %d: got %+v, want an error", i, result)
		}
	}
	if sent != 1 {
		t.Errorf("got %d requests, want 1", sent)
	}
}

func TestReturnAllFailsEachRequestWhenTheServerIsDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		s.Kill()
		for i, result := range ReturnAll(t.Context(), client, make([]ReturnRequest, 1500)) {
			if result.Err == nil || result.OK {
				t.Fatalf("request %d: got %+v, want an error", i, result)
			}
		}
	})
}
