package scripts_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// importOne imports "Orders" under keys.
func importOne(t *testing.T, client *redis.Client, r scripts.ImportRequest) scripts.Imported {
	t.Helper()
	r.Keys, r.Field, r.Name = keys, scripts.FieldMax, "Orders"
	return scripts.ImportAll(t.Context(), client, []scripts.ImportRequest{r})[0]
}

func TestImportRaisesEachFieldAndLowersNone(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name    string
		request scripts.ImportRequest
		want    scripts.Imported
		epoch   string
		ranges  string
	}{
		{"to nothing, which makes a counter", scripts.ImportRequest{}, scripts.Imported{}, "", ""},
		{"from there", scripts.ImportRequest{Value: 1990, Epoch: 2, Ranges: 40}, scripts.Imported{Stands: 1990, Existed: true}, "2", "40"},
		{"all lower", scripts.ImportRequest{Value: 17, Epoch: 1, Ranges: 39}, scripts.Imported{Stands: 1990, Stood: 1990, Existed: true}, "2", "40"},
		{"past 2^53", scripts.ImportRequest{Value: 1<<53 + 1, Epoch: 3}, scripts.Imported{Stands: 1<<53 + 1, Stood: 1990, Existed: true}, "3", "40"},
		{"to the end", scripts.ImportRequest{Value: 1<<63 - 1, Ranges: 1<<63 - 1}, scripts.Imported{Stands: 1<<63 - 1, Stood: 1<<53 + 1, Existed: true}, "3", "9223372036854775807"},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, step := range steps {
			if got := importOne(t, client, step.request); got != step.want {
				t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
			}
			if state := stored(t, client); state["Epoch"] != step.epoch || state["Ranges"] != step.ranges || state["Name"] != "Orders" {
				t.Errorf("%s: %v", step.name, state)
			}
		}
	})
}

func TestImportKeepsARangeThatIsOutFromComingBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		got := mustNext(t, client, request("one"))
		back := scripts.ReturnRequest{Counter: keys.Counter, Token: "one", End: got.High, Last: 1, Epoch: got.Epoch, Written: got.Written}
		importOne(t, client, scripts.ImportRequest{Value: 20})
		if ok, err := scripts.Return(t.Context(), client, back); ok || err != nil {
			t.Errorf("returned %v, %v", ok, err)
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
		importOne(t, client, scripts.ImportRequest{Value: 100})
		if got, want := mustNext(t, client, request("two")), jumped(t, client, 100, rangeGap, "two")+1; got.Low != want {
			t.Errorf("after an import the range begins at %d, want %d", got.Low, want)
		}
	})
}

// What was given since another server wrote may be lost, and was bare as what is left.
func TestImportTakesForBareWhatMayBeLost(t *testing.T) {
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
					if got := importOne(t, client, scripts.ImportRequest{}); got.Err != nil || got.Stands != got.Stood {
						t.Fatalf("%+v", got)
					}
					if got := stored(t, client)["Bare"]; got != test.want {
						t.Errorf("Bare is %s, want %s", got, test.want)
					}
				}
			})
		})
	}
}

func TestAnImportedCounterIsNoEvidenceOfLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		importOne(t, client, scripts.ImportRequest{Value: 100, Epoch: 3, Ranges: 7})
		got := mustNext(t, client, request("one"))
		if got.Low != 101 || got.Epoch != 3 || got.Jump != 0 {
			t.Errorf("%+v", got)
		}
		wantStored(t, client, "Ranges", "8")
	})
}

func TestImportRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, client *redis.Client)
		want    error
	}{
		{"a Max that is no number", func(t *testing.T, client *redis.Client) { set(t, client, "Max", "1e3") }, scripts.ErrCorrupt},
		{"an Epoch that is no number", func(t *testing.T, client *redis.Client) { set(t, client, "Max", "1", "Epoch", "-1") }, scripts.ErrCorrupt},
		{"Ranges that are no number", func(t *testing.T, client *redis.Client) { set(t, client, "Max", "1", "Ranges", "x") }, scripts.ErrCorrupt},
		{"a Written that is no number", func(t *testing.T, client *redis.Client) { set(t, client, "Max", "1", "Written", "x") }, scripts.ErrCorrupt},
		{"a key of another type", func(t *testing.T, client *redis.Client) { client.Set(t.Context(), keys.Counter, "5", 0) }, scripts.ErrCorrupt},
		{"a prefix that cannot be", func(t *testing.T, client *redis.Client) {
			client.HSet(t.Context(), keys.Server, "ServerPrefix", "North1")
		}, scripts.ErrCorrupt},
		{"a name that is an identity", func(t *testing.T, client *redis.Client) { client.HSet(t.Context(), keys.Other, "Value", 5) }, scripts.ErrMixed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				test.prepare(t, client)
				before := client.Dump(t.Context(), keys.Counter).Val()
				if got := importOne(t, client, scripts.ImportRequest{Value: 9}); !errors.Is(got.Err, test.want) {
					t.Errorf("%v", got.Err)
				}
				if after := client.Dump(t.Context(), keys.Counter).Val(); after != before {
					t.Errorf("something was written: %q, before %q", after, before)
				}
			})
		})
	}
}

func TestImportOfTheServerSideCounterLooksForNoOtherKind(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), keys.Server, "ServerPrefix", "") // by hand: it adds nothing, and is there
		got := scripts.ImportAll(t.Context(), client, []scripts.ImportRequest{{
			Keys:  scripts.Keys{Counter: "{Raven}/ServerSide", Server: keys.Server, Other: keys.Server},
			Field: scripts.FieldValue, Name: "companies", Value: 27,
		}})
		if got[0].Err != nil || got[0].Stands != 27 {
			t.Errorf("%+v", got[0])
		}
	})
}

func TestImportAllImportsManyAlsoWithoutTheScriptCached(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		const n = 1300 // more than one round trip
		requests := make([]scripts.ImportRequest, n)
		for i := range requests {
			requests[i] = scripts.ImportRequest{
				Keys:  scripts.Keys{Counter: fmt.Sprintf("{Raven}/HiLo/c%d", i), Server: keys.Server, Other: fmt.Sprintf("{Raven}/Identities/c%d", i)},
				Field: scripts.FieldMax, Name: "c", Value: int64(i),
			}
		}
		client.HSet(t.Context(), "{Raven}/HiLo/c1200", "Max", "x")
		client.ScriptFlush(t.Context())
		for i, got := range scripts.ImportAll(t.Context(), client, requests) {
			if i == 1200 {
				if !errors.Is(got.Err, scripts.ErrCorrupt) {
					t.Errorf("the corrupt one: %+v", got)
				}
			} else if got.Err != nil || got.Stands != int64(i) {
				t.Fatalf("%d: %+v", i, got)
			}
		}
		if keys := client.DBSize(t.Context()).Val(); keys != n {
			t.Errorf("%d keys", keys)
		}
	})
}
