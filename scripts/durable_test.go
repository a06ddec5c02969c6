package scripts_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// pair is a primary with one replica that is in sync.
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
			durable := scripts.Durable(client, scripts.Durability{Replicas: 1, Timeout: 2 * time.Second})
			client.ScriptFlush(t.Context()) // the first one carries the script
			for i := range 5 {
				got, err := scripts.Next(t.Context(), durable, keys, request("token"+strconv.Itoa(i)))
				if err != nil {
					t.Fatal(err)
				}
				if on := replica.Client(t).HGet(t.Context(), keys.Counter, "Max").Val(); on != strconv.FormatInt(got.High, 10) {
					t.Errorf("the replica has Max %s, want %d", on, got.High)
				}
			}
			replica.Pause()
			durable = scripts.Durable(client, scripts.Durability{Replicas: 1, Timeout: 50 * time.Millisecond})
			got, err := scripts.Next(t.Context(), durable, keys, request("unconfirmed"))
			if !errors.Is(err, scripts.ErrNotDurable) || got.Low != 161 {
				t.Errorf("with the replica stopped: %+v, %v", got, err)
			}
			// The same request again finds its range, and must still not pass for confirmed: a
			// WAIT on a connection that wrote nothing is answered at once.
			other := redis.NewClient(primary.Options())
			t.Cleanup(func() { _ = other.Close() })
			durable = scripts.Durable(other, scripts.Durability{Replicas: 1, Timeout: 50 * time.Millisecond})
			if got, err := scripts.Next(t.Context(), durable, keys, request("unconfirmed")); !errors.Is(err, scripts.ErrNotDurable) {
				t.Errorf("sent again: %+v, %v", got, err)
			}
			replica.Resume()
			durable = scripts.Durable(other, scripts.Durability{Replicas: 1, Timeout: 5 * time.Second})
			if got, err := scripts.Next(t.Context(), durable, keys, request("unconfirmed")); err != nil || got.Low != 161 {
				t.Errorf("with the replica back: %+v, %v", got, err)
			}
			two := scripts.Durable(client, scripts.Durability{Replicas: 2, Timeout: 50 * time.Millisecond})
			if _, err := scripts.Identity(t.Context(), two, scripts.Keys{Counter: "{Raven}/Identities/x", Server: keys.Server, Other: keys.Server}, identityRequest(1)); !errors.Is(err, scripts.ErrNotDurable) {
				t.Errorf("more replicas than there are: %v", err)
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
				durable := scripts.Durable(s.Client(t), scripts.Durability{Fsync: true, Timeout: 3 * time.Second})
				got, err := scripts.Next(t.Context(), durable, keys, request("one"))
				if aof && knows {
					if err != nil || got.Low != 1 {
						t.Errorf("with AOF: %+v, %v", got, err)
					}
				} else if !errors.Is(err, scripts.ErrNotDurable) || !strings.Contains(err.Error(), "WAITAOF") {
					t.Errorf("AOF %v, known %v: %v", aof, knows, err)
				}
			}
		})
	}
}

// With appendfsync no the server never says that anything is on disk.
func TestDurableBelievesNoDiskThatIsNotSynced(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "no")
			durable := scripts.Durable(s.Client(t), scripts.Durability{Fsync: true, Timeout: 50 * time.Millisecond})
			if got, err := scripts.Next(t.Context(), durable, keys, request("one")); !errors.Is(err, scripts.ErrNotDurable) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestDurableLeavesARefusalAlone(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		set(t, client, "Max", "abc")
		durable := scripts.Durable(client, scripts.Durability{Replicas: 1, Timeout: time.Second})
		if _, err := scripts.Next(t.Context(), durable, keys, request("one")); !errors.Is(err, scripts.ErrCorrupt) || errors.Is(err, scripts.ErrNotDurable) {
			t.Error(err)
		}
	})
}
