package scripts

import (
	"errors"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func say(t *testing.T, client redistest.Client, pairs ...any) {
	t.Helper()
	client.Del(t.Context(), keys.Server)
	if len(pairs) == 0 {
		return
	}
	if err := client.HSet(t.Context(), keys.Server, pairs...).Err(); err != nil {
		t.Fatal(err)
	}
}

// A number that a collection issued without prefix and tag has the text of an identity. If a prefix is set later, the identity of
// that name continues above it.
func TestIdentityContinuesAboveBareNumbersOfItsCollection(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, client redistest.Client)
		first   int64 // value of the identity
	}{
		{"ranges", func(t *testing.T, client redistest.Client) {
			mustNext(t, client, request("one"))
			mustNext(t, client, request("two"))
		}, 65},
		{"ranges without a tag, and with one since", func(t *testing.T, client redistest.Client) {
			mustNext(t, client, request("one"))
			say(t, client, "NodeTag", "A")
			mustNext(t, client, request("two"))
		}, 33},
		{"a range of which most came back", func(t *testing.T, client redistest.Client) {
			got := mustNext(t, client, request("one"))
			say(t, client, "NodeTag", "A")
			wantReturned(t, client, back(got, "one", 5), true)
		}, 33},
		{"a seed", func(t *testing.T, client redistest.Client) { mustSeed(t, client, SeedRequest{Value: 4000}) }, 4001},
		{"a seed below", func(t *testing.T, client redistest.Client) {
			mustSeed(t, client, SeedRequest{Value: 4000})
			mustSeed(t, client, SeedRequest{Value: 3000})
		}, 4001},
		{"a seed by force below", func(t *testing.T, client redistest.Client) {
			mustSeed(t, client, SeedRequest{Value: 4000})
			mustSeed(t, client, SeedRequest{Value: 3000, Force: true})
		}, 4001},
		{"an import", func(t *testing.T, client redistest.Client) { importOne(t, client, ImportRequest{Value: 4000}) }, 4001},
		{"an import of what was bare elsewhere", func(t *testing.T, client redistest.Client) {
			say(t, client, "ServerPrefix", "NorthServer/")
			importOne(t, client, ImportRequest{Value: 4000, Bare: 70})
			importOne(t, client, ImportRequest{Value: 4000, Bare: 60})
		}, 71},
		{"a state of before, gone on from", func(t *testing.T, client redistest.Client) {
			set(t, client, "Max", "4000", "Ranges", "125", "Low", "3969", "Lease", "x")
			mustNext(t, client, request("one"))
		}, 4033},
		{"numbers with a prefix only", func(t *testing.T, client redistest.Client) {
			say(t, client, "ServerPrefix", "NorthServer/")
			mustNext(t, client, request("one"))
			mustSeed(t, client, SeedRequest{Value: 4000})
			importOne(t, client, ImportRequest{Value: 5000})
		}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				test.prepare(t, client)
				say(t, client, "ServerPrefix", "NorthServer/", "Identities", "here")
				r := identityRequest(0)
				if test.first > 1 { // bare numbers cannot be requested by value either
					r.Raise = test.first - 1
					if got := mustIdentity(t, client, r); got.Low != 0 {
						t.Errorf("got %+v, want no value, because %d was issued bare", got, r.Raise)
					}
				}
				got := mustIdentity(t, client, identityRequest(2))
				wantRange(t, got, test.first, test.first+1)
				if got.Jump != 0 || got.Evidence != "" {
					t.Errorf("got %+v, want no jump", got)
				}
				wantRange(t, mustIdentity(t, client, identityRequest(1)), test.first+2, test.first+2)
			})
		})
	}
}

// The same numbers may have been issued bare before the returned range was issued with a prefix.
func TestReturnKeepsBare(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("bare"))
		say(t, client, "ServerPrefix", "NorthServer/", "Identities", "here")
		mustSeed(t, client, SeedRequest{Force: true}) // with the prefix its numbers are new texts from 1 on
		got := mustNext(t, client, request("prefixed"))
		wantRange(t, got, 1, 32)
		wantReturned(t, client, back(got, "prefixed", 5), true)
		if got := mustIdentity(t, client, identityRequest(1)); got.Low != 33 {
			t.Errorf("got identity %d, want 33, because 1..32 were issued bare", got.Low)
		}
	})
}

// A lower Max does not take back the numbers that were issued above it.
func TestSeedByForceKeepsBare(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		wantRange(t, mustNext(t, client, request("high")), 1, 32)
		mustSeed(t, client, SeedRequest{Value: 5, Force: true})
		r := request("low")
		r.Capacity = 10
		wantRange(t, mustNext(t, client, r), 6, 15)
		if bare := client.HGet(t.Context(), keys.Counter, "Bare").Val(); bare != "32" {
			t.Errorf("got Bare %q, want 32", bare)
		}
	})
}

func TestSeedOfAnIdentityWritesNoBare(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := SeedRequest{Field: FieldValue, Name: "orders", Value: 7}
		if stands, err := Seed(t.Context(), client, identityKeys, r); err != nil || stands != 7 {
			t.Errorf("got %d, %v, want 7", stands, err)
		}
		if client.HExists(t.Context(), identityKeys.Counter, "Bare").Val() {
			t.Error("got a Bare, want none")
		}
	})
}

func TestIdentityRefusesACorruptBare(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		say(t, client, "NodeTag", "A", "Identities", "here")
		set(t, client, "Max", "5", "Bare", "-1")
		if _, err := Identity(t.Context(), client, identityKeys, identityRequest(1)); !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
		client.Del(t.Context(), keys.Counter)
		client.Set(t.Context(), keys.Counter, "5", 0)
		if _, err := Identity(t.Context(), client, identityKeys, identityRequest(1)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with a key that is no hash: got %v, want ErrCorrupt", err)
		}
		if client.Exists(t.Context(), identityKeys.Counter).Val() != 0 {
			t.Error("got the key of the identity, want none")
		}
	})
}

func TestIdentityIsExhaustedByBareNumbersUpToTheLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		set(t, client, "Max", "100", "Bare", "100")
		say(t, client, "NodeTag", "A", "Identities", "here")
		r := identityRequest(1)
		r.Limit = 100
		if _, err := Identity(t.Context(), client, identityKeys, r); !errors.Is(err, ErrExhausted) {
			t.Error(err)
		}
	})
}
