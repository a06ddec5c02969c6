package scripts

import (
	"errors"
	"math"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextAtTheLimitWritesNothing(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{1, 31, 32, 33, 1<<53 + 1, math.MaxInt64} {
		redistest.Each(t, func(t *testing.T, s *redistest.Server) {
			client := s.Client(t)
			set(t, client, "Max", max(0, limit-10))
			r := request("one")
			r.Limit = limit
			wantRange(t, mustNext(t, client, r), max(0, limit-10)+1, limit)
			before := stored(t, client)
			r.Token = "two"
			if _, err := Next(t.Context(), client, keys, r); !errors.Is(err, ErrExhausted) {
				t.Errorf("at the limit: got %v, want ErrExhausted", err)
			}
			wantSame(t, before, stored(t, client))
		})
	}
}

func TestNextRefusesCorruptState(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, field := range []string{"Max", "Ranges", "Epoch", "Low", "Minute", "Issued", "IssuedBefore"} {
			for _, value := range []string{"abc", "01", "-5", "", "+1", " 1", "1.0", "1e3", "9223372036854775808", "10000000000000000000", "0x1f"} {
				client.Del(t.Context(), keys.Counter)
				set(t, client, "Max", "5", field, value)
				before := stored(t, client)
				_, err := Next(t.Context(), client, keys, request("one"))
				if !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s %q: got %v, want ErrCorrupt", field, value, err)
				}
				wantSame(t, before, stored(t, client))
			}
		}
		client.Del(t.Context(), keys.Counter)
		client.Set(t.Context(), keys.Counter, "5", 0)
		if _, err := Next(t.Context(), client, keys, request("one")); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a string for a counter: got %v, want ErrCorrupt", err)
		}
		client.Del(t.Context(), keys.Counter)
		set(t, client, "Ranges", "5")
		if _, err := Next(t.Context(), client, keys, request("one")); !errors.Is(err, ErrCorrupt) {
			t.Errorf("ranges without Max: got %v, want ErrCorrupt", err)
		}
	})
}

func TestNextRefusesAnUnusableServerPrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, row := range []struct{ field, value string }{
			{"ServerPrefix", "North1"}, {"ServerPrefix", "a b"}, {"ServerPrefix", "a|b"}, {"ServerPrefix", "{a}"},
			{"NodeTag", "1A"}, {"NodeTag", "A-B"}, {"NodeTag", "ABCDEFGHI"},
		} {
			client.Del(t.Context(), keys.Server)
			client.HSet(t.Context(), keys.Server, row.field, row.value)
			if _, err := Next(t.Context(), client, keys, request("one")); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s %q: got %v, want ErrCorrupt", row.field, row.value, err)
			}
			wantSame(t, nil, stored(t, client))
		}
		client.Del(t.Context(), keys.Server)
		client.Set(t.Context(), keys.Server, "NorthServer/", 0)
		if _, err := Next(t.Context(), client, keys, request("one")); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a string for the prefix: got %v, want ErrCorrupt", err)
		}
	})
}

func TestNextWithRequireSeededRefusesAMissingCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("one")
		r.RequireSeeded = true
		for _, floor := range []int64{0, 100} {
			r.Floor = floor
			if _, err := Next(t.Context(), client, keys, r); !errors.Is(err, ErrNotSeeded) {
				t.Errorf("floor %d: got %v, want ErrNotSeeded", floor, err)
			}
		}
		wantSame(t, nil, stored(t, client))
		set(t, client, "Max", "100")
		wantRange(t, mustNext(t, client, r), 101, 132)
	})
}

func TestNextRefusesACollectionThatIsAnIdentity(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), keys.Other, "Value", "5")
		if _, err := Next(t.Context(), client, keys, request("one")); !errors.Is(err, ErrMixed) {
			t.Errorf("mixed: got %v, want ErrMixed", err)
		}
		wantSame(t, nil, stored(t, client))
		client.HSet(t.Context(), keys.Server, "NodeTag", "A")
		wantRange(t, mustNext(t, client, request("one")), 1, 32)
	})
}

func TestNextRefusesBadArguments(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for name, change := range map[string]func(*NextRequest){
			"no token":          func(r *NextRequest) { r.Token = "" },
			"no capacity":       func(r *NextRequest) { r.Capacity = 0 },
			"negative capacity": func(r *NextRequest) { r.Capacity = -1 },
			"negative floor":    func(r *NextRequest) { r.Floor = -1 },
			"negative limit":    func(r *NextRequest) { r.Limit = -1 },
		} {
			r := request("one")
			change(&r)
			if _, err := Next(t.Context(), client, keys, r); err == nil || !Answered(err) {
				t.Errorf("%s: got %v, want a refusal", name, err)
			}
		}
		wantSame(t, nil, stored(t, client))
	})
}
