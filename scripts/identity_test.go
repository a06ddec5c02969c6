package scripts

import (
	"errors"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

var identityKeys = Keys{Counter: keys.Other, Server: keys.Server, Other: keys.Counter}

func identityRequest(count int64) IdentityRequest {
	return IdentityRequest{Token: "token", Name: "Orders", Count: count, Limit: 1<<63 - 1}
}

func mustIdentity(t *testing.T, client redistest.Client, r IdentityRequest) Range {
	t.Helper()
	got, err := Identity(t.Context(), client, identityKeys, r)
	if err != nil {
		t.Fatalf("identity: got %v, want <nil>", err)
	}
	return got
}

func seedIdentity(t *testing.T, client redistest.Client, value int64, force bool) (int64, error) {
	t.Helper()
	r := SeedRequest{Field: FieldValue, Name: "orders", Value: value, Force: force}
	if force {
		r.Expected = mustStand(t, client, identityKeys.Counter, FieldValue)
	}
	return Seed(t.Context(), client, identityKeys, r)
}

func TestIdentityMatchesTheVectors(t *testing.T) {
	t.Parallel()
	type row struct {
		Op          string
		Value, Want int64
		Force       bool
	}
	rows := vectors[row](t, "identity.json")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for i, row := range rows {
			var got int64
			var err error
			if row.Op == "next" {
				got = mustIdentity(t, client, identityRequest(1)).Low
			} else {
				got, err = seedIdentity(t, client, row.Value, row.Force)
			}
			if err != nil || got != row.Want {
				t.Errorf("step %d, %s: %d, %v, want %d", i, row.Op, got, err, row.Want)
			}
		}
		state := client.HGetAll(t.Context(), identityKeys.Counter).Val()
		if state["Name"] != "Orders" || len(state["Origin"]) != 40 || state["Lease"] != "" {
			t.Errorf("got %v, want the name Orders, an Origin and no lease", state)
		}
	})
}

func TestIdentityRaisesToUnissuedValuesOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for i, step := range []struct{ raise, count, low, high int64 }{
			{raise: 5, low: 5, high: 5},
			{raise: 5, low: 0, high: 5},
			{raise: 4, low: 0, high: 5},
			{count: 1, low: 6, high: 6},
			{count: 3, low: 7, high: 9},
			{raise: 10, low: 10, high: 10},
			{raise: 1<<53 + 1, low: 1<<53 + 1, high: 1<<53 + 1},
			{raise: 1 << 53, low: 0, high: 1<<53 + 1},
			{raise: 1<<63 - 1, low: 1<<63 - 1, high: 1<<63 - 1},
		} {
			r := identityRequest(step.count)
			r.Raise = step.raise
			if got := mustIdentity(t, client, r); got.Low != step.low || got.High != step.high {
				t.Errorf("step %d: %d..%d, want %d..%d", i, got.Low, got.High, step.low, step.high)
			}
		}
		r := identityRequest(0)
		r.Raise, r.Limit = 4, 5
		if got := mustIdentity(t, client, r); got.Low != 0 { // above the limit too it was issued before, and nothing is exhausted
			t.Errorf("got %+v, want no value", got)
		}
	})
}

func TestIdentityJumpsOnEvidenceOfLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustIdentity(t, client, identityRequest(5))
		state := client.HGetAll(t.Context(), identityKeys.Counter).Val()
		s.Restart()
		client.HSet(t.Context(), identityKeys.Counter, state)
		for _, value := range []int64{100, 1 << 62} { // below and above where a jump would lead
			raise := identityRequest(0)
			raise.Raise = value
			if got := mustIdentity(t, client, raise); got.Low != 0 {
				t.Errorf("after lost writes: got %+v, want no value", got)
			}
		}
		got := mustIdentity(t, client, identityRequest(1))
		base := jumped(t, client, 5, identityGap, "token")
		if got.Low != base+1 || got.Evidence != EvidenceOrigin || got.Epoch != 1 {
			t.Errorf("after lost writes: %+v, want %d", got, base+1)
		}
		if got := mustIdentity(t, client, identityRequest(1)); got.Low != base+2 {
			t.Errorf("once more: got %+v, want %d", got, base+2)
		}
		client.Del(t.Context(), identityKeys.Counter)
		r := identityRequest(1)
		r.Floor, r.LeastGap = 2000, 5000
		if got := mustIdentity(t, client, r); got.Low != jumped(t, client, 2000, 5000, "token")+1 || got.Evidence != EvidenceMissing {
			t.Errorf("gone: got %+v, want a jump on evidence missing", got)
		}
	})
}

// A floor above the value of an identity is evidence of lost writes, unless a forced seed lowered the identity since then.
func TestIdentityDistinguishesAForcedSeedFromALoss(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		seed := func(value int64, force bool) {
			t.Helper()
			if _, err := seedIdentity(t, client, value, force); err != nil {
				t.Fatal(err)
			}
		}
		seed(1990, false)
		r := identityRequest(1)
		r.Floor = mustIdentity(t, client, r).High
		seed(1975, true)
		got := mustIdentity(t, client, r)
		if got.Low != 1976 || got.Evidence != "" || got.Lowered != 1 || got.Epoch != 0 {
			t.Errorf("after a forced seed: got %+v, want 1976 without a jump", got)
		}
		r.Floor, r.Lowered = 1991, 1
		if got := mustIdentity(t, client, r); got.Low != jumped(t, client, 1991, identityGap, "token")+1 || got.Evidence != EvidenceFloor {
			t.Errorf("a floor since then: got %+v, want a jump on evidence floor", got)
		}
		// A jump for another client is no forced seed, so the floor still applies.
		set := client.HSet(t.Context(), identityKeys.Counter, "Value", 5, "Epoch", 9)
		if r.Floor = 5000; set.Err() != nil || mustIdentity(t, client, r).Low <= 5000 {
			t.Errorf("after another epoch: got a value up to 5000, %v, want one above it", set.Err())
		}
	})
}

func TestIdentityRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	one, cut, raised, seeded := identityRequest(1), identityRequest(3), identityRequest(0), identityRequest(1)
	cut.Limit, raised.Limit, raised.Raise, seeded.RequireSeeded = 2, 2, 3, true
	tests := []struct {
		name    string
		prepare func(t *testing.T, client redistest.Client)
		request IdentityRequest
		want    error
	}{
		{"a value that is no number", func(t *testing.T, client redistest.Client) {
			client.HSet(t.Context(), identityKeys.Counter, "Value", "01")
		}, one, ErrCorrupt},
		{"a key of another type", func(t *testing.T, client redistest.Client) {
			client.Set(t.Context(), identityKeys.Counter, "5", 0)
		}, one, ErrCorrupt},
		{"a name that is a collection", func(t *testing.T, client redistest.Client) {
			client.HSet(t.Context(), identityKeys.Other, "Max", "5")
		}, one, ErrMixed},
		{"a value that somebody removed", func(t *testing.T, client redistest.Client) {
			mustIdentity(t, client, one)
			client.HDel(t.Context(), identityKeys.Counter, "Value")
		}, one, ErrCorrupt},
		{"no value beside a lowered one", func(t *testing.T, client redistest.Client) {
			client.HSet(t.Context(), identityKeys.Counter, "Lowered", "1")
		}, one, ErrCorrupt},
		{"no value beside an epoch", func(t *testing.T, client redistest.Client) {
			client.HSet(t.Context(), identityKeys.Counter, "Epoch", "1")
		}, one, ErrCorrupt},
		{"no value beside an origin", func(t *testing.T, client redistest.Client) {
			client.HSet(t.Context(), identityKeys.Counter, "Origin", "0123456789012345678901234567890123456789")
		}, one, ErrCorrupt},
		{"more than are left", func(*testing.T, redistest.Client) {}, cut, ErrExhausted},
		{"a raise past the limit", func(*testing.T, redistest.Client) {}, raised, ErrExhausted},
		{"none where one is required", func(*testing.T, redistest.Client) {}, seeded, ErrNotSeeded},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				test.prepare(t, client)
				before := client.Dump(t.Context(), identityKeys.Counter).Val()
				if _, err := Identity(t.Context(), client, identityKeys, test.request); !errors.Is(err, test.want) {
					t.Error(err)
				}
				if after := client.Dump(t.Context(), identityKeys.Counter).Val(); after != before {
					t.Errorf("got state %q, want %q as before", after, before)
				}
			})
		})
	}
}

func TestIdentityAndNextMayShareANameWithAPrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), keys.Server, "ServerPrefix", "NorthServer/", "Identities", "here")
		wantRange(t, mustNext(t, client, request("one")), 1, 32)
		if got := mustIdentity(t, client, identityRequest(1)); got.Low != 1 {
			t.Errorf("got %+v, want 1", got)
		}
	})
}
