package scripts

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// mustSeed seeds the collection. A forced seed without a token expects what stands.
func mustSeed(t *testing.T, client redistest.Client, r SeedRequest) int64 {
	t.Helper()
	return seedAt(t, client, keys, FieldMax, r)
}

func mustSeedIdentity(t *testing.T, client redistest.Client, value int64, force bool) int64 {
	t.Helper()
	return seedAt(t, client, identityKeys, FieldValue, SeedRequest{Value: value, Force: force})
}

func seedAt(t *testing.T, client redistest.Client, k Keys, field string, r SeedRequest) int64 {
	t.Helper()
	r.Field, r.Name = field, "Orders"
	if r.Force && r.Token == "" && r.Expected == (Standing{}) {
		r.Expected = mustStand(t, client, k.Counter, field)
	}
	stands, err := Seed(t.Context(), client, k, r)
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
		{"zero, which makes a counter", 0, false, 0},
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
				t.Errorf("%s: got %d, want %d", step.name, got, step.want)
			}
		}
		wantStored(t, client, "Name", "Orders")
		wantStored(t, client, "Lowered", "2")
		if got, err := Seed(t.Context(), client, serverSideKeys, SeedRequest{Field: FieldValue, Name: "companies", Value: 27}); err != nil || got != 27 {
			t.Errorf("server-side: got %d, %v, want 27", got, err)
		}
	})
}

func TestSeedRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, client redistest.Client)
	}{
		{"a Max that is no number", func(t *testing.T, client redistest.Client) { set(t, client, "Max", "abc") }},
		{"a Written that is no number", func(t *testing.T, client redistest.Client) { set(t, client, "Max", "1", "Written", "x") }},
		{"a key of another type", func(t *testing.T, client redistest.Client) { client.Set(t.Context(), keys.Counter, "5", 0) }},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, test := range tests {
			client.Del(t.Context(), keys.Counter)
			test.prepare(t, client)
			before := dump(t, client)
			for _, force := range []bool{false, true} {
				r := SeedRequest{Field: FieldMax, Name: "orders", Value: 9, Force: force}
				if _, err := Seed(t.Context(), client, keys, r); !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s, force %v: got %v, want ErrCorrupt", test.name, force, err)
				}
			}
			wantSame(t, before, dump(t, client))
		}
	})
}

// between are what may happen between a forced seed from 100 to a value and its repetition. same reports that nothing was issued
// and the value still stands.
var between = []struct {
	name  string
	value int64
	do    func(t *testing.T, client redistest.Client)
	max   string // in the end
	same  bool
}{
	{"raises, and nothing came between", 4000, func(*testing.T, redistest.Client) {}, "4000", true},
	{"lowers, and nothing came between", 50, func(*testing.T, redistest.Client) {}, "50", true},
	{"changes nothing, and nothing came between", 100, func(*testing.T, redistest.Client) {}, "100", true},
	{"raises, and a range was issued", 4000, func(t *testing.T, client redistest.Client) {
		mustNext(t, client, request("between"))
	}, "4032", false},
	{"lowers, and a range was issued", 50, func(t *testing.T, client redistest.Client) {
		mustNext(t, client, request("between"))
	}, "82", false},
	{"lowers, and a range was issued up to what stood before", 68, func(t *testing.T, client redistest.Client) {
		wantRange(t, mustNext(t, client, request("between")), 69, 100)
	}, "100", false},
	{"lowers, and a range was issued and returned", 50, func(t *testing.T, client redistest.Client) {
		wantReturned(t, client, back(mustNext(t, client, request("between")), "between", 60), true)
	}, "60", false},
	{"lowers, and it was raised to what stood before", 50, func(t *testing.T, client redistest.Client) {
		mustSeed(t, client, SeedRequest{Value: 100})
	}, "100", false},
	{"raises, and it was set to what stood before", 4000, func(t *testing.T, client redistest.Client) {
		mustSeed(t, client, SeedRequest{Value: 100, Force: true})
	}, "100", false},
}

// A forced seed whose reply was lost is sent again, by go-redis or, with a token, by a second process. Numbers that were issued in
// between stay issued.
func TestSeedByForceTakesEffectOnce(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "token"} {
		for _, test := range between {
			t.Run(test.name+"/"+token, func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s *redistest.Server) {
					client := s.Client(t)
					set(t, client, "Max", "68", "Ranges", "1")
					mustNext(t, client, request("before"))
					r := SeedRequest{Field: FieldMax, Name: "Orders", Value: test.value, Force: true, Token: token}
					if token == "" {
						r.Expected = mustStand(t, client, keys.Counter, FieldMax)
					}
					if got := mustSeed(t, client, r); got != test.value {
						t.Fatalf("got %d, want %d", got, test.value)
					}
					test.do(t, client)
					before := stored(t, client)
					got, err := Seed(t.Context(), client, keys, r)
					if changed := errors.Is(err, ErrChanged); changed == test.same || !changed && (err != nil || got != test.value) || err != nil && !Answered(err) {
						t.Errorf("sent again: got %d, %v, want %d, or ErrChanged: %v", got, err, test.value, !test.same)
					}
					wantStored(t, client, "Max", test.max)
					if err != nil || token != "" {
						wantSame(t, before, stored(t, client))
					}
				})
			})
		}
	}
}

// A token stands until the next one, so that a seed with another one is another seed.
func TestSeedByForceWithAnotherTokenTakesEffect(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for i, value := range []int64{100, 5, 7} {
			if got := mustSeed(t, client, SeedRequest{Value: value, Force: true, Token: fmt.Sprint("token ", i)}); got != value {
				t.Errorf("got %d, want %d", got, value)
			}
		}
		wantStored(t, client, "Forced", "token 2")
		mustNext(t, client, request("one"))
		mustSeed(t, client, SeedRequest{Value: 5})
		wantStored(t, client, "Forced", "token 2")
		wantStored(t, client, "Max", "39")
	})
}

// The client sends the state that it read, and the script refuses a counter that changed since.
func TestSeedByForceRefusesAnUnexpectedState(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		written := number10(mustNext(t, client, request("one")).Written)
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

// A loss right after a seed or an import shows in Origin, even to a client that saw nothing.
func TestSeedWritesOriginAsEvidenceOfALaterLoss(t *testing.T) {
	t.Parallel()
	writes := map[string]func(t *testing.T, client redistest.Client){
		"seed": func(t *testing.T, client redistest.Client) { mustSeed(t, client, SeedRequest{Value: 4000}) },
		"forced seed": func(t *testing.T, client redistest.Client) {
			mustSeed(t, client, SeedRequest{Value: 4000, Force: true})
		},
		"import":       func(t *testing.T, client redistest.Client) { importOne(t, client, ImportRequest{Value: 4000}) },
		"seed by hand": func(t *testing.T, client redistest.Client) { set(t, client, "Max", "4000") }, // the fault
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				write(t, client)
				state := stored(t, client)
				held := mustNext(t, client, request("one"))
				wantRange(t, held, 4001, 4032)
				s.ChangeReplicationID()
				replace(t, client, state) // without that range
				got := mustNext(t, client, request("two"))
				if name == "seed by hand" {
					wantRange(t, got, held.Low, held.High)
				} else if got.Low <= 4000+rangeUnit || got.Evidence != EvidenceOrigin {
					t.Errorf("got %+v, want a jump on evidence origin", got)
				}
			})
		})
	}
}

// A range in use must not bring the counter below the seed, and a resend must not issue it once more.
func TestSeedAndImportClearTheLease(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for name, write := range map[string]func(){
			"seed":        func() { mustSeed(t, client, SeedRequest{Value: 20}) },
			"forced seed": func() { mustSeed(t, client, SeedRequest{Value: 32, Force: true}) },
			"import":      func() { importOne(t, client, ImportRequest{Value: 20}) },
		} {
			client.Del(t.Context(), keys.Counter)
			wantRange(t, mustNext(t, client, request(name)), 1, 32)
			write()
			if state := stored(t, client); state["Lease"] != "" || state["Low"] != "" {
				t.Errorf("%s: got %v, want no lease", name, state)
			}
			wantRange(t, mustNext(t, client, request(name)), 33, 64)
		}
	})
}

// A seed and an import prove nothing about lost writes.
func TestSeedAndImportKeepAnExistingOrigin(t *testing.T) {
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
		if got := mustNext(t, client, request("one")); got.Evidence != EvidenceOrigin {
			t.Errorf("got %+v, want evidence origin", got)
		}
	})
}
