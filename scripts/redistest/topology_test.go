package redistest

import (
	"testing"
	"time"
)

func eachBinary(t *testing.T, test func(t *testing.T, b Binary)) {
	t.Helper()
	for _, b := range Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

func TestPauseReplicaStopsReplication(t *testing.T) {
	t.Parallel()
	eachBinary(t, func(t *testing.T, b Binary) {
		primary := Start(t, b)
		replica := StartReplica(t, primary)
		before := replicationID(t.Context(), t, replica.Client(t))
		client := NewClient(t, primary)
		client.Set(t.Context(), "before", "yes", 0)
		client.Wait(t.Context(), 1, 10*time.Second)
		primary.PauseReplica(replica, "filler")
		client.Set(t.Context(), "after", "yes", 0)
		primary.Kill()
		replica.Resume()
		replica.Promote()
		on := replica.Client(t)
		if n, err := on.Exists(t.Context(), "before", "after").Result(); n != 1 || err != nil {
			t.Errorf("the replica has %d of the two keys, %v, want the first alone", n, err)
		}
		if after := replicationID(t.Context(), t, on); after == before {
			t.Error("the promotion left the replication id as it was")
		}
	})
}

func TestChangeReplicationIDChangesIt(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		client := s.Client(t)
		before := replicationID(t.Context(), t, client)
		s.ChangeReplicationID()
		if after := replicationID(t.Context(), t, client); after == before {
			t.Errorf("it is %s as before", after)
		}
	})
}

func TestProxyRedirectsAndTampersWithReplies(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		proxy := NewProxy(t, s)
		client := behind(t, proxy)
		if err := client.Set(t.Context(), "greeting", "a long one", 0).Err(); err != nil {
			t.Fatal(err)
		}
		proxy.Tamper(func(reply []byte) (time.Duration, int) { return time.Millisecond, len(reply) / 2 })
		if got, err := client.Get(t.Context(), "greeting").Result(); err == nil {
			t.Errorf("half a reply was taken for %q", got)
		}
		proxy.Tamper(nil)
		if got, err := client.Get(t.Context(), "greeting").Result(); got != "a long one" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		proxy.Redirect(StartMini(t))
		_ = client.Ping(t.Context()) // may meet the connection that was cut
		if n, err := client.Exists(t.Context(), "greeting").Result(); n != 0 || err != nil {
			t.Errorf("greeting at the other server: got %d keys, %v, want none", n, err)
		}
	})
}
