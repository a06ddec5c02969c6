package scripts

import (
	"errors"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// importOne imports "Orders" under keys.
func importOne(t *testing.T, client redistest.Client, r ImportRequest) Imported {
	t.Helper()
	r.Keys, r.Field, r.Name = keys, FieldMax, "Orders"
	return Import(t.Context(), client, r)
}

func TestImportRaisesEachFieldAndLowersNone(t *testing.T) {
	t.Parallel()
	const end = 1<<63 - 1
	all := ImportRequest{Value: 1990, Epoch: 2_000_001, Ranges: 40, Raised: 5000, Block: 64, RaisedAt: 7, Lowered: 3, Written: 9}
	steps := []struct {
		name    string
		request ImportRequest
		want    Imported
		fields  map[string]string
	}{
		{"to nothing, which makes a counter", ImportRequest{}, Imported{}, map[string]string{"Max": "0", "Epoch": "", "Raised": ""}},
		{"from there", all, Imported{Stands: 1990, Existed: true}, map[string]string{
			"Max": "1990", "Epoch": "2000001", "Ranges": "40", "Raised": "5000", "Block": "64", "RaisedAt": "7", "Lowered": "3", "Name": "Orders",
		}},
		{"all lower", ImportRequest{Value: 17, Epoch: 1, Ranges: 39, Raised: 4999, Block: 63, RaisedAt: 6}, Imported{Stands: 1990, Stood: 1990, Existed: true}, map[string]string{
			"Max": "1990", "Epoch": "2000001", "Ranges": "40", "Raised": "5000", "Block": "64", "RaisedAt": "7", "Lowered": "3",
		}},
		{"past 2^53", ImportRequest{Value: 1<<53 + 1}, Imported{Stands: 1<<53 + 1, Stood: 1990, Existed: true}, nil},
		{"to the end", ImportRequest{Value: end, Epoch: end, Ranges: end, Raised: end, Block: end, RaisedAt: end}, Imported{Stands: end, Stood: 1<<53 + 1, Existed: true},
			map[string]string{"Max": greatest, "Epoch": greatest, "Ranges": greatest, "Raised": greatest, "Block": greatest, "RaisedAt": greatest}},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, step := range steps {
			for range 2 { // sent twice
				if got := importOne(t, client, step.request); got != step.want {
					t.Errorf("%s: got %+v, want %+v", step.name, got, step.want)
				}
				step.want.Stood, step.want.Existed = step.want.Stands, true
				state := stored(t, client)
				for field, want := range step.fields {
					if state[field] != want {
						t.Errorf("%s: %s: got %q, want %q", step.name, field, state[field], want)
					}
				}
			}
		}
	})
}

// The clients of the source follow, with what they saw there.
func TestNextDoesNotJumpOnAnImportedCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		source := mustNext(t, client, request("source"))
		state := stored(t, client)
		client.Del(t.Context(), keys.Counter)
		const ahead int64 = 9_000_000_000_000 // milliseconds, of a source whose clock is two centuries ahead
		importOne(t, client, ImportRequest{
			Value: source.High, Epoch: source.Epoch, Ranges: 1, Raised: source.Ceiling, Block: source.Block, RaisedAt: number(t, state["RaisedAt"]), Written: ahead,
		})
		wantStored(t, client, "Written", number10(ahead+1))
		got := mustNext(t, client, seen(request("one"), source))
		if got.Low != 33 || got.Epoch != source.Epoch || got.Evidence != "" || got.Written != ahead+2 {
			t.Errorf("got %+v, want 33 without a jump, after each time of the source", got)
		}
		wantStored(t, client, "Ranges", "2")
	})
}

func TestImportRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		refused := func(what string) {
			t.Helper()
			before := dump(t, client)
			if got := importOne(t, client, ImportRequest{Value: 9}); !errors.Is(got.Err, ErrCorrupt) {
				t.Errorf("%s: got %v, want ErrCorrupt", what, got.Err)
			}
			wantSame(t, before, dump(t, client))
		}
		for _, field := range []string{"Max", "Epoch", "Ranges", "Raised", "Block", "RaisedAt", "Bare", "Lowered", "Written"} {
			client.Del(t.Context(), keys.Counter)
			set(t, client, "Max", "1", field, "1e3")
			refused(field)
		}
		client.Del(t.Context(), keys.Counter)
		client.Set(t.Context(), keys.Counter, "5", 0)
		refused("a key of another type")
		client.Del(t.Context(), keys.Counter)
		settings(t, client, "ServerPrefix", "North1")
		refused("an unusable prefix")
	})
}

// A server may have been tried out before a namespace is moved to it. Its own forced seeds, which the clients of the source did
// not see, are no reason to ignore their floors.
func TestImportReplacesTheForcedSeedsOfTheServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		source ImportRequest
		want   string
	}{
		"an export":            {ImportRequest{Lowered: 1, Written: 1 << 40}, "1"},
		"without forced seeds": {ImportRequest{Written: 1 << 40}, "0"},
		"with more":            {ImportRequest{Lowered: 5, Written: 1 << 40}, "5"},
		"a list of numbers":    {ImportRequest{Lowered: 1}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				set(t, client, "Max", 10, "Lowered", 2, "Forced", "token", "Written", 5001)
				for range 2 { // sent twice
					if got := importOne(t, client, test.source); got.Err != nil {
						t.Fatal(got.Err)
					}
					wantStored(t, client, "Lowered", test.want)
					wantStored(t, client, "Forced", "token")
				}
			})
		})
	}
}

func TestImportOfAnIdentityWritesNoBare(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, k := range []Keys{identityKeys, serverSideKeys} {
			r := ImportRequest{Keys: k, Field: FieldValue, Name: "orders", Value: 32, Bare: true}
			if got := ImportAll(t.Context(), client, []ImportRequest{r})[0]; got.Err != nil || got.Stands != 32 {
				t.Errorf("%s: got %+v, want 32", k.Counter, got)
			}
			if bare := client.HGet(t.Context(), k.Counter, "Bare").Val(); bare != "" {
				t.Errorf("%s: got Bare %s, want none", k.Counter, bare)
			}
		}
	})
}
