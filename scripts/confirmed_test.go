package scripts

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// A slot moves between two primaries, each with a replica, while ranges are issued. The script and its confirmation go to the
// node that has the keys, including a node that another one redirects to. Both nodes refuse a script with TRYAGAIN while its keys
// are split between them.
func TestConfirmedFollowsASlotThatMoves(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 2, 1)
			client := cluster.Client(t)
			confirmed := Confirmed(client, 1, 30*time.Second)
			// With all its keys there, a script can be served at each end of the move.
			client.HSet(t.Context(), keys.Server, "ServerPrefix", "N/")
			client.HSet(t.Context(), keys.Other, "Value", "1")
			n, last := 0, int64(0)
			next := func() error {
				n++
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got, err := Next(ctx, confirmed, keys, request("token"+strconv.Itoa(n)))
				if err == nil && got.Low <= last { // it jumps: another node is another origin
					t.Errorf("got %d..%d, want it above %d", got.Low, got.High, last)
				}
				if err == nil {
					last = got.High
				}
				return err
			}
			if err := next(); err != nil {
				t.Fatal(err)
			}
			slot := cluster.Slot(keys.Counter)
			from, to := cluster.Nodes[0], cluster.Nodes[1]
			if slot >= 8192 {
				from, to = to, from
			}
			steps := []bool{true, false, false, true, true} // served: before, with one key moved, two, all, and at the new owner
			step := 0
			cluster.Move(slot, from, to, func() {
				err := next()
				if served := err == nil; step < len(steps) && served != steps[step] || !served && !redis.IsTryAgainError(err) {
					t.Errorf("step %d: got %v, want the range or TRYAGAIN", step, err)
				}
				step++
			})
			if err := next(); err != nil || step != len(steps) {
				t.Errorf("got %v after %d steps, want <nil> after %d", err, step, len(steps))
			}

			// Only a replica of the new owner confirms.
			replica := cluster.Nodes[2]
			if to == cluster.Nodes[1] {
				replica = cluster.Nodes[3]
			}
			replica.Pause()
			confirmed = Confirmed(client, 1, 50*time.Millisecond)
			if err := next(); !errors.Is(err, ErrNotDurable) {
				t.Errorf("with its replica stopped: got %v, want ErrNotDurable", err)
			}
			// Through a client of another type WAIT goes to any node, and the other primary counts its own replica.
			wrapped := struct{ redistest.Client }{client}
			confirmed = Confirmed(wrapped, 1, 50*time.Millisecond)
			served := false
			for tries := 0; tries < 100 && !served; tries++ {
				served = next() == nil
			}
			if !served || Confirmable(wrapped) || !Confirmable(client) {
				t.Errorf("got confirmed %v, Confirmable %v for a wrapped client, want true, false", served, Confirmable(wrapped))
			}
			replica.Resume()
		})
	}
}

func TestConfirmedWaitsForTheReplicas(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, primary *redistest.Server) {
		replica := redistest.StartReplica(t, primary)
		client := primary.Client(t)
		confirmed := Confirmed(client, 1, 30*time.Second)
		client.ScriptFlush(t.Context()) // the first request carries the script
		for i := range 3 {
			got, err := Next(t.Context(), confirmed, keys, request("token"+strconv.Itoa(i)))
			if err != nil {
				t.Fatal(err)
			}
			if on := replica.Client(t).HGet(t.Context(), keys.Counter, "Max").Val(); on != strconv.FormatInt(got.High, 10) {
				t.Errorf("got Max %s at the replica, want %d", on, got.High)
			}
		}
		replica.Pause()
		got, err := Next(t.Context(), Confirmed(client, 1, 50*time.Millisecond), keys, request("unconfirmed"))
		if !errors.Is(err, ErrNotDurable) || got != (Range{}) || Answered(err) {
			t.Errorf("with the replica stopped: got %+v, %v, want ErrNotDurable", got, err)
		}
		// The same request finds its range again and must still not count as confirmed. A WAIT on a connection that wrote nothing
		// returns at once.
		other := redistest.NewClient(t, primary)
		if got, err := Next(t.Context(), Confirmed(other, 1, 50*time.Millisecond), keys, request("unconfirmed")); !errors.Is(err, ErrNotDurable) {
			t.Errorf("sent again: got %+v, %v, want ErrNotDurable", got, err)
		}
		replica.Resume()
		if got, err := Next(t.Context(), Confirmed(other, 1, 30*time.Second), keys, request("unconfirmed")); err != nil || got.Low != 97 {
			t.Errorf("with the replica back: got %+v, %v, want 97", got, err)
		}
		if _, err := Next(t.Context(), Confirmed(client, 2, 50*time.Millisecond), keys, request("two")); !errors.Is(err, ErrNotDurable) {
			t.Errorf("more replicas than there are: got %v, want ErrNotDurable", err)
		}
		set(t, client, "Max", "abc")
		if _, err := Next(t.Context(), confirmed, keys, request("corrupt")); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotDurable) {
			t.Errorf("an error of the script: got %v, want ErrCorrupt", err)
		}
	})
}
