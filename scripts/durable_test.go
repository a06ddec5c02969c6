package scripts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// miniDurable starts a miniredis that reports what a durable server does.
func miniDurable(t *testing.T, word string) (*redistest.Server, redistest.Client) {
	t.Helper()
	s := redistest.StartMini(t)
	s.ReportDurable()
	client := s.Client(t)
	settings(t, client, "Durable", word)
	return s, client
}

// eachDurable runs a test on a durable server of each kind, with each appendfsync. restart kills a server and starts it again.
func eachDurable(t *testing.T, test func(t *testing.T, client redistest.Client, restart func())) {
	t.Helper()
	for _, word := range []string{"everysec", "always"} {
		t.Run("miniredis/"+word, func(t *testing.T) {
			t.Parallel()
			s, client := miniDurable(t, word)
			test(t, client, s.ChangeReplicationID)
		})
		for _, b := range redistest.Binaries(t) {
			t.Run(b.Name+"/"+word, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", word)
				client := s.Client(t)
				settings(t, client, "Durable", word)
				test(t, client, func() {
					s.Await("to have written its file", func(ctx context.Context) bool { // a sync in progress delays that
						return strings.Contains(client.Info(ctx, "persistence").Val(), "aof_buffer_length:0\r")
					})
					s.Restart()
				})
			})
		}
	}
}

// mustNextDurable takes a range, and raises for it if it has to.
func mustNextDurable(t *testing.T, client redistest.Client, r NextRequest) Range {
	t.Helper()
	got, err := Next(t.Context(), client, keys, r)
	if errors.Is(err, ErrCeiling) {
		mustRaise(t, client, r)
		got, err = Next(t.Context(), client, keys, r)
	}
	if err != nil {
		t.Fatalf("next: got %v, want <nil>", err)
	}
	return got
}

func wantDurable(t *testing.T, client redistest.Client, want string) {
	t.Helper()
	if got := client.HGet(t.Context(), serverKey, "Durable").Val(); got != want {
		t.Errorf("Durable of the server: got %q, want %q", got, want)
	}
}

// After a restart from its own file a counter continues above Raised, without margin and offset. The file may have lost Max, as here.
func TestNextContinuesAboveRaisedAfterARestartOfADurableServer(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, client redistest.Client, restart func()) {
		held := mustNextDurable(t, client, request("first"))
		state := stored(t, client)
		set(t, client, "Max", 0)
		client.HDel(t.Context(), keys.Counter, "Origin")
		wantRange(t, mustNext(t, client, request("fault")), held.Low, held.High) // without the evidence
		replace(t, client, state)
		for i := range int64(3) {
			set(t, client, "Max", 96*i, "Ranges", i+1) // the newest write of Max is lost
			restart()
			r := seen(request(fmt.Sprint("after restart ", i)), held)
			if _, err := Next(t.Context(), client, keys, r); !errors.Is(err, ErrCeiling) {
				t.Errorf("after restart %d: got %v, want ErrCeiling", i, err)
			}
			raised := mustRaise(t, client, r)
			if raised.Evidence != EvidenceOrigin || raised.Base != held.Ceiling || raised.Jump != held.Ceiling-96*i || raised.Epoch != held.Epoch+1 {
				t.Errorf("after restart %d: got %+v, want a jump to %d", i, raised, held.Ceiling)
			}
			got := mustNext(t, client, r)
			if got.Low != held.Ceiling+1 || got.Evidence != "" || !got.Durable.Holds() || got.Low-held.High > 200 {
				t.Errorf("after restart %d: got %+v, want it right above %d", i, got, held.Ceiling)
			}
			held = got
		}
		if state := stored(t, client); state["Origin"] != mustDescribe(t, client).Origin {
			t.Errorf("got Origin %s, want that of the server", state["Origin"])
		}
	})
}

// A resend after a restart may be of a range that the file lost, so it is another one.
func TestNextResentAfterARestartOfADurableServerReturnsAnotherRange(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, client redistest.Client, restart func()) {
		mustNextDurable(t, client, request("first"))
		r := request("token")
		r.Capacity = 64
		held := mustNext(t, client, r)
		wantRange(t, held, 33, held.Ceiling) // Max is where it continues after the restart
		restart()
		if got := mustNextDurable(t, client, r); got.Low != held.Ceiling+1 {
			t.Errorf("got %+v, want it above %d", got, held.Ceiling)
		}
	})
}

// What contradicts the statement removes it, and the counter jumps as at a plain server.
func TestNextRemovesDurableOnContradiction(t *testing.T) {
	t.Parallel()
	replica := map[string]string{"connected_slaves": "1", "slave0": "ip=127.0.0.1,port=6380,state=online"}
	for _, test := range []struct {
		name    string
		info    map[string]string
		restart bool
		change  func(t *testing.T, client redistest.Client, r *NextRequest)
		want    DurableState
		jumps   Evidence
	}{
		{name: "a replica", info: replica, want: DurableReplica, jumps: EvidenceOrigin},
		{name: "a replica and another id", info: replica, restart: true, want: DurableReplica, jumps: EvidenceOrigin},
		{name: "redis-cli --rdb", info: map[string]string{"connected_slaves": "1", "slave0": "ip=127.0.0.1,port=0,state=online"}, want: DurableEverysec},
		{name: "a promotion", info: map[string]string{"master_replid2": anotherOrigin}, restart: true, want: DurableHistory, jumps: EvidenceOrigin},
		{name: "a history from before", info: map[string]string{"master_replid2": anotherOrigin}, want: DurableEverysec},
		{name: "no field of a history", info: map[string]string{"master_replid2": ""}, restart: true, want: DurableHistory, jumps: EvidenceOrigin},
		{name: "a restart without the AOF", info: map[string]string{"aof_enabled": "0"}, restart: true, want: DurableHistory, jumps: EvidenceOrigin},
		{name: "a node of a cluster", info: map[string]string{"cluster_enabled": "1"}, restart: true, want: DurableCluster, jumps: EvidenceOrigin},
		{name: "a floor", change: func(_ *testing.T, _ redistest.Client, r *NextRequest) { r.Floor = 50 }, want: DurableEvidence, jumps: EvidenceFloor},
		{name: "a floor after a restart", restart: true, change: func(_ *testing.T, _ redistest.Client, r *NextRequest) { r.Floor = 97 }, want: DurableEvidence, jumps: EvidenceFloor},
		{name: "a ceiling", change: func(_ *testing.T, _ redistest.Client, r *NextRequest) { r.Ceiling = 97 }, want: DurableEvidence, jumps: EvidenceFloor},
		{name: "a ceiling after a restart", restart: true, change: func(_ *testing.T, _ redistest.Client, r *NextRequest) { r.Ceiling = 97 }, want: DurableEvidence, jumps: EvidenceFloor},
		{name: "an epoch", change: func(_ *testing.T, _ redistest.Client, r *NextRequest) { r.Epoch++ }, want: DurableEvidence, jumps: EvidenceEpoch},
		{name: "a counter that is gone", change: func(t *testing.T, client redistest.Client, _ *NextRequest) {
			client.Del(t.Context(), keys.Counter)
		}, want: DurableEvidence, jumps: EvidenceMissing},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, client := miniDurable(t, "everysec")
			held := mustNextDurable(t, client, request("one"))
			for field, value := range test.info {
				s.SetInfo(field, value)
			}
			if test.restart {
				s.ChangeReplicationID()
			}
			r := seen(request("two"), held)
			if test.change != nil {
				test.change(t, client, &r)
			}
			before := dump(t, client)
			refused := r
			refused.Limit = 32
			if _, err := Next(t.Context(), client, keys, refused); !errors.Is(err, ErrExhausted) {
				t.Errorf("at the limit: got %v, want ErrExhausted", err)
			}
			wantSame(t, before, dump(t, client))
			if test.want.Removed() {
				if got, err := RaiseNext(t.Context(), client, keys, r); !errors.Is(err, ErrChanged) {
					t.Errorf("raise: got %+v, %v, want ErrChanged", got, err)
				}
				wantSame(t, before, dump(t, client))
			}

			got := mustNext(t, client, r)
			if got.Durable != test.want || got.Evidence != test.jumps {
				t.Errorf("got %+v, want Durable %q and evidence %q", got, test.want, test.jumps)
			}
			if !test.want.Removed() {
				wantDurable(t, client, "everysec")
				wantRange(t, got, 33, 64)
				return
			}
			wantDurable(t, client, "")
			wantStored(t, client, "Ceiling", "")
			if start := max(held.Ceiling, r.Floor, r.Ceiling); got.Low <= start+rangeUnit || got.Ceiling != got.High+16384 {
				t.Errorf("got %+v, want a jump by a plain server's margin above %d", got, start)
			}
			again := mustNext(t, client, seen(request("three"), got))
			if again.Low != got.High+1 || again.Evidence != "" || again.Durable != DurableNone {
				t.Errorf("once more: got %+v, want no jump", again)
			}
		})
	}
}

// Setting Durable and taking it back touches no counter. One that was issued from meanwhile jumps once, since its Max may be lost.
func TestNextJumpsOnceWhereDurableWasTakenBack(t *testing.T) {
	t.Parallel()
	_, client := miniDurable(t, "everysec")
	k := Keys{Counter: "{Raven}/HiLo/untouched", Server: serverKey, Other: serverKey}
	settings(t, client, "Initialized", "now")
	if _, err := Next(t.Context(), client, k, request("before")); err != nil {
		t.Fatal(err)
	}
	settings(t, client, "Durable", "everysec")
	held := mustNextDurable(t, client, request("one"))
	if _, err := Identity(t.Context(), client, serverSideKeys, identityRequest(1)); !errors.Is(err, ErrCeiling) {
		t.Fatalf("got %v, want ErrCeiling", err)
	}
	raised, err := RaiseIdentity(t.Context(), client, serverSideKeys, identityRequest(1))
	if err != nil {
		t.Fatal(err)
	}
	mustPermit(t, client, serverSideKeys, raised)
	settings(t, client, "Initialized", "now")

	// An exact value is refused until the jump, and leaves the counter as it is.
	before := dump(t, client)
	exact := identityRequest(1)
	exact.Exact = 10
	if got, err := Identity(t.Context(), client, serverSideKeys, exact); err != nil || got.Low != 0 || got.Epoch != 0 {
		t.Errorf("an exact value: got %+v, %v, want it refused", got, err)
	}
	wantSame(t, before, dump(t, client))
	got := mustNext(t, client, seen(request("two"), held))
	if got.Evidence != EvidenceOrigin || got.Low <= held.Ceiling+rangeUnit || stored(t, client)["Ceiling"] != "" {
		t.Errorf("got %+v, want a jump and no Ceiling", got)
	}
	if again := mustNext(t, client, request("three")); again.Evidence != "" {
		t.Errorf("once more: got %+v, want no jump", again)
	}
	if got, err := Next(t.Context(), client, k, request("after")); err != nil || got.Low != 33 || got.Evidence != "" {
		t.Errorf("the other counter: got %+v, %v, want 33 without a jump", got, err)
	}
}

func TestDurableIsRemovedBesideAReplica(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "always")
			client := s.Client(t)
			settings(t, client, "Durable", "always")
			held := mustNextDurable(t, client, request("one"))
			replica := redistest.StartReplica(t, s, "--appendonly", "yes")
			if d := mustDescribe(t, client); d.Durable != DurableReplica {
				t.Errorf("Durable of the primary: got %q, want replica", d.Durable)
			}
			// A replica that is promoted before the primary issues anything has the statement, and a history.
			replica.Promote()
			other := mustNext(t, replica.Client(t), seen(request("two"), held))
			if other.Durable != DurableHistory || other.Evidence != EvidenceOrigin || other.Low <= held.Ceiling+rangeUnit {
				t.Errorf("of the promoted replica: got %+v, want a jump and Durable history", other)
			}
			replica.Follow(s)
			got := mustNext(t, client, seen(request("three"), held)) // its id changed when the first replica attached
			if got.Durable != DurableReplica || got.Evidence != EvidenceOrigin || got.Low <= held.Ceiling+rangeUnit {
				t.Errorf("of the primary: got %+v, want a jump and Durable replica", got)
			}
			wantDurable(t, client, "")
		})
	}
}

// A slot moves the statement to a primary for which it was not made. There each counter has another origin.
func TestDurableIsRemovedOnANodeOfACluster(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			client := redistest.StartCluster(t, b, 2, 0, "--appendonly", "yes", "--appendfsync", "always").Client(t)
			settings(t, client, "Durable", "always")
			set(t, client, "Max", 32, "Raised", 96, "Ceiling", 96, "Origin", anotherOrigin)
			got := mustNext(t, client, request("one"))
			if got.Durable != DurableCluster || got.Evidence != EvidenceOrigin || got.Low <= 96+rangeUnit {
				t.Errorf("got %+v, want Durable cluster and a jump for origin", got)
			}
			wantDurable(t, client, "")
		})
	}
}

// A restart from the AOF is told from a promotion by the zeros in master_replid2. A future server may keep its id or a history, which
// this test would show.
func TestReplicationHistoryAfterARestart(t *testing.T) {
	t.Parallel()
	aof := []string{"--appendonly", "yes", "--appendfsync", "always"}
	rdb := []string{"--appendonly", "no", "--save", "3600 1"}
	for _, b := range redistest.Binaries(t) {
		for _, test := range []struct {
			name    string
			args    []string
			replica bool
			zeros   bool
		}{
			{"AOF", aof, false, true},
			{"AOF after a replica", aof, true, true},
			{"snapshot", rdb, false, true},
			{"snapshot after a replica", rdb, true, false},
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
				mustNext(t, client, request("one"))
				before := mustDescribe(t, client).Origin
				if !strings.HasPrefix(test.name, "AOF") {
					s.Await("to save", func(ctx context.Context) bool { return client.Save(ctx).Err() == nil })
				}
				s.Restart()
				wantStored(t, client, "Max", "32")
				info := client.Info(t.Context(), "replication").Val()
				if zeros := strings.Contains(info, "master_replid2:"+noHistory+"\r"); zeros != test.zeros || strings.Contains(info, "master_replid:"+before) {
					t.Errorf("got %s, want another id than %s and zeros in master_replid2: %v", info, before, test.zeros)
				}
			})
		}
	}
}
