package scripts

import (
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Identities have no prefix, so they come from the one server that reports that it is their home.
func TestIdentityIsIssuedAtItsHomeOnly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		says     []any
		anywhere bool
		want     error
	}{
		{"nothing: it is the only one", nil, false, nil},
		{"that it is the home, and nothing else", []any{"Identities", "here"}, false, nil},
		{"a prefix", []any{"ServerPrefix", "NorthServer/"}, false, ErrElsewhere},
		{"a tag", []any{"NodeTag", "A"}, false, ErrElsewhere},
		{"both", []any{"ServerPrefix", "NorthServer/", "NodeTag", "A"}, false, ErrElsewhere},
		{"a prefix, and who asks takes it anywhere", []any{"ServerPrefix", "NorthServer/"}, true, nil},
		{"a prefix, and that it is the home", []any{"ServerPrefix", "NorthServer/", "Identities", "here"}, false, nil},
		{"a tag, and that it is the home", []any{"NodeTag", "A", "Identities", "here"}, false, nil},
		{"something else of identities", []any{"ServerPrefix", "NorthServer/", "Identities", "there"}, true, ErrCorrupt},
		{"an empty text of identities", []any{"ServerPrefix", "NorthServer/", "Identities", ""}, false, ErrCorrupt},
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
					got, err := Identity(t.Context(), client, identityKeys, r)
					if !errors.Is(err, test.want) || err == nil && got.Low != max(1, raise) {
						t.Errorf("got %+v, %v, want %v", got, err, test.want)
					}
					if err != nil && !Answered(err) {
						t.Errorf("got %v, want an answer of the script", err)
					}
					if errors.Is(err, ErrElsewhere) && (!strings.Contains(err.Error(), keys.Server) || !strings.Contains(err.Error(), "Identities")) {
						t.Errorf("got %q, want the key and the field to set", err)
					}
				}
				if exists := client.Exists(t.Context(), identityKeys.Counter).Val() == 1; exists != (test.want == nil) {
					t.Errorf("written: got %v, want %v", exists, test.want == nil)
				}
			})
		})
	}
}

// Server-side identifiers carry the prefix or tag of their server, so every server issues them.
func TestIdentityOfTheServerSideCounterNeedsNoHome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		say(t, client, "ServerPrefix", "NorthServer/")
		k := Keys{Counter: "{Raven}/ServerSide", Server: keys.Server, Other: keys.Server}
		if got, err := Identity(t.Context(), client, k, identityRequest(1)); err != nil || got.Low != 1 || got.Prefix != "NorthServer/" {
			t.Errorf("got %+v, %v, want 1 with NorthServer/", got, err)
		}
	})
}

func TestRequirePrefixRefusesAServerWithoutPrefixAndTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r, identity := request("one"), identityRequest(1)
		r.RequirePrefix, identity.RequirePrefix = true, true
		for _, says := range [][]any{nil, {"ServerPrefix", "", "NodeTag", ""}, {"Identities", "here"}} {
			say(t, client, says...)
			_, err := Next(t.Context(), client, keys, r)
			if !errors.Is(err, ErrPrefixMissing) || !Answered(err) || !strings.Contains(err.Error(), keys.Server) {
				t.Errorf("%v: got %v, want ErrPrefixMissing that names %s", says, err, keys.Server)
			}
			if _, err := Identity(t.Context(), client, identityKeys, identity); !errors.Is(err, ErrPrefixMissing) {
				t.Errorf("%v, identity: got %v, want ErrPrefixMissing", says, err)
			}
		}
		if n := client.Exists(t.Context(), keys.Counter, identityKeys.Counter).Val(); n != 0 {
			t.Errorf("got %d keys, want none", n)
		}
		say(t, client, "NodeTag", "A", "Identities", "here")
		wantRange(t, mustNext(t, client, r), 1, 32)
		wantRange(t, mustIdentity(t, client, identity), 1, 1)
	})
}

func TestDescribeReportsPrefixTagAndHome(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		says []any
		want Description
		err  error
	}{
		{"nothing", nil, Description{}, nil},
		{"all", []any{"ServerPrefix", "NorthServer/", "NodeTag", "A", "Identities", "here"}, Description{Prefix: "NorthServer/", Tag: "A", Identities: true}, nil},
		{"a tag", []any{"NodeTag", "A"}, Description{Tag: "A"}, nil},
		{"an unusable prefix", []any{"ServerPrefix", "North1"}, Description{}, ErrCorrupt},
		{"an unusable home", []any{"Identities", "yes"}, Description{}, ErrCorrupt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				say(t, client, test.says...)
				got, err := Describe(t.Context(), client, keys.Server)
				if !errors.Is(err, test.err) || err == nil && len(got.Origin) != 40 {
					t.Errorf("got %+v, %v, want %v", got, err, test.err)
				}
				if got.Origin = ""; got != test.want {
					t.Errorf("%+v, want %+v", got, test.want)
				}
			})
		})
	}
}
