package scripts

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextMatchesTheVectors(t *testing.T) {
	t.Parallel()
	type row struct {
		Max                        *string
		Floor, Capacity, Low, High string
	}
	rows := vectors[row](t, "next.json")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, row := range rows {
			client.Del(t.Context(), keys.Counter)
			if row.Max != nil {
				set(t, client, "Max", *row.Max)
			}
			r := request("token")
			r.Capacity, r.Floor = number(t, row.Capacity), number(t, row.Floor)
			wantRange(t, mustNext(t, client, r), number(t, row.Low), number(t, row.High))
			wantStored(t, client, "Max", row.High)
		}
	})
}

func TestNextKeepsTheBookkeeping(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		r := request("one")
		r.Name = "Orders"
		mustNext(t, client, r)
		r.Token, r.Name, r.Capacity = "two", "orders", 64
		got := mustNext(t, client, r)
		wantRange(t, got, 33, 96)
		if got.Issued != 96 || got.Seconds < 1 || got.Jump != 0 || got.Evidence != "" || got.Epoch != 0 {
			t.Errorf("got %+v, want 96 issued and no jump", got)
		}
		for field, want := range map[string]string{
			"Max": "96", "Low": "33", "Lease": "two", "Ranges": "2", "Name": "Orders", "Issued": "96", "Epoch": "",
		} {
			wantStored(t, client, field, want)
		}
		if len(stored(t, client)["Origin"]) != 40 {
			t.Errorf("got Origin %q, want a replication id", stored(t, client)["Origin"])
		}
		if ttl := client.TTL(t.Context(), keys.Counter).Val(); ttl != -1 {
			t.Errorf("got a TTL of %v, want none", ttl)
		}
	})
}

// A script spends most of its time in the commands that it calls.
func TestNextCallsAsFewCommandsAsPossible(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("one"))
		client.ConfigResetStat(t.Context())
		mustNext(t, client, request("two"))
		said := client.Info(t.Context(), "commandstats").Val()
		for _, calls := range []string{"hmget:calls=2,", "exists:calls=1,", "info:calls=1,", "time:calls=1,"} {
			if !strings.Contains(said, "cmdstat_"+calls) {
				t.Errorf("got %s, want %s", said, calls)
			}
		}
	})
}

func TestNextReturnsPrefixAndTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), keys.Server, "ServerPrefix", "NorthServer/", "NodeTag", "A")
		if got := mustNext(t, client, request("one")); got.Prefix != "NorthServer/" || got.Tag != "A" {
			t.Errorf("got prefix %q and tag %q, want NorthServer/ and A", got.Prefix, got.Tag)
		}
	})
}
