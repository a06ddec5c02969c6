package scripts

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// A server without settings is new, or was emptied. Nothing is issued or seeded there, and nothing is written.
func TestScriptsRefuseAServerWithoutSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		settings(t, client)
		_, nextErr := Next(t.Context(), client, keys, request("one"))
		_, identityErr := Identity(t.Context(), client, identityKeys, identityRequest(1))
		_, serverSideErr := Identity(t.Context(), client, serverSideKeys, identityRequest(1))
		_, seedErr := Seed(t.Context(), client, keys, SeedRequest{Field: FieldMax, Name: "orders", Value: 5})
		for name, err := range map[string]error{
			"next": nextErr, "identity": identityErr, "server-side": serverSideErr, "seed": seedErr,
			"check":     CheckNext(t.Context(), client, keys, request("one")),
			"import":    importOne(t, client, ImportRequest{Value: 5}).Err,
			"configure": Configure(t.Context(), client, serverKey, began, Settings{}, Settings{"N/"}),
		} {
			if !errors.Is(err, ErrNotSeeded) || !Answered(err) {
				t.Errorf("%s: got %v, want ErrNotSeeded", name, err)
				continue
			}
			for _, way := range []string{"hilo init", "hilo help recover"} {
				if !strings.Contains(err.Error(), way) {
					t.Errorf("%s: got %q, want %q in it", name, err, way)
				}
			}
		}
		if all := dump(t, client); len(all) > 0 {
			t.Errorf("got %v, want no key", all)
		}
		set(t, client, "Max", 100) // a counter that exists needs no settings
		wantRange(t, mustNext(t, client, request("two")), 101, 132)
		client.Del(t.Context(), keys.Counter)
		for _, field := range []string{"Initialized", "ServerPrefix", "Identities", "MinValue", "MaxValue"} { // any setting makes it initialised
			client.Del(t.Context(), keys.Counter)
			settings(t, client, field, map[string]string{"Identities": "here", "MinValue": "1", "MaxValue": "4000"}[field])
			wantRange(t, mustNext(t, client, request(field)), 1, 32)
		}
	})
}

func TestNewCountersDecidesWhetherACounterIsMade(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		settings(t, client, "NewCounters", "no")
		_, err := Next(t.Context(), client, keys, request("one"))
		if !errors.Is(err, ErrNotSeeded) || !strings.Contains(err.Error(), "NewCounters") || !strings.Contains(err.Error(), "hilo seed") {
			t.Errorf("got %v, want ErrNotSeeded that names NewCounters and the way out", err)
		}
		if _, err := Identity(t.Context(), client, identityKeys, identityRequest(1)); !errors.Is(err, ErrNotSeeded) {
			t.Errorf("identity: got %v, want ErrNotSeeded", err)
		}
		if n := client.Exists(t.Context(), keys.Counter, identityKeys.Counter).Val(); n > 0 {
			t.Errorf("got %d counters, want none", n)
		}
		mustSeed(t, client, SeedRequest{})
		wantRange(t, mustNext(t, client, request("one")), 1, 32)
		client.Del(t.Context(), keys.Counter)
		settings(t, client, "NewCounters", "never")
		if _, err := Next(t.Context(), client, keys, request("two")); !errors.Is(err, ErrCorrupt) {
			t.Errorf("another value: got %v, want ErrCorrupt", err)
		}
	})
}

// A client that heard of the counter within ten minutes makes it again, with or without settings. Later it is refused like a new one.
func TestNextMakesALostCounterAgainWithinTenMinutes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, state := range [][]any{nil, {"Initialized", "now"}, {"NewCounters", "no"}} {
			client.FlushAll(t.Context())
			settings(t, client, state...)
			r := request("token")
			r.Floor, r.Age = 500, 601
			_, err := Next(t.Context(), client, keys, r)
			if !errors.Is(err, ErrNotSeeded) || !strings.Contains(err.Error(), "is gone") || !strings.Contains(err.Error(), "hilo help recover") {
				t.Errorf("settings %v, after 601 s: got %v, want ErrNotSeeded that says it is gone", state, err)
			}
			if client.Exists(t.Context(), keys.Counter).Val() > 0 {
				t.Error("got a counter, want none")
			}
			r.Age = 600
			base := jumped(t, client, jump{start: 500, unit: rangeUnit, units: 11, token: "token"})
			got := mustNext(t, client, r)
			if got.Low != base+1 || got.Evidence != EvidenceMissing {
				t.Errorf("settings %v, after 600 s: got %+v, want %d on evidence missing", state, got, base+1)
			}
			wantRange(t, mustNext(t, client, request("new client")), got.High+1, got.High+32)
		}
	})
}

// The server had a prefix, tag or interval when this client was issued numbers there.
func TestScriptsRefuseAServerThatLostItsSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r, identity := request("one"), identityRequest(1)
		r.Settled, identity.Settled = true, true
		for _, state := range [][]any{nil, {"Initialized", "now"}, {"ServerPrefix", "", "NodeTag", ""}, {"Identities", "here"}, {"MinValue", "1", "MaxValue", greatest}} {
			settings(t, client, state...)
			_, err := Next(t.Context(), client, keys, r)
			if !errors.Is(err, ErrPrefixMissing) || !Answered(err) || !strings.Contains(err.Error(), serverKey) {
				t.Errorf("%v: got %v, want ErrPrefixMissing that names %s", state, err, serverKey)
			}
			if _, err := Identity(t.Context(), client, identityKeys, identity); !errors.Is(err, ErrPrefixMissing) {
				t.Errorf("%v, identity: got %v, want ErrPrefixMissing", state, err)
			}
		}
		if n := client.Exists(t.Context(), keys.Counter, identityKeys.Counter).Val(); n != 0 {
			t.Errorf("got %d keys, want none", n)
		}
		for _, state := range [][]any{{"NodeTag", "A", "Identities", "here"}, {"MinValue", "2", "Identities", "here"}} {
			settings(t, client, state...)
			client.Del(t.Context(), keys.Counter, identityKeys.Counter)
			if got := mustNext(t, client, r); got.Low > 2 {
				t.Errorf("%v: got %+v, want the first range", state, got)
			}
		}
	})
}

func TestNextStaysInTheInterval(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, test := range []struct {
			name     string
			max      string // "" for a missing counter
			settings []any
			limit    int64
			low      int64 // 0 if it is exhausted
			high     int64
			want     Interval
		}{
			{"none", "", []any{"MinValue", "1", "MaxValue", greatest}, math.MaxInt64, 1, 32, Interval{}},
			{"a missing counter", "", []any{"MinValue", "1000"}, math.MaxInt64, 1000, 1031, Interval{MinValue: 1000}},
			{"a counter below", "5", []any{"MinValue", "1000"}, math.MaxInt64, 1000, 1031, Interval{MinValue: 1000}},
			{"a counter right below", "999", []any{"MinValue", "1000"}, math.MaxInt64, 1000, 1031, Interval{MinValue: 1000}},
			{"a counter inside", "1000", []any{"MinValue", "1000"}, math.MaxInt64, 1001, 1032, Interval{MinValue: 1000}},
			{"a cut at MaxValue", "990", []any{"MaxValue", "1000"}, math.MaxInt64, 991, 1000, Interval{MaxValue: 1000}},
			{"a cut at the limit", "990", []any{"MaxValue", "1000"}, 995, 991, 995, Interval{MaxValue: 1000}},
			{"a counter at MaxValue", "1000", []any{"MaxValue", "1000"}, math.MaxInt64, 0, 0, Interval{}},
			{"a limit below MinValue", "", []any{"MinValue", "1000"}, 999, 0, 0, Interval{}},
			{"one number", "", []any{"MinValue", greatest}, math.MaxInt64, math.MaxInt64, math.MaxInt64, Interval{MinValue: math.MaxInt64}},
		} {
			settings(t, client, test.settings...)
			client.Del(t.Context(), keys.Counter)
			if test.max != "" {
				set(t, client, "Max", test.max)
			}
			r := request(test.name)
			r.Limit = test.limit
			got, err := Next(t.Context(), client, keys, r)
			if test.low == 0 {
				if !errors.Is(err, ErrExhausted) || test.limit > 1000 && !strings.Contains(err.Error(), "MaxValue") {
					t.Errorf("%s: got %+v, %v, want ErrExhausted", test.name, got, err)
				}
				continue
			}
			if err != nil || got.Low != test.low || got.High != test.high || got.Interval != test.want || got.Evidence != "" {
				t.Errorf("%s: got %+v, %v, want %d..%d in %+v", test.name, got, err, test.low, test.high, test.want)
			}
			if got.Ceiling > r.Limit || test.want.MaxValue > 0 && got.Ceiling > test.want.MaxValue {
				t.Errorf("%s: got a ceiling of %d, want it inside", test.name, got.Ceiling)
			}
		}

		// Identities too, also an exact value.
		settings(t, client, "MinValue", "1000", "MaxValue", "2000", "Identities", "here")
		client.Del(t.Context(), keys.Counter)
		wantRange(t, mustIdentity(t, client, identityRequest(2)), 1000, 1001)
		r := identityRequest(1)
		r.Exact = 2001
		if _, err := Identity(t.Context(), client, identityKeys, r); !errors.Is(err, ErrExhausted) || !strings.Contains(err.Error(), "MaxValue") {
			t.Errorf("an exact value above MaxValue: got %v, want ErrExhausted", err)
		}
		r.Exact = 2000
		wantRange(t, mustIdentity(t, client, r), 2000, 2000)
	})
}

func TestSeedAndImportRespectTheInterval(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		settings(t, client, "MinValue", "1000", "MaxValue", "2000")
		before := dump(t, client)
		if _, err := Seed(t.Context(), client, keys, SeedRequest{Field: FieldMax, Name: "orders", Value: 2001}); !errors.Is(err, ErrExhausted) {
			t.Errorf("seed above MaxValue: got %v, want ErrExhausted", err)
		}
		if got := importOne(t, client, ImportRequest{Value: 2001}); !errors.Is(got.Err, ErrExhausted) {
			t.Errorf("import above MaxValue: got %+v, want ErrExhausted", got)
		}
		wantSame(t, before, dump(t, client))
		if got := mustSeed(t, client, SeedRequest{Value: 5}); got != 999 {
			t.Errorf("seed below MinValue: got %d, want 999", got)
		}
		wantStored(t, client, "Max", "5")
		if got := importOne(t, client, ImportRequest{Value: 6}); got.Err != nil || got.Stands != 999 {
			t.Errorf("import below MinValue: got %+v, want 999", got)
		}
		r := SeedRequest{Value: 7, Force: true, Token: "token"}
		for range 2 {
			if got := mustSeed(t, client, r); got != 999 {
				t.Errorf("forced seed below MinValue: got %d, want 999", got)
			}
		}
	})
}

func TestDescribeReportsTheSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		settings []any
		want     Description
		err      error
	}{
		{"none", nil, Description{}, nil},
		{"all", []any{"ServerPrefix", "NorthServer/", "NodeTag", "A", "Identities", "here", "Durable", "always", "MinValue", "5", "MaxValue", "9"},
			Description{Prefix: "NorthServer/", Tag: "A", Identities: true, Durable: DurableAlways, Interval: Interval{5, 9}}, nil},
		{"a tag", []any{"NodeTag", "A"}, Description{Tag: "A"}, nil},
		{"the whole interval", []any{"MinValue", "1", "MaxValue", greatest}, Description{}, nil},
		{"Durable of hilo 0.1", []any{"Durable", "replicas:2"}, Description{}, nil},
		{"an unusable prefix", []any{"ServerPrefix", "North1"}, Description{}, ErrCorrupt},
		{"an unusable home", []any{"Identities", "yes"}, Description{}, ErrCorrupt},
		{"an unusable Durable", []any{"Durable", "Always"}, Description{}, ErrCorrupt},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, test := range tests {
			settings(t, client, test.settings...)
			before := dump(t, client)
			for what, describe := range map[string]func() (Description, error){
				"describe":            func() (Description, error) { return Describe(t.Context(), client, serverKey) },
				"describe as a write": func() (Description, error) { return DescribeAsWrite(t.Context(), client, serverKey) },
			} {
				got, err := describe()
				if !errors.Is(err, test.err) || err == nil && len(got.Origin) != 40 {
					t.Errorf("%s of %s: got %+v, %v, want %v", what, test.name, got, err, test.err)
				}
				if got.Origin = ""; got != test.want {
					t.Errorf("%s of %s: got %+v, want %+v", what, test.name, got, test.want)
				}
			}
			wantSame(t, before, dump(t, client))
		}
		if s.Real() {
			return
		}
		s.SetInfo("slave0", "ip=127.0.0.1,port=6380,state=online")
		settings(t, client, "Durable", "always")
		if got := mustDescribe(t, client); got.Durable != DurableReplica {
			t.Errorf("beside a replica: got %q, want replica", got.Durable)
		}
		wantDurable(t, client, "always")
	})
}
