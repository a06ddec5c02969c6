package scripts

import (
	"errors"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

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
			if row.Op == "next" {
				got = mustIdentity(t, client, identityRequest(1)).Low
			} else {
				got = mustSeedIdentity(t, client, row.Value, row.Force)
			}
			if got != row.Want {
				t.Errorf("step %d, %s: got %d, want %d", i, row.Op, got, row.Want)
			}
		}
		state := storedAt(t, client, identityKeys.Counter)
		for field, want := range map[string]string{"Value": "1976", "Name": "Orders", "Lowered": "1", "Lease": "", "Ranges": "", "Bare": ""} {
			if state[field] != want {
				t.Errorf("%s: got %q, want %q", field, state[field], want)
			}
		}
		if len(state["Origin"]) != 40 || len(state["Epoch"]) != 19 {
			t.Errorf("got %v, want an Origin and a birth", state)
		}
	})
}

// The search for a free value raises an identity to a value if every issued one is below it.
func TestIdentityIssuesAnExactValueOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for i, step := range []struct{ exact, count, low, high int64 }{
			{exact: 5, low: 5, high: 5},
			{exact: 5, low: 0, high: 5},
			{exact: 4, low: 0, high: 5},
			{count: 1, low: 6, high: 6},
			{count: 3, low: 7, high: 9},
			{exact: 10, low: 10, high: 10},
			{exact: 1<<53 + 1, low: 1<<53 + 1, high: 1<<53 + 1},
			{exact: 1 << 53, low: 0, high: 1<<53 + 1},
			{exact: 1<<63 - 1, low: 1<<63 - 1, high: 1<<63 - 1},
		} {
			r := identityRequest(step.count)
			r.Exact = step.exact
			before := storedAt(t, client, identityKeys.Counter)
			got := mustIdentity(t, client, r)
			if got.Low != step.low || got.High != step.high || step.low > 0 && got.Ceiling < got.High {
				t.Errorf("step %d: got %+v, want %d..%d", i, got, step.low, step.high)
			}
			if step.low == 0 {
				wantSame(t, before, storedAt(t, client, identityKeys.Counter))
			}
		}
		r := identityRequest(0)
		r.Exact, r.Limit = 4, 5
		if got := mustIdentity(t, client, r); got.Low != 0 { // above the limit too it was issued before, and nothing is exhausted
			t.Errorf("got %+v, want no value", got)
		}
	})
}

// A refusal tells a client nothing of what the counter would become, since another write may make it otherwise.
func TestIdentityRefusingAnExactValueReportsOnlyWhatStands(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustSeedIdentity(t, client, 5000, false)
		client.HSet(t.Context(), identityKeys.Counter, "Epoch", 3) // of hilo 0.1
		r := identityRequest(1)
		r.Exact = 7
		refused := mustIdentity(t, client, r)
		if refused.Low != 0 || refused.Epoch != 0 || refused.Ceiling != 0 {
			t.Errorf("got %+v, want no epoch and no ceiling", refused)
		}
		mustSeedIdentity(t, client, 10, true)
		r.Exact, r.Token, r.Epoch, r.Ceiling = 0, "next", refused.Epoch, refused.Ceiling
		if got := mustIdentity(t, client, r); got.Low != 11 || got.Evidence != "" {
			t.Errorf("after a forced seed: got %+v, want 11", got)
		}
	})
}

// A floor above the value of an identity is evidence of lost writes, unless a forced seed lowered the identity since then.
func TestIdentityDistinguishesAForcedSeedFromALoss(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustSeedIdentity(t, client, 1990, false)
		r := identityRequest(1)
		r.Floor = mustIdentity(t, client, r).High
		mustSeedIdentity(t, client, 1975, true)
		got := mustIdentity(t, client, r)
		if got.Low != 1976 || got.Evidence != "" || got.Lowered != 1 {
			t.Errorf("after a forced seed: got %+v, want 1976 without a jump", got)
		}
		r.Floor, r.Lowered = 1991, 1
		base := jumped(t, client, jump{start: 1991 + 256, unit: identityUnit, token: "token"})
		if got := mustIdentity(t, client, r); got.Low != base+1 || got.Evidence != EvidenceFloor {
			t.Errorf("a floor since then: got %+v, want %d on evidence floor", got, base+1)
		}
	})
}

func TestIdentityRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	one, cut, exact := identityRequest(1), identityRequest(3), identityRequest(0)
	cut.Limit, exact.Limit, exact.Exact = 2, 2, 3
	field := func(name, value string) func(*testing.T, redistest.Client) {
		return func(t *testing.T, client redistest.Client) {
			client.HSet(t.Context(), identityKeys.Counter, name, value)
		}
	}
	tests := []struct {
		name    string
		prepare func(t *testing.T, client redistest.Client)
		request IdentityRequest
		want    error
	}{
		{"a value that is no number", field("Value", "01"), one, ErrCorrupt},
		{"a key of another type", func(t *testing.T, client redistest.Client) { client.Set(t.Context(), identityKeys.Counter, "5", 0) }, one, ErrCorrupt},
		{"a value that was removed", func(t *testing.T, client redistest.Client) {
			mustIdentity(t, client, one)
			client.HDel(t.Context(), identityKeys.Counter, "Value")
		}, one, ErrCorrupt},
		{"no value beside a lowered one", field("Lowered", "1"), one, ErrCorrupt},
		{"no value beside an origin", field("Origin", anotherOrigin), one, ErrCorrupt},
		{"more than are left", func(*testing.T, redistest.Client) {}, cut, ErrExhausted},
		{"an exact value past the limit", func(*testing.T, redistest.Client) {}, exact, ErrExhausted},
		{"a collection whose key is no hash", func(t *testing.T, client redistest.Client) {
			home(t, client)
			client.Set(t.Context(), keys.Counter, "5", 0)
		}, one, ErrCorrupt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				test.prepare(t, client)
				before := dump(t, client)
				if _, err := Identity(t.Context(), client, identityKeys, test.request); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				wantSame(t, before, dump(t, client))
			})
		})
	}
}

func TestIdentityRejectsValuesThatWereNotRequested(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		low, high string
		exact     int64
		want      error
	}{
		"the values":              {"101", "132", 0, nil},
		"fewer":                   {"101", "131", 0, ErrReply},
		"more":                    {"101", "133", 0, ErrReply},
		"none":                    {"0", "31", 0, ErrReply},
		"above the limit":         {"980", "1011", 0, ErrReply},
		"the value":               {"7", "7", 7, nil},
		"a refusal of the value":  {"0", "50", 7, nil},
		"another value":           {"8", "8", 7, ErrReply},
		"the value and one above": {"7", "8", 7, ErrReply},
	} {
		r := identityRequest(32)
		r.Token, r.Limit, r.Exact = "mine", 1000, test.exact
		got, err := Identity(t.Context(), forgedRange("mine", test.low, test.high), identityKeys, r)
		if !errors.Is(err, test.want) || err != nil && got != (Range{}) {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, test.want)
		}
	}
}
