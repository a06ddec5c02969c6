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
func TestDurableFollowsASlotThatMoves(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 2, 1)
			client := cluster.Client(t)
			durable := Durable(client, Durability{Replicas: 1, Timeout: 5 * time.Second})
			// With all its keys there, a script can be served at each end of the move.
			client.HSet(t.Context(), keys.Server, "ServerPrefix", "N/")
			client.HSet(t.Context(), keys.Other, "Value", "1")
			n, last := 0, int64(0)
			next := func() error {
				n++
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				got, err := Next(ctx, durable, keys, request("token"+strconv.Itoa(n)))
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
			durable = Durable(client, Durability{Replicas: 1, Timeout: 50 * time.Millisecond})
			if err := next(); !errors.Is(err, ErrNotDurable) {
				t.Errorf("with its replica stopped: got %v, want ErrNotDurable", err)
			}
			// Through a client of another type WAIT goes to any node, and the other primary counts its own replica.
			wrapped := struct{ redistest.Client }{client}
			durable = Durable(wrapped, Durability{Replicas: 1, Timeout: 50 * time.Millisecond})
			confirmed := false
			for tries := 0; tries < 100 && !confirmed; tries++ {
				confirmed = next() == nil
			}
			if !confirmed || Confirmable(wrapped) || !Confirmable(client) {
				t.Errorf("got confirmed %v, Confirmable %v for a wrapped client, want true, false", confirmed, Confirmable(wrapped))
			}
			replica.Resume()
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
			client.HSet(t.Context(), keys.Server, "Durable", "always")
			client.HSet(t.Context(), keys.Counter, "Max", 32, "Origin", anotherOrigin)
			got, err := Next(t.Context(), client, keys, request("one"))
			if err != nil || got.Durable != DurableCluster || got.Evidence != EvidenceOrigin {
				t.Errorf("got %+v and %v, want Durable cluster and a jump for origin", got, err)
			}
			if there := client.HExists(t.Context(), keys.Server, "Durable").Val(); there {
				t.Error("Durable: got it, want it removed")
			}
		})
	}
}
