package scripts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// miniDurable starts a miniredis that reports what a durable server does.
func miniDurable(t *testing.T, word string) (*redistest.Server, redistest.Client) {
	t.Helper()
	s := redistest.StartMini(t)
	for field, value := range map[string]string{
		"connected_slaves": "0", "master_replid2": noHistory, "aof_enabled": "1", "aof_last_write_status": "ok",
		"aof_rewrite_in_progress": "0", "aof_rewrite_scheduled": "0", "aof_pending_bio_fsync": "0",
	} {
		s.SetInfo(field, value)
	}
	client := s.Client(t)
	settings(t, client, "Durable", word)
	return s, client
}

// eachDurable runs a test on a durable server of each kind, with each appendfsync. restart kills a server and starts it again.
func eachDurable(t *testing.T, test func(t *testing.T, s *redistest.Server, client redistest.Client, restart func())) {
	t.Helper()
	for _, word := range []string{"everysec", "always"} {
		t.Run("miniredis/"+word, func(t *testing.T) {
			t.Parallel()
			s, client := miniDurable(t, word)
			test(t, s, client, s.ChangeReplicationID)
		})
		for _, b := range redistest.Binaries(t) {
			t.Run(b.Name+"/"+word, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", word)
				client := s.Client(t)
				settings(t, client, "Durable", word)
				test(t, s, client, s.Restart)
			})
		}
	}
}

// mustRaise raises and, unless that permitted it, permits. Tests do not wait for the disk, since they lose no write.
func mustRaise(t *testing.T, client redistest.Client, r NextRequest) Raised {
	t.Helper()
	got, err := RaiseNext(t.Context(), client, keys, r)
	if err != nil || got.Obstacle != "" {
		t.Fatalf("raise: got %+v, %v, want <nil>", got, err)
	}
	mustPermit(t, client, keys, got)
	return got
}

func mustPermit(t *testing.T, client redistest.Client, k Keys, got Raised) {
	t.Helper()
	if got.Permitted {
		return
	}
	send := func(ctx context.Context, requests ...PermitRequest) []Permitted { return Permit(ctx, client, requests...) }
	for _, permitted := range askPatiently(t.Context(), send, []PermitRequest{{Keys: k, Origin: got.Origin, Raised: got.Raised}}) {
		if permitted.Err != nil {
			t.Fatalf("permit: got %v, want <nil>", permitted.Err)
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

func TestNextIssuesNothingAboveTheCeiling(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ *redistest.Server, client redistest.Client, _ func()) {
		refused := func(token string) {
			t.Helper()
			before := dump(t, client)
			if _, err := Next(t.Context(), client, keys, request(token)); !errors.Is(err, ErrCeiling) || !Answered(err) {
				t.Errorf("next %s: got %v, want ErrCeiling", token, err)
			}
			wantSame(t, before, dump(t, client))
		}
		refused("new")
		if got := mustRaise(t, client, request("r1")); got.Raised != 32+64 || got.Base != 0 || got.Evidence != "" {
			t.Errorf("first raise: got %+v, want 96", got)
		}
		one := mustNext(t, client, request("one"))
		wantRange(t, one, 1, 32)
		if one.Ceiling != 96 || one.Block != 64 || !one.Durable.Holds() {
			t.Errorf("got %+v, want a ceiling of 96", one)
		}
		r := request("two")
		r.Capacity = 100
		two := mustNext(t, client, r)
		wantRange(t, two, 33, 96) // cut at the ceiling
		refused("three")
		mustRaise(t, client, request("r2"))
		wantRange(t, mustNext(t, client, request("three")), 97, 128)

		// Only what is permitted is issued.
		got, err := RaiseNext(t.Context(), client, keys, request("r3"))
		if err != nil || got.Permitted != (one.Durable == DurableAlways) {
			t.Errorf("raise: got %+v, %v, want that only always permits by itself", got, err)
		}
	})
}

// A resend of a cut range is the same range.
func TestNextResentReturnsTheSameRangeCutAtTheCeiling(t *testing.T) {
	t.Parallel()
	_, client := miniDurable(t, "always")
	mustRaise(t, client, request("raise"))
	r := request("token")
	r.Capacity = 500
	wantRange(t, mustNext(t, client, r), 1, 96)
	wantRange(t, mustNext(t, client, r), 1, 96)
}

func TestIdentityIssuesNothingAboveTheCeiling(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ *redistest.Server, client redistest.Client, _ func()) {
		for _, k := range []Keys{identityKeys, serverSideKeys} {
			raise := func(r IdentityRequest) {
				t.Helper()
				before := dump(t, client)
				if _, err := Identity(t.Context(), client, k, r); !errors.Is(err, ErrCeiling) {
					t.Errorf("%s: got %v, want ErrCeiling", k.Counter, err)
				}
				wantSame(t, before, dump(t, client))
				got, err := RaiseIdentity(t.Context(), client, k, r)
				if err != nil {
					t.Fatal(err)
				}
				mustPermit(t, client, k, got)
			}
			r := identityRequest(1)
			raise(r)
			got, err := Identity(t.Context(), client, k, r)
			if err != nil || got.Low != 1 || got.Ceiling != 1+16 || got.Block != 16 {
				t.Errorf("%s: got %+v, %v, want 1 and a ceiling of 17", k.Counter, got, err)
			}
			r.Count = 17 // one more than is left; it is not cut
			raise(r)
			if got, err := Identity(t.Context(), client, k, r); err != nil || got.Low != 2 || got.High != 18 {
				t.Errorf("%s: got %+v, %v, want 2..18", k.Counter, got, err)
			}
			r.Exact = 5000
			raise(r)
			if got, err := Identity(t.Context(), client, k, r); err != nil || got.Low != 5000 {
				t.Errorf("%s: got %+v, %v, want 5000", k.Counter, got, err)
			}
			if got, err := Identity(t.Context(), client, k, r); err != nil || got.Low != 0 {
				t.Errorf("%s: the same value: got %+v, %v, want it refused", k.Counter, got, err)
			}
		}
	})
}

// A second client that raises waits for a write of its own, and must not disturb those of the first.
func TestRaiseAlwaysWritesAndKeepsWhatARangeNeeds(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "everysec")
	first := mustRaise(t, client, request("raise"))
	got := mustNext(t, client, request("range"))
	writes := 0
	s.Hook(func(cmd string, _ []string) string {
		if cmd == "HSET" {
			writes++
		}
		return ""
	})
	again, err := RaiseNext(t.Context(), client, keys, request("raise again"))
	if err != nil || again.Raised != first.Raised || writes != 1 {
		t.Errorf("raise again: got %+v, %v, %d writes, want %d and 1 write", again, err, writes, first.Raised)
	}
	wantReturned(t, client, back(got, "range", 5), true)
	two := mustNext(t, client, request("two"))
	if _, err := RaiseNext(t.Context(), client, keys, request("raise once more")); err != nil {
		t.Fatal(err)
	}
	r := request("three")
	r.Capacity = 1
	if three := mustNext(t, client, r); three.Before != two.Written {
		t.Errorf("a range after a raise: got %+v, want it right behind %+v", three, two)
	}
}

func TestTheBlockOfADurableServerFollowsTheRate(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "always")
	now, capacity := began, int64(32)
	for _, step := range []struct {
		name    string
		after   time.Duration
		restart bool
		want    int64
	}{
		{"the first raise", 0, false, 64},
		{"within half an hour", 29 * time.Minute, false, 256},
		{"after half an hour", 30 * time.Minute, false, 256},
		{"at once, after a restart", 0, true, 256},
		{"after more than two hours", 2*time.Hour + time.Millisecond, false, 128},
		{"after a day", 24 * time.Hour, false, 64},
		{"after another day", 24 * time.Hour, false, 64},
	} {
		now = now.Add(step.after)
		s.Mini().SetTime(now)
		if step.restart {
			s.ChangeReplicationID()
		}
		r := request(step.name)
		r.Capacity = capacity
		raised := mustRaise(t, client, r)
		got := mustNext(t, client, r)
		if got.Block != step.want || raised.Raised != got.High+step.want || got.Ceiling != raised.Raised {
			t.Errorf("%s: got %+v after %+v, want a block of %d", step.name, got, raised, step.want)
		}
		capacity = got.Ceiling - got.High + 1 // past the ceiling by one, but for the cut
		if _, err := Next(t.Context(), client, keys, NextRequest{Token: "rest", Name: "orders", Capacity: capacity, Limit: 1 << 40}); err != nil {
			t.Fatal(err)
		}
		capacity = 1
	}
}

func TestRaiseReportsWhatIsLeft(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "everysec")
	s.Mini().SetTime(began)
	mustRaise(t, client, request("raise")) // for 32 and a block of 64
	mustNext(t, client, request("one"))
	mustNext(t, client, request("two")) // 32 since the raise, in 10 s
	s.Mini().SetTime(began.Add(10 * time.Second))
	s.SetInfo("aof_enabled", "0")
	got, err := RaiseNext(t.Context(), client, keys, request("raise again"))
	if err != nil || got.Left != 32 || got.Lasts != 10*time.Second || got.Obstacle == "" || got.Raised != 0 || got.Epoch != 0 {
		t.Errorf("got %+v, %v, want 32 left, which last 10 s, and an obstacle", got, err)
	}
}

// Each obstacle is one that INFO shows. While it lasts, what is permitted is still issued.
func TestRaiseAndPermitNameWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		info    map[string]string
		text    string
		raise   map[string]bool // whether the raise writes nothing, by Durable
		pending bool
	}{
		{"AOF off", map[string]string{"aof_enabled": "0"}, "CONFIG SET appendonly yes", map[string]bool{"everysec": true, "always": true}, false},
		{"a write that failed", map[string]string{"aof_last_write_status": "err"}, "could not be written", map[string]bool{"everysec": true, "always": true}, false},
		{"a rewrite in progress", map[string]string{"aof_rewrite_in_progress": "1"}, "rewritten", map[string]bool{"always": true}, false},
		{"a rewrite scheduled", map[string]string{"aof_rewrite_scheduled": "1"}, "rewritten", map[string]bool{"always": true}, false},
		{"a sync", map[string]string{"aof_pending_bio_fsync": "1"}, "sync", nil, true},
		{"no INFO", map[string]string{"aof_enabled": ""}, "permit +info", map[string]bool{"everysec": true, "always": true}, false},
	} {
		for _, word := range []string{"everysec", "always"} {
			if test.pending && word == "always" { // a write is on disk when it is answered
				continue
			}
			t.Run(test.name+"/"+word, func(t *testing.T) {
				t.Parallel()
				s, client := miniDurable(t, word)
				mustRaise(t, client, request("raise"))
				got, err := RaiseNext(t.Context(), client, keys, request("raised before"))
				if err != nil {
					t.Fatal(err)
				}
				for field, value := range test.info {
					s.SetInfo(field, value)
				}
				before := dump(t, client)
				answer := Permit(t.Context(), client, PermitRequest{Keys: keys, Origin: got.Origin, Raised: got.Raised})[0]
				if !errors.Is(answer.Err, ErrNotDurable) || errors.Is(answer.Err, ErrPending) != test.pending || !strings.Contains(answer.Err.Error(), test.text) {
					t.Errorf("permit: got %v, want ErrNotDurable with %q", answer.Err, test.text)
				}
				wantSame(t, before, dump(t, client))
				again, err := RaiseNext(t.Context(), client, keys, request("raise again"))
				if refused := strings.Contains(again.Obstacle, test.text) && again.Raised == 0; err != nil || refused != test.raise[word] || again.Permitted {
					t.Errorf("raise: got %+v, %v, want an obstacle: %v", again, err, test.raise[word])
				}
				if test.raise[word] {
					wantSame(t, before, dump(t, client))
				}
				r := request("the rest")
				r.Capacity = 500
				if err := CheckNext(t.Context(), client, keys, r); err != nil {
					t.Errorf("check with numbers left: got %v, want <nil>", err)
				}
				wantRange(t, mustNext(t, client, r), 1, 96)
				r.Token = "no more"
				if err := CheckNext(t.Context(), client, keys, r); errors.Is(err, ErrNotDurable) == test.pending {
					t.Errorf("check with none left: got %v, want ErrNotDurable unless it is pending", err)
				}
				if _, err := Next(t.Context(), client, keys, r); !errors.Is(err, ErrCeiling) {
					t.Errorf("next with none left: got %v, want ErrCeiling", err)
				}
			})
		}
	}
}

func TestPermitIsHarmlessLate(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "everysec")
	first := mustRaise(t, client, request("one"))
	mustNext(t, client, request("one"))
	r := request("two")
	r.Capacity = 1000
	second := mustRaise(t, client, r)
	permit := func(origin string, raised int64) error {
		return Permit(t.Context(), client, PermitRequest{Keys: keys, Origin: origin, Raised: raised})[0].Err
	}
	before := stored(t, client)
	if err := permit(first.Origin, first.Raised); err != nil {
		t.Errorf("a late permit: got %v, want <nil>", err)
	}
	wantSame(t, before, stored(t, client)) // the ceiling stays at the second one
	for name, refused := range map[string]func() error{
		"of another replication id": func() error { return permit(anotherOrigin, second.Raised) },
		"above Raised":              func() error { return permit(second.Origin, second.Raised+1) },
	} {
		if err := refused(); !errors.Is(err, ErrChanged) {
			t.Errorf("a permit %s: got %v, want ErrChanged", name, err)
		}
		wantSame(t, before, stored(t, client))
	}
	s.SetInfo("slave0", "ip=127.0.0.1,port=6380,state=online")
	if err := permit(second.Origin, second.Raised); !errors.Is(err, ErrChanged) {
		t.Errorf("a permit beside a replica: got %v, want ErrChanged", err)
	}
	s.SetInfo("slave0", "")
	settings(t, client, "Initialized", "now")
	if err := permit(second.Origin, second.Raised); !errors.Is(err, ErrChanged) {
		t.Errorf("a permit without Durable: got %v, want ErrChanged", err)
	}
	settings(t, client, "Durable", "everysec")
	client.Del(t.Context(), keys.Counter)
	for _, raised := range []int64{second.Raised, 0} {
		if err := permit(second.Origin, raised); !errors.Is(err, ErrChanged) || len(stored(t, client)) > 0 {
			t.Errorf("a permit of %d of a counter that is gone: got %v and %v, want ErrChanged and no key", raised, err, stored(t, client))
		}
	}
	set(t, client, "Max", 5, "Raised", "x")
	if err := permit(second.Origin, 5); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a permit with a corrupt Raised: got %v, want ErrCorrupt", err)
	}
}

// A seed at a durable server is confirmed by a permit, so that a restart before the first range is covered.
func TestPermitMakesASeedTheCeiling(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ *redistest.Server, client redistest.Client, restart func()) {
		mustSeed(t, client, SeedRequest{Value: 4000})
		mustPermit(t, client, keys, Raised{Raised: 4000})
		wantStored(t, client, "Ceiling", "4000")
		restart()
		if got := mustNextDurable(t, client, request("one")); got.Low != 4001 || !got.Durable.Holds() {
			t.Errorf("after a restart: got %+v, want 4001", got)
		}
	})
}

// After a restart from its own file a counter continues above Raised, without margin and offset. The file may have lost Max, as here.
func TestNextContinuesAboveRaisedAfterARestartOfADurableServer(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, s *redistest.Server, client redistest.Client, restart func()) {
		held := mustNextDurable(t, client, request("first"))
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
		_ = s
	})
}

// A resend after a restart may be of a range that the file lost, so it is another one.
func TestNextResentAfterARestartOfADurableServerReturnsAnotherRange(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ *redistest.Server, client redistest.Client, restart func()) {
		held := mustNextDurable(t, client, request("token"))
		restart()
		if got := mustNextDurable(t, client, request("token")); got.Low != held.Ceiling+1 {
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

// A counter that was issued from before Durable was set has no Raised that is known to be on disk, so a restart then is one of a plain server.
func TestRaiseJumpsAsAPlainServerWithoutACeiling(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "always")
	settings(t, client, "Initialized", "now")
	held := mustNext(t, client, request("one"))
	settings(t, client, "Durable", "always")
	s.ChangeReplicationID()
	got := mustRaise(t, client, request("two"))
	if want := jumped(t, client, jump{start: held.Ceiling, unit: rangeUnit, token: "two"}); got.Base != want || got.Evidence != EvidenceOrigin {
		t.Errorf("got %+v, want a jump to %d", got, want)
	}
	wantRange(t, mustNext(t, client, request("two")), got.Base+1, got.Base+32)
	wantDurable(t, client, "always")
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
