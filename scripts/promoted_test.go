package scripts

import (
	"strconv"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// promoted makes the server appear as one that was promoted from the history of its current replication id, with that uptime.
func promoted(t *testing.T, s *redistest.Server, uptime string) {
	t.Helper()
	s.SetInfo("master_replid2", replicationOf(t, s))
	s.ChangeReplicationID()
	s.SetInfo("uptime_in_seconds", uptime)
}

func replicationOf(t *testing.T, s *redistest.Server) string {
	t.Helper()
	described, err := Describe(t.Context(), s.Client(t), keys.Server)
	if err != nil {
		t.Fatal(err)
	}
	return described.Origin
}

// awaiting returns a request of a client that waits for one replica.
func awaiting(token string) NextRequest {
	r := request(token)
	r.Awaited = 1
	return r
}

// A small gap is sound only after a promotion, on a server that has been running since before the last write. Each case violates
// one of these conditions.
func TestNextJumpsByASmallGapOnlyAfterAPromotionUnderReplicas(t *testing.T) {
	t.Parallel()
	const gap, places = 64, 64 // twice the range of 32 that was issued, and the offset below one gap
	for _, test := range []struct {
		name    string
		durable string
		happens func(t *testing.T, s *redistest.Server, client redistest.Client, r *NextRequest)
		small   bool
	}{
		{"a promotion", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) { promoted(t, s, "3602") }, true},
		{"more was issued in this minute than is known to the client", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, r *NextRequest) {
			promoted(t, s, "3602")
			r.LeastGap = 1 << 20 // what was issued is not lost, and neither are the tallies
		}, true},
		{"no word", "", func(t *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) { promoted(t, s, "3602") }, false},
		{"another word", "always", func(t *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) { promoted(t, s, "3602") }, false},
		{"a restart", "replicas:1", func(_ *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) {
			s.ChangeReplicationID()
			s.SetInfo("uptime_in_seconds", "3602")
		}, false},
		{"a promotion from another history", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) {
			promoted(t, s, "3602")
			s.SetInfo("master_replid2", anotherOrigin)
		}, false},
		{"two promotions", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) {
			promoted(t, s, "3602")
			promoted(t, s, "3602")
		}, false},
		{"a start since the last write", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) { promoted(t, s, "3600") }, false},
		{"a start at about the last write", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) { promoted(t, s, "3601") }, false},
		{"an uptime that is not known", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) { promoted(t, s, "") }, false},
		{"a clock before the last write", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, _ *NextRequest) {
			promoted(t, s, "3602")
			s.Mini().SetTime(began.Add(-time.Second))
		}, false},
		{"a floor above", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, r *NextRequest) {
			promoted(t, s, "3602")
			r.Floor = 33
		}, false},
		{"an epoch above", "replicas:1", func(t *testing.T, s *redistest.Server, _ redistest.Client, r *NextRequest) {
			promoted(t, s, "3602")
			r.Epoch = 1
		}, false},
		{"a counter that is gone", "replicas:1", func(t *testing.T, s *redistest.Server, client redistest.Client, r *NextRequest) {
			promoted(t, s, "3602")
			client.Del(t.Context(), keys.Counter)
			r.Floor = 32
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t) // the only server whose clock and INFO can be set
			client := s.Client(t)
			s.Mini().SetTime(began)
			if test.durable != "" {
				client.HSet(t.Context(), keys.Server, "Durable", test.durable)
			}
			mustNext(t, client, awaiting("before"))
			s.Mini().SetTime(began.Add(time.Hour))
			r := awaiting("after")
			test.happens(t, s, client, &r)
			got := mustNext(t, client, r)
			if small := got.Low > 32+gap && got.Low <= 32+gap+places; small != test.small || got.Epoch == 0 || !small && got.Low <= 32+rangeGap {
				t.Errorf("got %+v, want a jump by a small gap: %v", got, test.small)
			}
			r.Token, r.Floor, r.Epoch = "once more", got.High, got.Epoch
			if again := mustNext(t, client, r); again.Low != got.High+1 {
				t.Errorf("got %+v once more, want no jump", again)
			}
		})
	}
}

var began = time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC)

// The gap of an identity shrinks too, but not the one above a collection of its name that may have lost bare numbers.
func TestIdentityJumpsByASmallGapAfterAPromotion(t *testing.T) {
	t.Parallel()
	for bare, want := range map[int64][2]int64{0: {7, 7 + 2*7 + 2*7}, 5: {5 + rangeGap, 5 + 65*rangeGap}} {
		t.Run(strconv.FormatInt(bare, 10), func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			client := s.Client(t)
			s.Mini().SetTime(began)
			home(t, client)
			client.HSet(t.Context(), keys.Server, "Durable", "replicas:1")
			r := identityRequest(7)
			r.Awaited = 1
			mustIdentity(t, client, r)
			if bare > 0 {
				set(t, client, "Max", 90, "Bare", bare, "Origin", replicationOf(t, s))
			}
			s.Mini().SetTime(began.Add(time.Hour))
			promoted(t, s, "3602")
			r.Count, r.Token = 1, "after"
			if got := mustIdentity(t, client, r); got.Low <= want[0] || got.Low > want[1]+1 || got.Epoch != 1 {
				t.Errorf("got %+v, want more than %d, up to %d", got, want[0], want[1]+1)
			}
		})
	}
}

// After a failover of real servers a slow counter continues a few numbers further. After a restart from the disk it jumps by the
// full gap.
func TestNextContinuesNearAfterAFailover(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		replica := redistest.StartReplica(t, s)
		client, other := s.Client(t), replica.Client(t)
		client.HSet(t.Context(), keys.Server, "Durable", "replicas:1")
		replica.AwaitUptime(2)
		waiting := Durable(client, Durability{Replicas: 1, Timeout: 10 * time.Second})
		got, err := Next(t.Context(), waiting, keys, awaiting("before"))
		if err != nil {
			t.Fatal(err)
		}
		wantRange(t, got, 1, 32)
		s.Kill()
		replica.Promote()
		got = mustNext(t, other, awaiting("after"))
		if got.Low <= 32+64 || got.Low > 32+128 || got.Evidence != EvidenceOrigin || got.Replicas != 1 {
			t.Errorf("after the failover: got %+v, want 97 to 160", got)
		}
		if err := other.Save(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		stands := got.High
		replica.Restart()
		if got := mustNext(t, replica.Client(t), awaiting("restarted")); got.Low <= stands+rangeGap {
			t.Errorf("after a restart from the disk: got %+v, want more than %d", got, stands+rangeGap)
		}
	})
}
