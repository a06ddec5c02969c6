package scripts_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func mustSeed(t *testing.T, client *redis.Client, r scripts.SeedRequest) int64 {
	t.Helper()
	r.Field, r.Name = scripts.FieldMax, "Orders"
	if r.Force && r.Expected == (scripts.Standing{}) {
		r.Expected = mustStand(t, client, keys.Counter, r.Field)
	}
	stands, err := scripts.Seed(t.Context(), client, keys, r)
	if err != nil {
		t.Fatalf("seed: %v", err)
	}
	return stands
}

// mustStand reads what a forced seed is to expect.
func mustStand(t *testing.T, client *redis.Client, counter, field string) scripts.Standing {
	t.Helper()
	expected, err := scripts.Stands(t.Context(), client, counter, field)
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
			if got := mustSeed(t, client, scripts.SeedRequest{Value: step.value, Force: step.force}); got != step.want {
				t.Errorf("%s: %d stands, want %d", step.name, got, step.want)
			}
		}
		wantStored(t, client, "Name", "Orders")
	})
}

func TestSeedOfZeroMakesACounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustSeed(t, client, scripts.SeedRequest{})
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
		mustSeed(t, client, scripts.SeedRequest{Value: 100})
		if got, want := mustNext(t, client, request("two")), jumped(t, client, 100, rangeGap, "two")+1; got.Low != want {
			t.Errorf("after a seed the range begins at %d, want %d", got.Low, want)
		}
	})
}

func TestSeedRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, client *redis.Client)
		want    error
	}{
		{"a Max that is no number", func(t *testing.T, client *redis.Client) { set(t, client, "Max", "abc") }, scripts.ErrCorrupt},
		{"a key of another type", func(t *testing.T, client *redis.Client) { client.Set(t.Context(), keys.Counter, "5", 0) }, scripts.ErrCorrupt},
		{"a name that is an identity", func(t *testing.T, client *redis.Client) { client.HSet(t.Context(), keys.Other, "Value", 5) }, scripts.ErrMixed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				test.prepare(t, client)
				before := client.Dump(t.Context(), keys.Counter).Val()
				for _, force := range []bool{false, true} {
					r := scripts.SeedRequest{Field: scripts.FieldMax, Name: "orders", Value: 9, Force: force}
					if _, err := scripts.Seed(t.Context(), client, keys, r); !errors.Is(err, test.want) {
						t.Errorf("force %v: %v", force, err)
					}
				}
				if after := client.Dump(t.Context(), keys.Counter).Val(); after != before {
					t.Errorf("something was written: %q, before %q", after, before)
				}
			})
		})
	}
}
