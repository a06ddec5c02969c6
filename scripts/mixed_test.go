package scripts

import (
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// wantMixed checks that a name is refused, and that nothing is written, not even an empty key.
func wantMixed(t *testing.T, client redistest.Client, what string, call func() error) {
	t.Helper()
	before := dump(t, client)
	if err := call(); !errors.Is(err, ErrMixed) || !Answered(err) {
		t.Errorf("%s: got %v, want ErrMixed", what, err)
	}
	wantSame(t, before, dump(t, client))
}

// Without prefix and tag both kinds have the same texts, so the name is what it was first.
func TestScriptsRefuseTheOtherKindOfANameOnABareServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		companies := Keys{Counter: "{Raven}/HiLo/companies", Server: serverKey, Other: "{Raven}/Identities/companies"}
		mustNext(t, client, request("one"))
		client.HSet(t.Context(), companies.Other, "Value", "5")
		next := func() error { _, err := Next(t.Context(), client, companies, request("one")); return err }
		identity := func() error { _, err := Identity(t.Context(), client, identityKeys, identityRequest(1)); return err }
		wantMixed(t, client, "next", next)
		wantMixed(t, client, "check", func() error { return CheckNext(t.Context(), client, companies, request("one")) })
		wantMixed(t, client, "identity", identity)
		wantMixed(t, client, "seed", func() error {
			_, err := Seed(t.Context(), client, companies, SeedRequest{Field: FieldMax, Name: "companies", Value: 1})
			return err
		})
		wantMixed(t, client, "import", func() error {
			return ImportAll(t.Context(), client, []ImportRequest{{Keys: identityKeys, Field: FieldValue, Name: "orders", Value: 1}})[0].Err
		})
		home(t, client)
		if err := next(); err != nil { // its texts have the prefix now
			t.Errorf("next with a prefix: got %v, want <nil>", err)
		}
		wantMixed(t, client, "identity with a prefix that was set later", identity)
	})
}

// Identities have no prefix. A number of a collection that had none either has the text of an identity, for ever.
func TestIdentityOfANameWithBareNumbersIsRefusedForEver(t *testing.T) {
	t.Parallel()
	birth := func(got Range) int64 { return got.Epoch / 1_000_000 }
	tests := []struct {
		name    string
		prepare func(t *testing.T, client redistest.Client)
		bare    string // what is recorded
		allowed bool
	}{
		{"a range", func(t *testing.T, client redistest.Client) { mustNext(t, client, request("one")) }, "1", false},
		{"a range that was returned", func(t *testing.T, client redistest.Client) {
			wantReturned(t, client, back(mustNext(t, client, request("one")), "one", 0), true)
		}, "1", false},
		{"a range, and one with a tag since", func(t *testing.T, client redistest.Client) {
			mustNext(t, client, request("one"))
			settings(t, client, "NodeTag", "A")
			mustNext(t, client, request("two"))
		}, "1", false},
		{"a range with a prefix, resent without", func(t *testing.T, client redistest.Client) {
			settings(t, client, "ServerPrefix", "N/")
			mustNext(t, client, request("one"))
			settings(t, client, "Initialized", "now")
			mustNext(t, client, request("one"))
		}, "1", false},
		{"a seed", func(t *testing.T, client redistest.Client) { mustSeed(t, client, SeedRequest{Value: 4000}) }, "1", false},
		{"a forced seed of 0 after it", func(t *testing.T, client redistest.Client) {
			mustSeed(t, client, SeedRequest{Value: 4000})
			mustSeed(t, client, SeedRequest{Force: true})
		}, "1", false},
		{"an import", func(t *testing.T, client redistest.Client) { importOne(t, client, ImportRequest{Value: 4000}) }, "1", false},
		{"an import of what was bare elsewhere", func(t *testing.T, client redistest.Client) {
			settings(t, client, "ServerPrefix", "N/")
			importOne(t, client, ImportRequest{Value: 4000, Bare: true})
			importOne(t, client, ImportRequest{Value: 4000})
		}, "1", false},
		{"a Max by hand", func(t *testing.T, client redistest.Client) { set(t, client, "Max", 4000) }, "", false},
		{"a Max by hand, and a range with a prefix", func(t *testing.T, client redistest.Client) {
			settings(t, client, "ServerPrefix", "N/")
			set(t, client, "Max", 4000)
			mustNext(t, client, request("one"))
		}, "1", false},
		{"a Max by hand, and a seed with a prefix", func(t *testing.T, client redistest.Client) {
			settings(t, client, "ServerPrefix", "N/")
			set(t, client, "Max", 4000)
			mustSeed(t, client, SeedRequest{Value: 5000})
		}, "1", false},
		{"a counter that is gone though the client saw it", func(t *testing.T, client redistest.Client) {
			settings(t, client, "ServerPrefix", "N/")
			r := request("one")
			r.Floor = 40
			mustNext(t, client, r)
		}, "1", false},
		{"a counter that was made anew since the client saw it", func(t *testing.T, client redistest.Client) {
			settings(t, client, "ServerPrefix", "N/")
			r := request("two")
			r.Epoch = (birth(mustNext(t, client, request("one"))) - 1) * 1_000_000
			mustNext(t, client, r)
		}, "1", false},
		{"numbers with a prefix, and a restart", func(t *testing.T, client redistest.Client) {
			settings(t, client, "ServerPrefix", "N/")
			mustNext(t, client, request("one"))
			set(t, client, "Origin", anotherOrigin)
			mustNext(t, client, request("two")) // a failover would refuse all identities otherwise
			mustSeed(t, client, SeedRequest{Value: 4000})
			importOne(t, client, ImportRequest{Value: 5000})
		}, "", true},
		{"a seed of 0", func(t *testing.T, client redistest.Client) { mustSeed(t, client, SeedRequest{}) }, "", true},
		{"a Max of 0 by hand", func(t *testing.T, client redistest.Client) { set(t, client, "Max", 0) }, "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				test.prepare(t, client)
				wantStored(t, client, "Bare", test.bare)
				home(t, client)
				if test.allowed {
					wantRange(t, mustIdentity(t, client, identityRequest(2)), 1, 2)
					wantRange(t, mustIdentity(t, client, identityRequest(1)), 3, 3)
					return
				}
				for _, exact := range []int64{0, 7, 1 << 40} {
					r := identityRequest(1)
					r.Exact, r.Anywhere = exact, exact > 7
					wantMixed(t, client, "identity", func() error { _, err := Identity(t.Context(), client, identityKeys, r); return err })
				}
			})
		})
	}
}

// The server may have forgotten what it issued to this client.
func TestScriptsRefuseTheOtherKindToAClientThatWasIssuedOne(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r, identity := request("one"), identityRequest(1)
		r.Mixed, identity.Mixed = true, true
		next := func() error { _, err := Next(t.Context(), client, keys, r); return err }
		wantMixed(t, client, "next", next)
		if err := next(); !strings.Contains(err.Error(), keys.Other) {
			t.Errorf("got %v, want %s in it", err, keys.Other)
		}
		wantMixed(t, client, "identity", func() error { _, err := Identity(t.Context(), client, identityKeys, identity); return err })
		if _, err := Identity(t.Context(), client, serverSideKeys, identity); err != nil {
			t.Errorf("server-side: got %v, want <nil>, because it has no other kind", err)
		}
		home(t, client)
		wantMixed(t, client, "identity with a prefix", func() error { _, err := Identity(t.Context(), client, identityKeys, identity); return err })
		wantRange(t, mustNext(t, client, r), 1, 32) // its texts have the prefix
	})
}

// Identities have no prefix, so they come from the one server that says that it is their home.
func TestIdentityIsIssuedAtItsHomeOnly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		settings []any
		anywhere bool
		want     error
	}{
		{"nothing: it is the only one", []any{"Initialized", "now"}, false, nil},
		{"that it is the home, and nothing else", []any{"Identities", "here"}, false, nil},
		{"a prefix", []any{"ServerPrefix", "NorthServer/"}, false, ErrElsewhere},
		{"a tag", []any{"NodeTag", "A"}, false, ErrElsewhere},
		{"an interval", []any{"MaxValue", "1000"}, false, ErrElsewhere},
		{"a prefix, and the client takes it anywhere", []any{"ServerPrefix", "NorthServer/"}, true, nil},
		{"a prefix, and that it is the home", []any{"ServerPrefix", "NorthServer/", "Identities", "here"}, false, nil},
		{"an interval, and that it is the home", []any{"MaxValue", "1000", "Identities", "here"}, false, nil},
		{"another word", []any{"ServerPrefix", "NorthServer/", "Identities", "there"}, true, ErrCorrupt},
		{"an empty word", []any{"ServerPrefix", "NorthServer/", "Identities", ""}, false, ErrCorrupt},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, test := range tests {
			client.FlushAll(t.Context())
			settings(t, client, test.settings...)
			for _, exact := range []int64{0, 7} {
				r := identityRequest(1)
				r.Exact, r.Anywhere = exact, test.anywhere
				got, err := Identity(t.Context(), client, identityKeys, r)
				if !errors.Is(err, test.want) || err == nil && got.Low != max(1, exact) || err != nil && !Answered(err) {
					t.Errorf("%s: got %+v, %v, want %v", test.name, got, err, test.want)
				}
				if errors.Is(err, ErrElsewhere) && (!strings.Contains(err.Error(), serverKey) || !strings.Contains(err.Error(), "Identities")) {
					t.Errorf("%s: got %q, want the key and the field to set", test.name, err)
				}
			}
			if exists := client.Exists(t.Context(), identityKeys.Counter).Val() == 1; exists != (test.want == nil) {
				t.Errorf("%s: written: got %v, want %v", test.name, exists, test.want == nil)
			}
		}
		// Server-side identifiers carry the prefix or tag of their server, so every server issues them.
		settings(t, client, "ServerPrefix", "NorthServer/")
		if got, err := Identity(t.Context(), client, serverSideKeys, identityRequest(1)); err != nil || got.Low != 1 || got.Prefix != "NorthServer/" {
			t.Errorf("server-side: got %+v, %v, want 1 with NorthServer/", got, err)
		}
	})
}
