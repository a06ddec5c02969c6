package scripts

import (
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// anotherOrigin is no server's replication id.
const anotherOrigin = "0123456789012345678901234567890123456789"

// home makes the server the home of identities, with a prefix.
func home(t *testing.T, client redistest.Client) {
	t.Helper()
	say(t, client, "ServerPrefix", "NorthServer/", "Identities", "here")
}

// If writes of a collection with a Bare may have been lost, it issued bare numbers up to Bare plus the gap at most.
func TestIdentityContinuesAboveTheGapOfACollectionThatMayHaveLostWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		state []any
		vary  func(r *IdentityRequest)
		start int64
		gap   int64
	}{
		{"a Bare", []any{"Max", 32, "Bare", 32, "Origin", anotherOrigin}, nil, 32, rangeGap},
		{"a Bare below Max", []any{"Max", 80_000, "Bare", 32, "Origin", anotherOrigin}, nil, 32, rangeGap},
		{"a Bare above a Max that was lowered", []any{"Max", 32, "Bare", 90_000, "Origin", anotherOrigin}, nil, 90_000, rangeGap},
		{"its tallies", []any{"Max", 200_000, "Bare", 200_000, "Issued", 90_000, "IssuedBefore", 10_000, "Origin", anotherOrigin}, nil, 200_000, 200_000},
		{"the least gap", []any{"Max", 32, "Bare", 32, "Origin", anotherOrigin}, func(r *IdentityRequest) { r.LeastGap = 1 << 30 }, 32, 1 << 30},
		{"more than Bare was issued to the client", []any{"Max", 64, "Bare", 32}, func(r *IdentityRequest) { r.BareFloor = 33 }, 33, rangeGap},
		{"more than Max was issued to the client", []any{"Max", 64, "Bare", 32}, func(r *IdentityRequest) { r.BareFloor = 96 }, 96, rangeGap},
		{"nothing, and numbers were issued to the client", nil, func(r *IdentityRequest) { r.BareFloor = 96 }, 96, rangeGap},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				home(t, client)
				if test.state != nil {
					set(t, client, test.state...)
				}
				r := identityRequest(1)
				if test.vary != nil {
					test.vary(&r)
				}
				raise := r
				raise.Raise = test.start + test.gap
				if got := mustIdentity(t, client, raise); got.Low != 0 {
					t.Errorf("raise within the gap = %+v, want it refused", got)
				}
				want := jumped(t, client, test.start, test.gap, "token") + 1
				got := mustIdentity(t, client, r)
				if got.Low != want || got.Jump != want-1 || got.Evidence != EvidenceOther || got.Epoch != 1 {
					t.Errorf("identity = %+v, want %d after a jump by %d, evidence other, epoch 1", got, want, want-1)
				}
				again := mustIdentity(t, client, r)
				if again.Low != want+1 || again.Evidence != "" || again.Epoch != 1 {
					t.Errorf("identity once more: got %+v, want %d without a jump", again, want+1)
				}
			})
		})
	}
}

// A collection without Bare issued no bare numbers. Replication and the AOF keep the order of writes, so a surviving prefix shows
// that the writes before it survived too. Otherwise one restart would make every identity jump.
func TestIdentityBesideACollectionWithoutBareDoesNotJump(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		home(t, client)
		mustNext(t, client, request("one"))
		mustIdentity(t, client, identityRequest(5))
		s.ChangeReplicationID()
		got := mustIdentity(t, client, identityRequest(1))
		if want := jumped(t, client, 5, identityGap, "token") + 1; got.Low != want || got.Evidence != EvidenceOrigin {
			t.Errorf("identity = %+v, want %d by its own gap, evidence origin", got, want)
		}
		if got := mustIdentity(t, client, identityRequest(1)); got.Jump != 0 {
			t.Errorf("identity once more: got %+v, want no jump", got)
		}
	})
}

// A loss of the collection does not concern an identity that is above every number the collection can have issued.
func TestIdentityAboveTheGapOfItsCollectionDoesNotJump(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		home(t, client)
		set(t, client, "Max", 32, "Bare", 32, "Origin", anotherOrigin)
		if _, err := seedIdentity(t, client, 32+rangeGap, false); err != nil {
			t.Fatal(err)
		}
		if got := mustIdentity(t, client, identityRequest(1)); got.Low != 33+rangeGap || got.Jump != 0 {
			t.Errorf("identity = %+v, want %d without a jump", got, 33+rangeGap)
		}
	})
}

// Two servers that continue from the same state jump to different numbers even if only the collection shows the loss.
func TestIdentityJumpsApartOnEvidenceOfItsCollection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		home(t, client)
		set(t, client, "Max", 32, "Bare", 32, "Origin", anotherOrigin)
		var lows []int64
		for _, token := range []string{"one", "two"} {
			client.Del(t.Context(), identityKeys.Counter)
			r := identityRequest(1)
			r.Token = token
			lows = append(lows, mustIdentity(t, client, r).Low)
		}
		if lows[0] == lows[1] {
			t.Errorf("got %d of both servers, want different numbers", lows[0])
		}
	})
}

// Of two losses the one whose gap ends higher decides, and the evidence of the identity itself is reported.
func TestIdentityContinuesAboveBothGaps(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		home(t, client)
		for _, test := range []struct{ value, max, start, gap int64 }{
			{1_000_000, 32, 1_000_000, identityGap},
			{5, 1_000_000, 1_000_000, rangeGap},
		} {
			client.Del(t.Context(), keys.Counter)
			client.HSet(t.Context(), identityKeys.Counter, "Value", test.value, "Origin", anotherOrigin)
			set(t, client, "Max", test.max, "Bare", test.max, "Origin", anotherOrigin)
			got := mustIdentity(t, client, identityRequest(1))
			if want := jumped(t, client, test.start, test.gap, "token") + 1; got.Low != want || got.Evidence != EvidenceOrigin {
				t.Errorf("identity = %+v, want %d, evidence origin", got, want)
			}
		}
	})
}

// If Bare is above the gap, the identity continues above Bare with an offset, since a jump there may be lost like any other.
func TestIdentityJumpsApartAboveABare(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		home(t, client)
		const bare int64 = 1 << 40
		set(t, client, "Max", bare, "Bare", bare)
		for _, token := range []string{"one", "two"} {
			client.HSet(t.Context(), identityKeys.Counter, "Value", 5, "Origin", anotherOrigin)
			r := identityRequest(1)
			r.Token = token
			got := mustIdentity(t, client, r)
			if want := jumped(t, client, bare-identityGap, identityGap, token) + 1; got.Low != want || got.Evidence != EvidenceOrigin {
				t.Errorf("%s: identity = %+v, want %d, evidence origin", token, got, want)
			}
		}
	})
}

// The first range after a loss writes the Origin of this server, which hides the loss from the identity. Therefore it raises Bare.
func TestNextOnEvidenceRaisesBareToTheEndOfTheGap(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		home(t, client)
		set(t, client, "Max", 32, "Origin", anotherOrigin)
		r := request("one")
		mustNext(t, client, r)
		wantStored(t, client, "Bare", "65568")
		if got := mustIdentity(t, client, identityRequest(1)); got.Low != 65569 || got.Jump != 0 {
			t.Errorf("identity = %+v, want 65569 without a jump", got)
		}
		r.Token, r.Floor = "two", 1<<40
		mustNext(t, client, r)
		wantStored(t, client, "Bare", number10(1<<40+rangeGap))
		r.Token, r.Floor = "three", 0
		mustNext(t, client, r)
		wantStored(t, client, "Bare", number10(1<<40+rangeGap)) // no evidence
	})
}

// A range has the prefix, so the numbers that the identity of its name issued do not matter.
func TestNextAfterALossDoesNotReadTheIdentityOfItsName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		home(t, client)
		client.HSet(t.Context(), identityKeys.Counter, "Value", 5, "Issued", "x")
		set(t, client, "Max", 32, "Origin", anotherOrigin)
		if got, want := mustNext(t, client, request("one")), jumped(t, client, 32, rangeGap, "one")+1; got.Low != want {
			t.Errorf("range begins at %d, want %d", got.Low, want)
		}
	})
}

func TestNextAndIdentityRefuseANameIssuedAsTheOtherKindAfterALoss(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r, identity := request("one"), identityRequest(1)
		r.IdentityFloor, identity.BareFloor = 1, 1
		_, err := Next(t.Context(), client, keys, r)
		if !errors.Is(err, ErrMixed) || !strings.Contains(err.Error(), keys.Other) {
			t.Errorf("next: got %v, want ErrMixed that names %s", err, keys.Other)
		}
		if _, err := Identity(t.Context(), client, identityKeys, identity); !errors.Is(err, ErrMixed) {
			t.Errorf("identity: got %v, want ErrMixed", err)
		}
		serverSide := Keys{Counter: "{Raven}/ServerSide", Server: keys.Server, Other: keys.Server}
		if _, err := Identity(t.Context(), client, serverSide, identity); err != nil {
			t.Errorf("server-side: got %v, want <nil>, because it has no other kind", err)
		}
		home(t, client)
		wantRange(t, mustNext(t, client, r), 1, 32)
	})
}

func TestIdentityRefusesACorruptOrUnguardedCollection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		home(t, client)
		for _, field := range []string{"Bare", "Issued", "IssuedBefore"} {
			client.Del(t.Context(), keys.Counter)
			set(t, client, "Max", 32, field, "x")
			_, err := Identity(t.Context(), client, identityKeys, identityRequest(1))
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), keys.Counter) {
				t.Errorf("with %s of x: got %v, want ErrCorrupt that names it and %s", field, err, keys.Counter)
			}
		}
		client.Del(t.Context(), keys.Counter)
		mustNext(t, client, request("one"))
		set(t, client, "Bare", 32)
		_, err := Identity(t.Context(), withoutInfo(t, s), identityKeys, identityRequest(1))
		if !errors.Is(err, ErrUnguarded) || !strings.Contains(err.Error(), keys.Counter) {
			t.Errorf("without INFO: got %v, want ErrUnguarded that names %s", err, keys.Counter)
		}
		if n := client.Exists(t.Context(), identityKeys.Counter).Val(); n != 0 {
			t.Error("got the key of the identity, want none")
		}
	})
}

func TestTopIsTheGreatestNumberThatAGatewayIssued(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		gateway := func(token string) Range {
			r := request(token)
			r.RaiseTop = true
			return mustNext(t, client, r)
		}
		if got := mustNext(t, client, request("plain")); got.Top != 0 {
			t.Errorf("Top of a plain request = %d, want 0", got.Top)
		}
		wantStored(t, client, "Top", "")
		one := gateway("one")
		if one.Top != 0 {
			t.Errorf("Top before the first range: got %d, want 0", one.Top)
		}
		wantStored(t, client, "Top", "64")
		if again := gateway("one"); again.Low != one.Low || again.Top != 64 {
			t.Errorf("a resend: got %+v, want the same range and Top 64", again)
		}
		wantReturned(t, client, back(one, "one", one.Low), true)
		if two := gateway("two"); two.High != 65 || two.Top != 64 {
			t.Errorf("after a return: got %+v, want an end of 65 and Top 64", two)
		}
		mustSeed(t, client, SeedRequest{Value: 5, Force: true})
		if low := gateway("low"); low.High != 37 || low.Top != 65 {
			t.Errorf("after a seed: got %+v, want an end of 37 and Top 65", low)
		}
		wantStored(t, client, "Top", "65")
		set(t, client, "Top", "x")
		r := request("corrupt")
		r.RaiseTop = true
		if _, err := Next(t.Context(), client, keys, r); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with a Top that is no number: got %v, want ErrCorrupt", err)
		}
	})
}

// After Max is lowered, only Bare shows how far the lost writes may have gone.
func TestSeedByForceBelowALossRaisesBareByTheGap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		state []any
		to    int64
		want  string // Bare
	}{
		{"a loss", []any{"Max", 1_000_000, "Origin", anotherOrigin}, 5, "1065536"},
		{"a loss of large ranges", []any{"Max", 1_000_000, "Origin", anotherOrigin, "Issued", 100_000}, 5, "1200000"},
		{"a loss of ranges in two minutes", []any{"Max", 1_000_000, "Origin", anotherOrigin, "Issued", 60_000, "IssuedBefore", 40_000}, 5, "1200000"},
		{"a loss, raised", []any{"Max", 1_000_000, "Origin", anotherOrigin}, 1_000_001, ""},
		{"none", []any{"Max", 1_000_000}, 5, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				home(t, client)
				set(t, client, test.state...)
				mustSeed(t, client, SeedRequest{Value: test.to, Force: true})
				wantStored(t, client, "Bare", test.want)
			})
		})
	}
}
