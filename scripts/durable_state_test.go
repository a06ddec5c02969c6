package scripts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

const noHistory = "0000000000000000000000000000000000000000"

// eachDurable runs a test on servers that keep every acknowledged write and state so. restart kills a server and starts it again.
func eachDurable(t *testing.T, test func(t *testing.T, s *redistest.Server, client redistest.Client, restart func())) {
	t.Helper()
	run := func(name string, start func(t *testing.T) (*redistest.Server, func())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, restart := start(t)
			client := s.Client(t)
			mustConfigure(t, client, ConfigureRequest{Durable: DurableSet})
			test(t, s, client, restart)
		})
	}
	run("miniredis", func(t *testing.T) (*redistest.Server, func()) {
		s := redistest.StartMini(t)
		s.SetInfo("connected_slaves", "0")
		s.SetInfo("master_replid2", noHistory)
		s.SetInfo("aof_enabled", "1")
		return s, s.ChangeReplicationID
	})
	for _, b := range redistest.Binaries(t) {
		run(b.Name, func(t *testing.T) (*redistest.Server, func()) {
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "always")
			return s, s.Restart
		})
	}
}

// mustConfigure sets the settings of a server under its current replication id.
func mustConfigure(t *testing.T, client redistest.Client, r ConfigureRequest) {
	t.Helper()
	r.Origin = mustDescribe(t, client).Origin
	if err := Configure(t.Context(), client, keys.Server, r); err != nil {
		t.Fatalf("configure: got %v, want <nil>", err)
	}
}

func mustDescribe(t *testing.T, client redistest.Client) Description {
	t.Helper()
	d, err := Describe(t.Context(), client, keys.Server)
	if err != nil {
		t.Fatalf("describe: got %v, want <nil>", err)
	}
	return d
}

// wantDurable compares the field on the server.
func wantDurable(t *testing.T, client redistest.Client, want string) {
	t.Helper()
	if got := client.HGet(t.Context(), keys.Server, "Durable").Val(); got != want {
		t.Errorf("Durable on the server = %q, want %q", got, want)
	}
}

func TestDurableLetsNumbersContinueAfterRestarts(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, s *redistest.Server, client redistest.Client, restart func()) {
		restarts := 3
		if !s.Real() {
			restarts = 100
		}
		companies := Keys{Counter: "{Raven}/Identities/companies", Server: keys.Server, Other: "{Raven}/HiLo/companies"}
		serverSide := Keys{Counter: "{Raven}/ServerSide", Server: keys.Server, Other: keys.Server}
		for i := range int64(restarts) {
			r := request(fmt.Sprint("range ", i))
			r.Floor, r.Capacity = i, 1
			got := mustNext(t, client, r)
			wantRange(t, got, i+1, i+1)
			if got.Durable != DurableAlways || got.Evidence != "" || got.Epoch != 0 {
				t.Fatalf("after %d restarts the range is %+v, want no jump and Durable always", i, got)
			}
			for _, k := range []Keys{companies, serverSide} {
				got, err := Identity(t.Context(), client, k, identityRequest(1))
				if err != nil || got.Low != i+1 || got.Durable != DurableAlways {
					t.Fatalf("after %d restarts %s = %+v, %v, want %d", i, k.Counter, got, err, i+1)
				}
			}
			restart()
		}
	})
}

// A collection issued bare numbers before the prefix was set and the server restarted. The identity of its name does not jump.
func TestDurableHoldsForTheOtherKindOfAName(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ *redistest.Server, client redistest.Client, restart func()) {
		r := request("one")
		r.Capacity = 1
		mustNext(t, client, r)
		restart()
		mustConfigure(t, client, ConfigureRequest{Prefix: "NorthServer/", Identities: true, Durable: DurableKeep})
		if got := mustIdentity(t, client, identityRequest(1)); got.Low != 2 || got.Durable != DurableAlways {
			t.Errorf("identity = %+v, want 2", got)
		}
		wantDurable(t, client, "always")
	})
}

func TestDurableLetsAResendAfterARestartGetItsRange(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ *redistest.Server, client redistest.Client, restart func()) {
		mustNext(t, client, request("one"))
		restart()
		wantRange(t, mustNext(t, client, request("one")), 1, 32)
		wantStored(t, client, "Origin", mustDescribe(t, client).Origin)
		restart()
		wantRange(t, mustNext(t, client, request("two")), 33, 64)
	})
}

func TestDurableHoldsForImportsAndSeeds(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ *redistest.Server, client redistest.Client, restart func()) {
		mustNext(t, client, request("one"))
		restart()
		importOne(t, client, ImportRequest{Value: 5})
		wantStored(t, client, "Bare", "32")
		mustSeed(t, client, SeedRequest{Value: 4, Force: true})
		wantStored(t, client, "Bare", "32")
		wantDurable(t, client, "always")
	})
}

// Contradicting evidence, from INFO or from the client, removes the statement with the first request.
func TestDurableIsRemovedByContradictingEvidence(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		info    map[string]string // of miniredis
		state   []any
		vary    func(r *NextRequest)
		want    DurableState
		jumps   Evidence
		restart bool
	}{
		{name: "a replica", info: map[string]string{"connected_slaves": "1"}, want: DurableReplica},
		{name: "ten replicas", info: map[string]string{"connected_slaves": "10"}, want: DurableReplica},
		{name: "a replica and another id", info: map[string]string{"connected_slaves": "1"}, restart: true, want: DurableReplica, jumps: "origin"},
		{name: "a past history", info: map[string]string{"master_replid2": anotherOrigin}, restart: true, want: DurableHistory, jumps: "origin"},
		{name: "no field of a past history", info: map[string]string{"master_replid2": ""}, restart: true, want: DurableHistory, jumps: "origin"},
		{name: "no field of replicas", info: map[string]string{"connected_slaves": ""}, restart: true, want: DurableHistory, jumps: "origin"},
		{name: "the AOF is off", info: map[string]string{"aof_enabled": "0"}, restart: true, want: DurableAOF, jumps: "origin"},
		{name: "no field of the AOF", info: map[string]string{"aof_enabled": ""}, restart: true, want: DurableAOF, jumps: "origin"},
		{name: "a past history without another id", info: map[string]string{"master_replid2": anotherOrigin}, want: DurableAlways},
		{name: "no field of replicas without another id", info: map[string]string{"connected_slaves": ""}, want: DurableAlways},
		{name: "a floor", vary: func(r *NextRequest) { r.Floor = 100 }, want: DurableEvidence, jumps: "floor"},
		{name: "an epoch", vary: func(r *NextRequest) { r.Epoch = 1 }, want: DurableEvidence, jumps: "epoch"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			for field, value := range map[string]string{"connected_slaves": "0", "master_replid2": noHistory, "aof_enabled": "1"} {
				s.SetInfo(field, value)
			}
			client := s.Client(t)
			mustConfigure(t, client, ConfigureRequest{Durable: DurableSet})
			mustNext(t, client, request("one"))
			for field, value := range test.info {
				s.SetInfo(field, value)
			}
			if test.restart {
				s.ChangeReplicationID()
			}
			r := request("two")
			if test.vary != nil {
				test.vary(&r)
			}

			// An error changes nothing.
			before := stored(t, client)
			refused := r
			refused.Limit = 32
			if _, err := Next(t.Context(), client, keys, refused); !errors.Is(err, ErrExhausted) {
				t.Errorf("at the limit: got %v, want ErrExhausted", err)
			}
			wantSame(t, before, stored(t, client))
			wantDurable(t, client, "always")

			got := mustNext(t, client, r)
			if got.Durable != test.want || got.Durable.Removed() != (test.want != DurableAlways) || got.Evidence != test.jumps {
				t.Errorf("range = %+v, want Durable %q and evidence %q", got, test.want, test.jumps)
			}
			want := "always"
			if test.want.Removed() {
				want = ""
			}
			wantDurable(t, client, want)
			r.Token, r.Floor, r.Epoch = "three", got.High, got.Epoch
			if again := mustNext(t, client, r); again.Durable != DurableState(want) || again.Evidence != "" {
				t.Errorf("next range: got %+v, want Durable %q and no evidence", again, want)
			}
		})
	}
}

func TestDurableIsRemovedByEveryKindOfRequest(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(t *testing.T, client redistest.Client){
		"an identity": func(t *testing.T, client redistest.Client) {
			k := Keys{Counter: "{Raven}/Identities/companies", Server: keys.Server, Other: "{Raven}/HiLo/companies"}
			if got, err := Identity(t.Context(), client, k, identityRequest(1)); err != nil || got.Durable != DurableReplica {
				t.Errorf("identity = %+v, %v, want Durable replica", got, err)
			}
		},
		"a resend": func(t *testing.T, client redistest.Client) {
			if got := mustNext(t, client, request("one")); got.High != 32 || got.Durable != DurableReplica {
				t.Errorf("resend = %+v, want 1..32 and Durable replica", got)
			}
		},
		"a seed":    func(t *testing.T, client redistest.Client) { mustSeed(t, client, SeedRequest{Value: 100}) },
		"an import": func(t *testing.T, client redistest.Client) { importOne(t, client, ImportRequest{Value: 100}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			s.SetInfo("connected_slaves", "0")
			client := s.Client(t)
			mustConfigure(t, client, ConfigureRequest{Durable: DurableSet})
			mustNext(t, client, request("one"))
			s.SetInfo("connected_slaves", "1")
			ask(t, client)
			wantDurable(t, client, "")
		})
	}
}

func TestDurableIsRemovedByTheFirstRequestBesideAReplica(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "always")
			client := s.Client(t)
			mustConfigure(t, client, ConfigureRequest{Durable: DurableSet})
			mustNext(t, client, request("one"))
			replica := redistest.StartReplica(t, s, "--appendonly", "yes")
			if d := mustDescribe(t, client); d.Durable != DurableReplica {
				t.Errorf("Durable of the primary: got %q, want replica", d.Durable)
			}
			if err := Configure(t.Context(), client, keys.Server, ConfigureRequest{
				Durable: DurableSet, Origin: mustDescribe(t, client).Origin,
			}); !errors.Is(err, ErrChanged) {
				t.Errorf("set beside a replica: got %v, want ErrChanged", err)
			}
			// A replica that is promoted before the primary issues anything has the statement, and a history.
			replica.Promote()
			got := mustNext(t, replica.Client(t), request("two"))
			if got.Durable != DurableHistory || got.Evidence != EvidenceOrigin {
				t.Errorf("of the promoted replica: %+v, want a jump and Durable history", got)
			}
			replica.Follow(s)
			got = mustNext(t, client, request("three")) // its id changed when the first replica attached
			if got.Durable != DurableReplica || got.Evidence != EvidenceOrigin {
				t.Errorf("of the primary: %+v, want a jump and Durable replica", got)
			}
			wantDurable(t, client, "")
		})
	}
}

// A restart from the AOF is recognized by the zeros in master_replid2 and by the AOF itself. The rule depends on servers that
// change their id at a restart and keep no history. An RDB file has a history only if the server had a replica. Without one, a
// restart from it is recognized by the AOF, which is off.
func TestReplicationHistoryAfterARestart(t *testing.T) {
	t.Parallel()
	aof := []string{"--appendonly", "yes", "--appendfsync", "always"}
	rdb := []string{"--appendonly", "no", "--save", "3600 1"}
	for _, b := range redistest.Binaries(t) {
		for _, test := range []struct {
			name    string
			args    []string
			replica bool
			empty   bool
			state   DurableState
		}{
			{"AOF", aof, false, true, DurableAlways},
			{"AOF after a replica", aof, true, true, DurableAlways},
			{"RDB", rdb, false, true, DurableAOF},
			{"RDB after a replica", rdb, true, false, DurableHistory},
		} {
			t.Run(b.Name+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, b, test.args...)
				client := s.Client(t)
				if test.replica {
					redistest.StartReplica(t, s).Kill()
					s.Await("to have no replica", func(ctx context.Context) bool {
						return strings.Contains(client.Info(ctx, "replication").Val(), "connected_slaves:0\r")
					})
				}
				mustConfigure(t, client, ConfigureRequest{Durable: DurableSet})
				mustNext(t, client, request("one"))
				before := mustDescribe(t, client).Origin
				if test.state != DurableAlways {
					s.Await("to save", func(ctx context.Context) bool { return client.Save(ctx).Err() == nil })
				}
				s.Restart()
				wantStored(t, client, "Max", "32")
				after := mustDescribe(t, client)
				if after.Origin == before {
					t.Errorf("got replication id %s as before the restart, want another", after.Origin)
				}
				info := client.Info(t.Context(), "replication").Val()
				if empty := strings.Contains(info, "master_replid2:"+noHistory+"\r"); empty != test.empty {
					t.Errorf("empty history: got %v, want %v:\n%s", empty, test.empty, info)
				}
				if got := mustNext(t, client, request("two")); after.Durable != test.state || got.Durable != test.state {
					t.Errorf("Durable = %q, then %+v, want %q", after.Durable, got, test.state)
				}
			})
		}
	}
}
