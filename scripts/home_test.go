package scripts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// Identities have no prefix, so they come from the one server that says that it
// is their home.
func TestIdentityIsGivenAtItsHomeOnly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		says     []any
		anywhere bool
		want     error
	}{
		{"nothing: it is the only one", nil, false, nil},
		{"that it is the home, and nothing else", []any{"Identities", "here"}, false, nil},
		{"a prefix", []any{"ServerPrefix", "NorthServer/"}, false, scripts.ErrElsewhere},
		{"a tag", []any{"NodeTag", "A"}, false, scripts.ErrElsewhere},
		{"both", []any{"ServerPrefix", "NorthServer/", "NodeTag", "A"}, false, scripts.ErrElsewhere},
		{"a prefix, and who asks takes it anywhere", []any{"ServerPrefix", "NorthServer/"}, true, nil},
		{"a prefix, and that it is the home", []any{"ServerPrefix", "NorthServer/", "Identities", "here"}, false, nil},
		{"a tag, and that it is the home", []any{"NodeTag", "A", "Identities", "here"}, false, nil},
		{"something else of identities", []any{"ServerPrefix", "NorthServer/", "Identities", "there"}, true, scripts.ErrCorrupt},
		{"an empty text of identities", []any{"ServerPrefix", "NorthServer/", "Identities", ""}, false, scripts.ErrCorrupt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				say(t, client, test.says...)
				for _, raise := range []int64{0, 7} {
					r := identityRequest(1)
					r.Raise, r.Anywhere = raise, test.anywhere
					got, err := scripts.Identity(t.Context(), client, identityKeys, r)
					if !errors.Is(err, test.want) || err == nil && got.Low != max(1, raise) {
						t.Errorf("%+v, %v", got, err)
					}
					if err != nil && !scripts.Answered(err) {
						t.Errorf("sent again it would be the same: %v", err)
					}
					if errors.Is(err, scripts.ErrElsewhere) && (!strings.Contains(err.Error(), keys.Server) || !strings.Contains(err.Error(), "Identities")) {
						t.Errorf("%q does not say what to set where", err)
					}
				}
				if exists := client.Exists(t.Context(), identityKeys.Counter).Val() == 1; exists != (test.want == nil) {
					t.Errorf("written: %v", exists)
				}
			})
		})
	}
}

// Server-side identifiers carry the server's prefix or tag, so every server gives them.
func TestTheServerSideCounterHasNoHome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		say(t, client, "ServerPrefix", "NorthServer/")
		k := scripts.Keys{Counter: "{Raven}/ServerSide", Server: keys.Server, Other: keys.Server}
		if got, err := scripts.Identity(t.Context(), client, k, identityRequest(1)); err != nil || got.Low != 1 || got.Prefix != "NorthServer/" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestAServerWithNeitherPrefixNorTagGivesNothingWhereOneIsRequired(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r, identity := request("one"), identityRequest(1)
		r.RequirePrefix, identity.RequirePrefix = true, true
		for _, says := range [][]any{nil, {"ServerPrefix", "", "NodeTag", ""}, {"Identities", "here"}} {
			say(t, client, says...)
			_, err := scripts.Next(t.Context(), client, keys, r)
			if !errors.Is(err, scripts.ErrPrefixMissing) || !scripts.Answered(err) || !strings.Contains(err.Error(), keys.Server) {
				t.Errorf("%v: %v", says, err)
			}
			if _, err := scripts.Identity(t.Context(), client, identityKeys, identity); !errors.Is(err, scripts.ErrPrefixMissing) {
				t.Errorf("%v, identity: %v", says, err)
			}
		}
		if n := client.Exists(t.Context(), keys.Counter, identityKeys.Counter).Val(); n != 0 {
			t.Errorf("%d keys were written", n)
		}
		say(t, client, "NodeTag", "A", "Identities", "here")
		wantRange(t, mustNext(t, client, r), 1, 32)
		wantRange(t, mustIdentity(t, client, identity), 1, 1)
	})
}

func TestDescribeTellsWhatTheServerSays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		says []any
		want scripts.Description
		err  error
	}{
		{"nothing", nil, scripts.Description{}, nil},
		{"all", []any{"ServerPrefix", "NorthServer/", "NodeTag", "A", "Identities", "here"}, scripts.Description{Prefix: "NorthServer/", Tag: "A", Identities: true}, nil},
		{"a tag", []any{"NodeTag", "A"}, scripts.Description{Tag: "A"}, nil},
		{"an unusable prefix", []any{"ServerPrefix", "North1"}, scripts.Description{}, scripts.ErrCorrupt},
		{"an unusable home", []any{"Identities", "yes"}, scripts.Description{}, scripts.ErrCorrupt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				say(t, client, test.says...)
				got, err := scripts.Describe(t.Context(), client, keys.Server)
				if !errors.Is(err, test.err) || err == nil && len(got.Origin) != 40 {
					t.Errorf("%+v, %v", got, err)
				}
				if got.Origin = ""; got != test.want {
					t.Errorf("%+v, want %+v", got, test.want)
				}
			})
		})
	}
}
