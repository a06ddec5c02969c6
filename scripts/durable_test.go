package scripts

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// pair starts a primary and one replica, and waits until they are in sync.
func pair(t *testing.T, b redistest.Binary) (primary, replica *redistest.Server) {
	t.Helper()
	primary = redistest.Start(t, b)
	host, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(primary.URL(), "redis://"), "/0"), ":")
	replica = redistest.Start(t, b, "--replicaof", host+" "+port)
	client := replica.Client(t)
	for !strings.Contains(client.Info(t.Context(), "replication").Val(), "master_link_status:up") {
		<-time.After(10 * time.Millisecond)
	}
	return primary, replica
}

func TestDurableWaitsForTheReplicas(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			primary, replica := pair(t, b)
			client := primary.Client(t)
			durable := Durable(client, Durability{Replicas: 1, Timeout: 2 * time.Second})
			client.ScriptFlush(t.Context()) // the first one carries the script
			for i := range 5 {
				got, err := Next(t.Context(), durable, keys, request("token"+strconv.Itoa(i)))
				if err != nil {
					t.Fatal(err)
				}
				if on := replica.Client(t).HGet(t.Context(), keys.Counter, "Max").Val(); on != strconv.FormatInt(got.High, 10) {
					t.Errorf("the replica has Max %s, want %d", on, got.High)
				}
			}
			replica.Pause()
			durable = Durable(client, Durability{Replicas: 1, Timeout: 50 * time.Millisecond})
			got, err := Next(t.Context(), durable, keys, request("unconfirmed"))
			if !errors.Is(err, ErrNotDurable) || got.Low != 161 {
				t.Errorf("with the replica stopped: got %+v, %v, want 161 and ErrNotDurable", got, err)
			}
			// The same request finds its range again and must still not count as confirmed. A WAIT on a connection that wrote nothing
			// returns at once.
			other := redis.NewClient(redistest.Options(primary))
			t.Cleanup(func() { _ = other.Close() })
			durable = Durable(other, Durability{Replicas: 1, Timeout: 50 * time.Millisecond})
			if got, err := Next(t.Context(), durable, keys, request("unconfirmed")); !errors.Is(err, ErrNotDurable) {
				t.Errorf("sent again: got %+v, %v, want ErrNotDurable", got, err)
			}
			replica.Resume()
			durable = Durable(other, Durability{Replicas: 1, Timeout: 5 * time.Second})
			if got, err := Next(t.Context(), durable, keys, request("unconfirmed")); err != nil || got.Low != 161 {
				t.Errorf("with the replica back: got %+v, %v, want 161", got, err)
			}
			two := Durable(client, Durability{Replicas: 2, Timeout: 50 * time.Millisecond})
			if _, err := Identity(t.Context(), two, Keys{Counter: "{Raven}/Identities/x", Server: keys.Server, Other: keys.Server}, identityRequest(1)); !errors.Is(err, ErrNotDurable) {
				t.Errorf("more replicas than there are: got %v, want ErrNotDurable", err)
			}
		})
	}
}

func TestDurableWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			knows := !strings.HasPrefix(b.Name, "redis-7.0")
			for _, aof := range []bool{true, false} {
				var args []string
				if aof {
					args = []string{"--appendonly", "yes", "--appendfsync", "everysec"}
				}
				s := redistest.Start(t, b, args...)
				durable := Durable(s.Client(t), Durability{Fsync: true, Timeout: 3 * time.Second})
				got, err := Next(t.Context(), durable, keys, request("one"))
				if aof && knows {
					if err != nil || got.Low != 1 {
						t.Errorf("with AOF: got %+v, %v, want 1", got, err)
					}
				} else if !errors.Is(err, ErrNotDurable) || !strings.Contains(err.Error(), "WAITAOF") {
					t.Errorf("AOF %v, WAITAOF known %v: got %v, want ErrNotDurable that names WAITAOF", aof, knows, err)
				}
			}
		})
	}
}

// With appendfsync no the server never confirms that a write is on disk.
func TestDurableFailsWithoutFsync(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "no")
			durable := Durable(s.Client(t), Durability{Fsync: true, Timeout: 50 * time.Millisecond})
			if got, err := Next(t.Context(), durable, keys, request("one")); !errors.Is(err, ErrNotDurable) {
				t.Errorf("got %+v, %v, want ErrNotDurable", got, err)
			}
		})
	}
}

func TestDurableReturnsTheErrorOfTheScript(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		set(t, client, "Max", "abc")
		durable := Durable(client, Durability{Replicas: 1, Timeout: time.Second})
		if _, err := Next(t.Context(), durable, keys, request("one")); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotDurable) {
			t.Error(err)
		}
	})
}
