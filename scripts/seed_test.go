package scripts

import (
	"errors"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func mustSeed(t *testing.T, client redistest.Client, r SeedRequest) int64 {
	t.Helper()
	r.Field, r.Name = FieldMax, "Orders"
	if r.Force && r.Expected == (Standing{}) {
		r.Expected = mustStand(t, client, keys.Counter, r.Field)
	}
	stands, err := Seed(t.Context(), client, keys, r)
	if err != nil {
		t.Fatalf("seed: got %v, want <nil>", err)
	}
	return stands
}

// mustStand returns the state that a forced seed has to expect.
func mustStand(t *testing.T, client redistest.Client, counter, field string) Standing {
	t.Helper()
	expected, err := Stands(t.Context(), client, counter, field)
	if err != nil {
		t.Fatal(err)
	}
	return expected
}

func TestSeedRaisesAndLowersOnlyByForce(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name  string
		value int64
		force bool
		want  int64
	}{
		{"from nothing", 1990, false, 1990},
		{"lower", 1975, false, 1990},
		{"lower by force", 1975, true, 1975},
		{"past 2^53", 1<<53 + 1, false, 1<<53 + 1},
		{"just below that", 1 << 53, false, 1<<53 + 1},
		{"to the end", 1<<63 - 1, false, 1<<63 - 1},
		{"to nothing by force", 0, true, 0},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, step := range steps {
			if got := mustSeed(t, client, SeedRequest{Value: step.value, Force: step.force}); got != step.want {
				t.Errorf("%s: %d stands, want %d", step.name, got, step.want)
			}
		}
		wantStored(t, client, "Name", "Orders")
	})
}

func TestSeedOfZeroCreatesACounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustSeed(t, client, SeedRequest{})
		r := request("one")
		r.RequireSeeded = true
		wantRange(t, mustNext(t, client, r), 1, 32)
	})
}

func TestSeedLeavesTheEvidenceOfLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("one"))
		state := stored(t, client)
		s.Restart()
		set(t, client, state)
		mustSeed(t, client, SeedRequest{Value: 100})
		if got, want := mustNext(t, client, request("two")), jumped(t, client, 100, rangeGap, "two")+1; got.Low != want {
			t.Errorf("after a seed the range begins at %d, want %d", got.Low, want)
		}
	})
}

func TestSeedRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, client redistest.Client)
		want    error
	}{
		{"a Max that is no number", func(t *testing.T, client redistest.Client) { set(t, client, "Max", "abc") }, ErrCorrupt},
		{"a key of another type", func(t *testing.T, client redistest.Client) { client.Set(t.Context(), keys.Counter, "5", 0) }, ErrCorrupt},
		{"a name that is an identity", func(t *testing.T, client redistest.Client) { client.HSet(t.Context(), keys.Other, "Value", 5) }, ErrMixed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				test.prepare(t, client)
				before := client.Dump(t.Context(), keys.Counter).Val()
				for _, force := range []bool{false, true} {
					r := SeedRequest{Field: FieldMax, Name: "orders", Value: 9, Force: force}
					if _, err := Seed(t.Context(), client, keys, r); !errors.Is(err, test.want) {
						t.Errorf("force %v: got %v, want %v", force, err, test.want)
					}
				}
				if after := client.Dump(t.Context(), keys.Counter).Val(); after != before {
					t.Errorf("got state %q, want %q as before", after, before)
				}
			})
		})
	}
}
