package faults

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// failoverTo sends FAILOVER to a primary, with the replica that is to replace it and further arguments.
func failoverTo(t *testing.T, primary, replica *redistest.Server, args ...any) {
	t.Helper()
	host, port, _ := net.SplitHostPort(replica.HostPort())
	if err := primary.Client(t).Do(t.Context(), append([]any{"FAILOVER", "TO", host, port}, args...)...).Err(); err != nil {
		t.Fatal(err)
	}
}

// awaitFailoverState waits until a primary reports a state of its failover.
func awaitFailoverState(t *testing.T, s *redistest.Server, want string) {
	t.Helper()
	client := redistest.NewClient(t, s)
	s.Await("to report "+want, func(ctx context.Context) bool { return info(ctx, client, "master_failover_state") == want })
}

// awaitChange waits until a primary has become a replica in sync.
func awaitChange(t *testing.T, old, primary *redistest.Server) {
	t.Helper()
	client, heir := redistest.NewClient(t, old), redistest.NewClient(t, primary)
	old.Await("to follow the other", func(ctx context.Context) bool {
		return info(ctx, client, "role") == "slave" && info(ctx, client, "master_link_status") == "up" && info(ctx, heir, "role") == "master"
	})
}

// force makes a stopped replica replace its primary, which loses everything that was written since the stop.
func force(t *testing.T, primary, replica *redistest.Server) {
	t.Helper()
	failoverTo(t, primary, replica, "FORCE", "TIMEOUT", 50)
	awaitFailoverState(t, primary, "failover-in-progress") // else it would wait for what the replica lacks
	replica.Resume()
	awaitChange(t, primary, replica)
	if err := replica.Client(t).Del(t.Context(), filler).Err(); err != nil {
		t.Fatal(err)
	}
}

// info returns a value of INFO replication, or "" where the server does not answer.
func info(ctx context.Context, client *redis.Client, name string) string {
	text, _ := client.Info(ctx, "replication").Result()
	_, rest, _ := strings.Cut(text, "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// FAILOVER alone waits for the replica, and gives up at its timeout. With FORCE it continues without the writes that the replica
// lacks. Connections to the old primary stay open, and requests that it held back reach a replica.
func TestFailoverBackAndForthUnderLoad(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			primary, replica, address := pair(t, b)
			f.start(4, steady(through(address)))
			for i := range 3 {
				f.awaitTotal(10_000)
				if i%2 == 0 {
					failoverTo(t, primary, replica)
					awaitChange(t, primary, replica)
				} else {
					primary.PauseReplica(replica, filler)
					failoverTo(t, primary, replica, "TIMEOUT", 50)
					awaitFailoverState(t, primary, "no-failover")
					f.awaitEach(200) // more than each has in hand
					f.running()[0].kill()
					force(t, primary, replica)
				}
				address.Move(replica)
				f.start(1, steady(through(address)))
				primary, replica = replica, primary
			}
			f.awaitEach(1000)
		})
	})
}
