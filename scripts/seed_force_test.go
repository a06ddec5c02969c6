package scripts

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// A forced seed whose reply was lost is sent again, possibly by go-redis. Numbers that were issued in between stay issued.
func TestSeedByForceActsOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		value   int64 // where 100 stands
		between func(t *testing.T, client redistest.Client)
		max     string // in the end
		want    error
	}{
		{"raises, and nobody came between", 4000, func(*testing.T, redistest.Client) {}, "4000", nil},
		{"lowers, and nobody came between", 50, func(*testing.T, redistest.Client) {}, "50", nil},
		{"changes nothing, and nobody came between", 100, func(*testing.T, redistest.Client) {}, "100", nil},
		{"raises, and a range was given", 4000, func(t *testing.T, client redistest.Client) {
			mustNext(t, client, request("between"))
		}, "4032", ErrChanged},
		{"lowers, and a range was given", 50, func(t *testing.T, client redistest.Client) {
			mustNext(t, client, request("between"))
		}, "82", ErrChanged},
		{"lowers, and a range was given up to what stood before", 68, func(t *testing.T, client redistest.Client) {
			wantRange(t, mustNext(t, client, request("between")), 69, 100)
		}, "100", ErrChanged},
		{"lowers, and a range was given and given back", 50, func(t *testing.T, client redistest.Client) {
			got := mustNext(t, client, request("between"))
			wantReturned(t, client, back(got, "between", 60), true)
		}, "60", ErrChanged},
		{"lowers, and somebody raised it to what stood before", 50, func(t *testing.T, client redistest.Client) {
			mustSeed(t, client, SeedRequest{Value: 100})
		}, "100", ErrChanged},
		{"raises, and somebody set it to what stood before", 4000, func(t *testing.T, client redistest.Client) {
			mustSeed(t, client, SeedRequest{Value: 100, Force: true})
		}, "100", ErrChanged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				set(t, client, "Max", "68")
				mustNext(t, client, request("before"))
				r := SeedRequest{Value: test.value, Force: true, Expected: mustStand(t, client, keys.Counter, FieldMax)}
				if got := mustSeed(t, client, r); got != test.value {
					t.Fatalf("got %d, want %d", got, test.value)
				}
				test.between(t, client)
				before := stored(t, client)
				r.Field, r.Name = FieldMax, "Orders"
				got, err := Seed(t.Context(), client, keys, r)
				if !errors.Is(err, test.want) || err == nil && got != test.value || err != nil && !Answered(err) {
					t.Errorf("sent again: got %d, %v, want %d or %v", got, err, test.value, test.want)
				}
				wantStored(t, client, "Max", test.max)
				if err != nil {
					wantSame(t, before, stored(t, client))
				}
			})
		})
	}
}

func TestSeedByForceOfAnIdentityActsOnce(t *testing.T) {
	t.Parallel()
	for _, value := range []int64{4000, 50, 99} {
		redistest.Each(t, func(t *testing.T, s *redistest.Server) {
			client := s.Client(t)
			if _, err := seedIdentity(t, client, 100, false); err != nil {
				t.Fatal(err)
			}
			r := SeedRequest{Field: FieldValue, Name: "orders", Value: value, Force: true,
				Expected: mustStand(t, client, identityKeys.Counter, FieldValue)}
			for range 2 {
				if got, err := Seed(t.Context(), client, identityKeys, r); err != nil || got != value {
					t.Errorf("seed: got %d, %v, want %d", got, err, value)
				}
			}
			given := mustIdentity(t, client, identityRequest(1))
			if _, err := Seed(t.Context(), client, identityKeys, r); !errors.Is(err, ErrChanged) {
				t.Errorf("seed of %d, after %d was issued: got %v, want ErrChanged", value, given.Low, err)
			}
			wantRange(t, mustIdentity(t, client, identityRequest(1)), value+2, value+2)
		})
	}
}

// The client sends the state that it read, and the script refuses a counter that changed since.
func TestSeedByForceRefusesAnUnexpectedState(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		written := fmt.Sprint(mustNext(t, client, request("one")).Written)
		stands := mustStand(t, client, keys.Counter, FieldMax)
		if stands != (Standing{Value: "32", Written: written}) {
			t.Errorf("got %+v, want 32, written %s", stands, written)
		}
		for _, expected := range []Standing{{}, {Value: "32"}, {Value: "31", Written: written}, {Value: "32", Written: written + "0"}} {
			before := stored(t, client)
			r := SeedRequest{Field: FieldMax, Name: "orders", Value: 5, Force: true, Expected: expected}
			if _, err := Seed(t.Context(), client, keys, r); !errors.Is(err, ErrChanged) {
				t.Errorf("%+v: got %v, want ErrChanged", expected, err)
			}
			wantSame(t, before, stored(t, client))
		}
		client.Del(t.Context(), keys.Counter)
		if stands := mustStand(t, client, keys.Counter, FieldMax); stands != (Standing{}) {
			t.Errorf("without a counter: got %+v, want none", stands)
		}
		client.Set(t.Context(), keys.Counter, "5", 0)
		if _, err := Stands(t.Context(), client, keys.Counter, FieldMax); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with a string: got %v, want ErrCorrupt", err)
		}
	})
}

// A late copy finds a counter that was lost and has reached the same value again, with numbers that another client holds.
func TestSeedByForceActsOnceAfterALoss(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("a"))
		r := SeedRequest{Value: 3, Force: true, Expected: mustStand(t, client, keys.Counter, FieldMax)}
		mustSeed(t, client, r)
		client.Del(t.Context(), keys.Counter)
		wantRange(t, mustNext(t, client, request("b")), 1, 32) // b holds these
		r.Field, r.Name = FieldMax, "orders"
		if got, err := Seed(t.Context(), client, keys, r); !errors.Is(err, ErrChanged) {
			t.Errorf("a late copy: got %d, %v, want ErrChanged", got, err)
		}

		identity := func() Standing {
			mustIdentity(t, client, identityRequest(5))
			return mustStand(t, client, identityKeys.Counter, FieldValue)
		}
		client.Del(t.Context(), keys.Counter)
		r.Field, r.Expected = FieldValue, identity()
		client.Del(t.Context(), identityKeys.Counter)
		identity()
		if got, err := Seed(t.Context(), client, identityKeys, r); !errors.Is(err, ErrChanged) {
			t.Errorf("a late copy, of an identity: got %d, %v, want ErrChanged", got, err)
		}
	})
}

// A loss right after a seed or an import shows in Origin, even to a client without a floor.
func TestSeedWritesOriginAsEvidenceOfALaterLoss(t *testing.T) {
	t.Parallel()
	writes := map[string]func(t *testing.T, client redistest.Client){
		"seed": func(t *testing.T, client redistest.Client) { mustSeed(t, client, SeedRequest{Value: 4000}) },
		"forced seed": func(t *testing.T, client redistest.Client) {
			mustSeed(t, client, SeedRequest{Value: 4000, Force: true})
		},
		"import":       func(t *testing.T, client redistest.Client) { importOne(t, client, ImportRequest{Value: 4000}) },
		"seed by hand": func(t *testing.T, client redistest.Client) { set(t, client, "Max", "4000") }, // the fault as it was
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				write(t, client)
				state := stored(t, client)
				r := request("one")
				r.RequireSeeded = true
				held := mustNext(t, client, r)
				wantRange(t, held, 4001, 4032)

				s.Restart() // without that range
				set(t, client, state)
				r.Token = "two"
				got := mustNext(t, client, r)
				if name == "seed by hand" {
					wantRange(t, got, held.Low, held.High)
					return
				}
				if got.Low <= held.High+rangeGap-32 || got.Evidence != EvidenceOrigin {
					t.Errorf("got %+v, want a jump on evidence origin", got)
				}
			})
		})
	}
}

func TestSeedKeepsAnExistingOrigin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustSeed(t, client, SeedRequest{Value: 5})
		origin := stored(t, client)["Origin"]
		if len(origin) != 40 {
			t.Errorf("got Origin %q, want a replication id", origin)
		}
		s.ChangeReplicationID()
		mustSeed(t, client, SeedRequest{Value: 6})
		mustSeed(t, client, SeedRequest{Value: 4, Force: true})
		importOne(t, client, ImportRequest{Value: 7})
		wantStored(t, client, "Origin", origin)
	})
}

// Lowered counts the forced seeds of one server. A replacement server that was seeded instead of receiving an import may have had
// more of them. Clients then ignore their floors, so its Value has to be above everything that was issued.
func TestIdentityIgnoresTheFloorWhereItWasLoweredMore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		lowered     bool
		seeded, low int64
	}{
		{"seeded to what was issued", true, 10, 11},
		{"seeded lower", true, 4, 5}, // 5 to 10 are issued again
		{"seeded lower, without an own forced seed", false, 4, 1024},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				old := mustIdentity(t, client, identityRequest(10))
				client.Del(t.Context(), identityKeys.Counter) // as at another server
				if test.lowered {
					for i, value := range []int64{5, 0} {
						if _, err := seedIdentity(t, client, value, i > 0); err != nil {
							t.Fatal(err)
						}
					}
				}
				if _, err := seedIdentity(t, client, test.seeded, false); err != nil {
					t.Fatal(err)
				}
				r := identityRequest(1)
				r.Floor, r.Epoch, r.Lowered = old.High, old.Epoch, old.Lowered
				if got := mustIdentity(t, client, r); got.Low != test.low && (test.low < 1024 || got.Low < 1024) {
					t.Errorf("got %d, want %d, or more where that is 1024", got.Low, test.low)
				}
			})
		})
	}
}
