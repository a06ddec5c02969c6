package scripts_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A forced seed whose reply was lost is sent again, by go-redis by itself too.
// Somebody may have been given numbers in between, of which none comes back.
func TestASeedByForceActsOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		value   int64 // where 100 stands
		between func(t *testing.T, client *redis.Client)
		max     string // in the end
		want    error
	}{
		{"raises, and nobody came between", 4000, func(*testing.T, *redis.Client) {}, "4000", nil},
		{"lowers, and nobody came between", 50, func(*testing.T, *redis.Client) {}, "50", nil},
		{"changes nothing, and nobody came between", 100, func(*testing.T, *redis.Client) {}, "100", nil},
		{"raises, and a range was given", 4000, func(t *testing.T, client *redis.Client) {
			mustNext(t, client, request("between"))
		}, "4032", scripts.ErrChanged},
		{"lowers, and a range was given", 50, func(t *testing.T, client *redis.Client) {
			mustNext(t, client, request("between"))
		}, "82", scripts.ErrChanged},
		{"lowers, and a range was given up to what stood before", 68, func(t *testing.T, client *redis.Client) {
			wantRange(t, mustNext(t, client, request("between")), 69, 100)
		}, "100", scripts.ErrChanged},
		{"lowers, and a range was given and given back", 50, func(t *testing.T, client *redis.Client) {
			got := mustNext(t, client, request("between"))
			wantReturned(t, client, back(got, "between", 60), true)
		}, "60", scripts.ErrChanged},
		{"lowers, and somebody raised it to what stood before", 50, func(t *testing.T, client *redis.Client) {
			mustSeed(t, client, scripts.SeedRequest{Value: 100})
		}, "100", scripts.ErrChanged},
		{"raises, and somebody set it to what stood before", 4000, func(t *testing.T, client *redis.Client) {
			mustSeed(t, client, scripts.SeedRequest{Value: 100, Force: true})
		}, "100", scripts.ErrChanged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				set(t, client, "Max", "68")
				mustNext(t, client, request("before"))
				r := scripts.SeedRequest{Value: test.value, Force: true, Expected: mustStand(t, client, keys.Counter, scripts.FieldMax)}
				if got := mustSeed(t, client, r); got != test.value {
					t.Fatalf("it stands at %d", got)
				}
				test.between(t, client)
				before := stored(t, client)
				r.Field, r.Name = scripts.FieldMax, "Orders"
				got, err := scripts.Seed(t.Context(), client, keys, r)
				if !errors.Is(err, test.want) || err == nil && got != test.value || err != nil && !scripts.Answered(err) {
					t.Errorf("sent again: %d, %v", got, err)
				}
				wantStored(t, client, "Max", test.max)
				if err != nil {
					wantSame(t, before, stored(t, client))
				}
			})
		})
	}
}

func TestASeedByForceOfAnIdentityActsOnce(t *testing.T) {
	t.Parallel()
	for _, value := range []int64{4000, 50, 99} {
		redistest.Each(t, func(t *testing.T, s *redistest.Server) {
			client := s.Client(t)
			if _, err := seedIdentity(t, client, 100, false); err != nil {
				t.Fatal(err)
			}
			r := scripts.SeedRequest{Field: scripts.FieldValue, Name: "orders", Value: value, Force: true,
				Expected: mustStand(t, client, identityKeys.Counter, scripts.FieldValue)}
			for range 2 {
				if got, err := scripts.Seed(t.Context(), client, identityKeys, r); err != nil || got != value {
					t.Errorf("%d: %d, %v", value, got, err)
				}
			}
			given := mustIdentity(t, client, identityRequest(1))
			if _, err := scripts.Seed(t.Context(), client, identityKeys, r); !errors.Is(err, scripts.ErrChanged) {
				t.Errorf("%d, after %d was given: %v", value, given.Low, err)
			}
			wantRange(t, mustIdentity(t, client, identityRequest(1)), value+2, value+2)
		})
	}
}

// The client sends what it expects, read before; so a counter that moved since
// then is left alone from the first time on.
func TestASeedByForceLeavesWhatItDidNotExpect(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		written := fmt.Sprint(mustNext(t, client, request("one")).Written)
		stands := mustStand(t, client, keys.Counter, scripts.FieldMax)
		if stands != (scripts.Standing{Value: "32", Written: written}) {
			t.Errorf("%+v, written %s", stands, written)
		}
		for _, expected := range []scripts.Standing{{}, {Value: "32"}, {Value: "31", Written: written}, {Value: "32", Written: written + "0"}} {
			before := stored(t, client)
			r := scripts.SeedRequest{Field: scripts.FieldMax, Name: "orders", Value: 5, Force: true, Expected: expected}
			if _, err := scripts.Seed(t.Context(), client, keys, r); !errors.Is(err, scripts.ErrChanged) {
				t.Errorf("%+v: %v", expected, err)
			}
			wantSame(t, before, stored(t, client))
		}
		client.Del(t.Context(), keys.Counter)
		if stands := mustStand(t, client, keys.Counter, scripts.FieldMax); stands != (scripts.Standing{}) {
			t.Errorf("of no counter: %+v", stands)
		}
		client.Set(t.Context(), keys.Counter, "5", 0)
		if _, err := scripts.Stands(t.Context(), client, keys.Counter, scripts.FieldMax); !errors.Is(err, scripts.ErrCorrupt) {
			t.Errorf("of a string: %v", err)
		}
	})
}

// A late copy of it finds a counter that was lost and stands at the same value again, of which somebody has numbers.
func TestASeedByForceActsOnceAlsoWhereTheCounterWasLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("a"))
		r := scripts.SeedRequest{Value: 3, Force: true, Expected: mustStand(t, client, keys.Counter, scripts.FieldMax)}
		mustSeed(t, client, r)
		client.Del(t.Context(), keys.Counter)
		wantRange(t, mustNext(t, client, request("b")), 1, 32) // b holds these
		r.Field, r.Name = scripts.FieldMax, "orders"
		if got, err := scripts.Seed(t.Context(), client, keys, r); !errors.Is(err, scripts.ErrChanged) {
			t.Errorf("a late copy: %d, %v", got, err)
		}

		identity := func() scripts.Standing {
			mustIdentity(t, client, identityRequest(5))
			return mustStand(t, client, identityKeys.Counter, scripts.FieldValue)
		}
		client.Del(t.Context(), keys.Counter)
		r.Field, r.Expected = scripts.FieldValue, identity()
		client.Del(t.Context(), identityKeys.Counter)
		identity()
		if got, err := scripts.Seed(t.Context(), client, identityKeys, r); !errors.Is(err, scripts.ErrChanged) {
			t.Errorf("a late copy, of an identity: %d, %v", got, err)
		}
	})
}

// A loss right after a seed or an import shows in Origin, also to who was given
// nothing before.
func TestASeedThatIsLostRightAfterShows(t *testing.T) {
	t.Parallel()
	writes := map[string]func(t *testing.T, client *redis.Client){
		"seed": func(t *testing.T, client *redis.Client) { mustSeed(t, client, scripts.SeedRequest{Value: 4000}) },
		"forced seed": func(t *testing.T, client *redis.Client) {
			mustSeed(t, client, scripts.SeedRequest{Value: 4000, Force: true})
		},
		"import":       func(t *testing.T, client *redis.Client) { importOne(t, client, scripts.ImportRequest{Value: 4000}) },
		"seed by hand": func(t *testing.T, client *redis.Client) { set(t, client, "Max", "4000") }, // the fault as it was
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
				if got.Low <= held.High+rangeGap-32 || got.Evidence != scripts.EvidenceOrigin {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func TestASeedKeepsAnOriginAndWritesNoneWhereOneStands(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustSeed(t, client, scripts.SeedRequest{Value: 5})
		origin := stored(t, client)["Origin"]
		if len(origin) != 40 {
			t.Errorf("Origin is %q", origin)
		}
		s.ChangeReplicationID()
		mustSeed(t, client, scripts.SeedRequest{Value: 6})
		mustSeed(t, client, scripts.SeedRequest{Value: 4, Force: true})
		importOne(t, client, scripts.ImportRequest{Value: 7})
		wantStored(t, client, "Origin", origin)
	})
}
