package scripts

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// importOne imports "Orders" under keys.
func importOne(t *testing.T, client redistest.Client, r ImportRequest) Imported {
	t.Helper()
	r.Keys, r.Field, r.Name = keys, FieldMax, "Orders"
	return ImportAll(t.Context(), client, []ImportRequest{r})[0]
}

func TestImportRaisesEachFieldAndLowersNone(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name    string
		request ImportRequest
		want    Imported
		epoch   string
		ranges  string
	}{
		{"to nothing, which makes a counter", ImportRequest{}, Imported{}, "", ""},
		{"from there", ImportRequest{Value: 1990, Epoch: 2, Ranges: 40}, Imported{Stands: 1990, Existed: true}, "2", "40"},
		{"all lower", ImportRequest{Value: 17, Epoch: 1, Ranges: 39}, Imported{Stands: 1990, Stood: 1990, Existed: true}, "2", "40"},
		{"past 2^53", ImportRequest{Value: 1<<53 + 1, Epoch: 3}, Imported{Stands: 1<<53 + 1, Stood: 1990, Existed: true}, "3", "40"},
		{"to the end", ImportRequest{Value: 1<<63 - 1, Ranges: 1<<63 - 1}, Imported{Stands: 1<<63 - 1, Stood: 1<<53 + 1, Existed: true}, "3", "9223372036854775807"},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, step := range steps {
			if got := importOne(t, client, step.request); got != step.want {
				t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
			}
			if state := stored(t, client); state["Epoch"] != step.epoch || state["Ranges"] != step.ranges || state["Name"] != "Orders" {
				t.Errorf("%s: got %v, want epoch %s, ranges %s, name Orders", step.name, state, step.epoch, step.ranges)
			}
		}
	})
}

func TestImportPreventsTheReturnOfAnEarlierRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		got := mustNext(t, client, request("one"))
		back := ReturnRequest{Counter: keys.Counter, Token: "one", End: got.High, Last: 1, Epoch: got.Epoch, Written: got.Written}
		importOne(t, client, ImportRequest{Value: 20})
		if ok, err := Return(t.Context(), client, back); ok || err != nil {
			t.Errorf("return: got %v, %v, want false", ok, err)
		}
		wantStored(t, client, "Max", "32")
	})
}

func TestImportLeavesTheEvidenceOfLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("one"))
		set(t, client, "Origin", "00000000000000000000000000000000000000ff")
		importOne(t, client, ImportRequest{Value: 100})
		if got, want := mustNext(t, client, request("two")), jumped(t, client, 100, rangeGap, "two")+1; got.Low != want {
			t.Errorf("after an import the range begins at %d, want %d", got.Low, want)
		}
	})
}

// Numbers issued since another server wrote the counter may be lost, and were bare like the recorded ones.
func TestImportRaisesBareByTheGapAfterALoss(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		state []any
		want  string // Bare
	}{
		{"this server wrote", []any{"Max", 32}, "32"},
		{"another one", []any{"Max", 32, "Origin", "0123"}, "65568"},
		{"another one, whose ranges were large", []any{"Max", 1 << 20, "Origin", "0123", "Issued", 40_000, "IssuedBefore", 60_000}, "1248576"},
		{"another one, and more is known", []any{"Max", 32, "Bare", 1 << 20, "Origin", "0123"}, "1048576"},
		{"another one, near the end", []any{"Max", int64(1<<63 - 10), "Origin", "0123"}, "9223372036854775807"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				set(t, client, test.state...)
				for range 2 { // sent twice
					if got := importOne(t, client, ImportRequest{}); got.Err != nil || got.Stands != got.Stood {
						t.Fatalf("got %+v, want the value as before", got)
					}
					if got := stored(t, client)["Bare"]; got != test.want {
						t.Errorf("Bare is %s, want %s", got, test.want)
					}
				}
			})
		})
	}
}

// An identity has no Bare, and numbers that a server imports before it gets a prefix were issued with that prefix.
func TestImportRecordsNothingAsBareForAnIdentityOrAServerThatIsFilled(t *testing.T) {
	t.Parallel()
	filled := keys
	filled.Other = keys.Server
	for name, r := range map[string]ImportRequest{
		"an identity": {Keys: identityKeys, Field: FieldValue},
		"filled":      {Keys: filled, Field: FieldMax},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				r := r
				r.Name, r.Value = "orders", 32
				if got := ImportAll(t.Context(), client, []ImportRequest{r})[0]; got.Err != nil || got.Stands != 32 {
					t.Errorf("import = %+v, want 32", got)
				}
				if bare := client.HGet(t.Context(), r.Keys.Counter, "Bare").Val(); bare != "" {
					t.Errorf("Bare: got %s, want none", bare)
				}
			})
		})
	}
}

func TestNextDoesNotJumpOnAnImportedCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		importOne(t, client, ImportRequest{Value: 100, Epoch: 3, Ranges: 7})
		got := mustNext(t, client, request("one"))
		if got.Low != 101 || got.Epoch != 3 || got.Jump != 0 {
			t.Errorf("got %+v, want 101 in epoch 3 without a jump", got)
		}
		wantStored(t, client, "Ranges", "8")
	})
}

func TestImportRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, client redistest.Client)
		want    error
	}{
		{"a Max that is no number", func(t *testing.T, client redistest.Client) { set(t, client, "Max", "1e3") }, ErrCorrupt},
		{"an Epoch that is no number", func(t *testing.T, client redistest.Client) { set(t, client, "Max", "1", "Epoch", "-1") }, ErrCorrupt},
		{"Ranges that are no number", func(t *testing.T, client redistest.Client) { set(t, client, "Max", "1", "Ranges", "x") }, ErrCorrupt},
		{"a Written that is no number", func(t *testing.T, client redistest.Client) { set(t, client, "Max", "1", "Written", "x") }, ErrCorrupt},
		{"a key of another type", func(t *testing.T, client redistest.Client) { client.Set(t.Context(), keys.Counter, "5", 0) }, ErrCorrupt},
		{"a prefix that cannot be", func(t *testing.T, client redistest.Client) {
			client.HSet(t.Context(), keys.Server, "ServerPrefix", "North1")
		}, ErrCorrupt},
		{"a name that is an identity", func(t *testing.T, client redistest.Client) { client.HSet(t.Context(), keys.Other, "Value", 5) }, ErrMixed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				test.prepare(t, client)
				before := client.Dump(t.Context(), keys.Counter).Val()
				if got := importOne(t, client, ImportRequest{Value: 9}); !errors.Is(got.Err, test.want) {
					t.Errorf("got %v, want %v", got.Err, test.want)
				}
				if after := client.Dump(t.Context(), keys.Counter).Val(); after != before {
					t.Errorf("got state %q, want %q as before", after, before)
				}
			})
		})
	}
}

func TestImportOfTheServerSideCounterIgnoresOtherKinds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), keys.Server, "ServerPrefix", "") // by hand: it adds nothing, and is there
		got := ImportAll(t.Context(), client, []ImportRequest{{
			Keys:  Keys{Counter: "{Raven}/ServerSide", Server: keys.Server, Other: keys.Server},
			Field: FieldValue, Name: "companies", Value: 27,
		}})
		if got[0].Err != nil || got[0].Stands != 27 {
			t.Errorf("got %+v, want 27", got[0])
		}
	})
}

func TestImportAllLoadsAMissingScript(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		const n = 1300 // more than one round trip
		requests := make([]ImportRequest, n)
		for i := range requests {
			requests[i] = ImportRequest{
				Keys:  Keys{Counter: fmt.Sprintf("{Raven}/HiLo/c%d", i), Server: keys.Server, Other: fmt.Sprintf("{Raven}/Identities/c%d", i)},
				Field: FieldMax, Name: "c", Value: int64(i),
			}
		}
		client.HSet(t.Context(), "{Raven}/HiLo/c1200", "Max", "x")
		client.ScriptFlush(t.Context())
		for i, got := range ImportAll(t.Context(), client, requests) {
			if i == 1200 {
				if !errors.Is(got.Err, ErrCorrupt) {
					t.Errorf("the corrupt one: got %+v, want ErrCorrupt", got)
				}
			} else if got.Err != nil || got.Stands != int64(i) {
				t.Fatalf("import %d: got %+v, want %[1]d", i, got)
			}
		}
		if keys := client.DBSize(t.Context()).Val(); keys != n {
			t.Errorf("got %d keys, want %d", keys, n)
		}
	})
}

func TestImportOfACounterThatMayHaveLostWritesRaisesItByTheGap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		request ImportRequest
		max     int64
		bare    string
	}{
		{"a loss", ImportRequest{Value: 32, Bare: 10}, 32 + rangeGap, "65568"},
		{"a Bare above", ImportRequest{Value: 32, Bare: 100}, 32 + rangeGap, "65636"},
		{"tallies", ImportRequest{Value: 32, Issued: 90_000}, 180_032, "180032"},
		{"the end", ImportRequest{Value: 1<<63 - 10}, 1<<63 - 1, "9223372036854775807"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				home(t, client)
				request := test.request
				request.Epoch, request.Top, request.Lost = 3, 77, true
				for range 2 { // sent twice
					if got := importOne(t, client, request); got.Err != nil || got.Stands != test.max {
						t.Fatalf("import = %+v, want %d", got, test.max)
					}
					wantStored(t, client, "Bare", test.bare)
					wantStored(t, client, "Epoch", "4")
					wantStored(t, client, "Top", "77")
				}
				r := ImportRequest{Keys: identityKeys, Field: FieldValue, Name: "Orders", Value: 5, Lost: true}
				if got := ImportAll(t.Context(), client, []ImportRequest{r})[0]; got.Err != nil || got.Stands != 5+identityGap {
					t.Errorf("import of an identity = %+v, want %d", got, 5+identityGap)
				}
				if bare := client.HGet(t.Context(), identityKeys.Counter, "Bare").Val(); bare != "" {
					t.Errorf("Bare of the identity: got %s, want none", bare)
				}
			})
		})
	}
}

// A server may have been tried out before a namespace is moved to it. Its own forced seeds, which the clients of the source did
// not see, are no reason to ignore their floors. A forced seed that is sent again was sent first to the server that had the newer
// one.
func TestImportReplacesWhatEarlierForcedSeedsLeft(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		source          ImportRequest
		lowered, forced string
	}{
		{"an export", ImportRequest{Lowered: 1, Forced: "one 5 6000", Written: 1 << 40}, "1", "one 5 6000"},
		{"without forced seeds", ImportRequest{Written: 1 << 40}, "0", "two 7 5000"},
		{"with older ones", ImportRequest{Lowered: 1, Forced: "one 5 999", Written: 1 << 40}, "1", "two 7 5000"},
		{"of a state that a seed found missing", ImportRequest{Lowered: 1, Forced: "one  ", Written: 1 << 40}, "1", "two 7 5000"},
		{"a list of numbers", ImportRequest{Lowered: 1}, "2", "two 7 5000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				set(t, client, "Max", 10, "Lowered", 2, "Forced", "two 7 5000", "Written", 5001)
				for range 2 { // sent twice
					if got := importOne(t, client, test.source); got.Err != nil {
						t.Fatal(got.Err)
					}
					wantStored(t, client, "Lowered", test.lowered)
					wantStored(t, client, "Forced", test.forced)
				}
			})
		})
	}
}

// A forced seed that is repeated after a move, or a loss, reads these fields.
func TestImportCarriesForcedSeedsAndTallies(t *testing.T) {
	t.Parallel()
	const ahead int64 = 9_000_000_000_000_000 // microseconds, of a server whose clock is two centuries ahead
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		importOne(t, client, ImportRequest{Value: 100, Lowered: 3, Forced: "one 5 6", Issued: 500, Written: ahead})
		importOne(t, client, ImportRequest{Value: 90, Lowered: 2, Forced: "two 7 5", Issued: 400})
		state := stored(t, client)
		for field, want := range map[string]string{"Max": "100", "Lowered": "3", "Forced": "one 5 6", "Issued": "500"} {
			if state[field] != want {
				t.Errorf("%s: got %q, want %q", field, state[field], want)
			}
		}
		if got, want := state["Written"], fmt.Sprint(ahead+2); got != want {
			t.Errorf("Written: got %s, want %s, after each time of the other server", got, want)
		}
		if got := mustNext(t, client, request("one")); got.Issued != 532 {
			t.Errorf("issued lately: got %d, want 532", got.Issued)
		}
	})
}
