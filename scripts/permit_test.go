package scripts

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func mustPermit(t *testing.T, client redistest.Client, k Keys, got Raised) {
	t.Helper()
	if got.Permitted {
		return
	}
	send := func(ctx context.Context, requests ...PermitRequest) []Permitted {
		return Permit(ctx, client, requests...)
	}
	for _, permitted := range askPatiently(t.Context(), send, []PermitRequest{{Keys: k, Origin: got.Origin, Raised: got.Raised}}) {
		if permitted.Err != nil {
			t.Fatalf("permit: got %v, want <nil>", permitted.Err)
		}
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
	eachDurable(t, func(t *testing.T, client redistest.Client, restart func()) {
		mustSeed(t, client, SeedRequest{Value: 4000})
		mustPermit(t, client, keys, Raised{Raised: 4000})
		wantStored(t, client, "Ceiling", "4000")
		wantStored(t, client, "Raised", "4000")
		restart()
		if got := mustNextDurable(t, client, request("one")); got.Low != 4001 || !got.Durable.Holds() {
			t.Errorf("after a restart: got %+v, want 4001", got)
		}
	})
}

// Such a counter has to jump by the margin of the plain server that wrote it last.
func TestPermitGivesNoCeilingToACounterOfAnotherServer(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "everysec")
	settings(t, client, "Initialized", "now")
	held := mustNext(t, client, request("one"))
	s.ChangeReplicationID()
	settings(t, client, "Durable", "everysec")
	mustSeed(t, client, SeedRequest{Value: 10})
	mustPermit(t, client, keys, Raised{Raised: 10})
	wantStored(t, client, "Ceiling", "")
	if got := mustRaise(t, client, request("two")); got.Evidence != EvidenceOrigin || got.Base <= held.Ceiling+rangeUnit {
		t.Errorf("got %+v, want a jump above %d", got, held.Ceiling)
	}
}
