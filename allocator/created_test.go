package allocator

import (
	"slices"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestFirstClientOfACounterLogsThatItIsNew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), "{Raven}/HiLo/byhand", "Max", 1_004_000)
		client.HSet(t.Context(), "{Raven}/Identities/people", "Value", 1_000_007)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "MinValue", 1_000_001, "ServerPrefix", "N/", "Identities", "here")
		core, logs := observer.New(zap.InfoLevel)
		created := func() (keys []string) {
			for _, line := range logs.TakeAll() {
				if line.Message == "counter created" {
					keys = append(keys, line.ContextMap()["key"].(string))
				}
			}
			return keys
		}
		for i, want := range [][]string{{"{Raven}/HiLo/orders", "{Raven}/Identities/companies", "{Raven}/ServerSide"}, nil} {
			a := mustNew(t, redistest.NewClient(t, s), Options{Logger: zap.New(core), MinCapacity: 1, MaxCapacity: 1})
			for _, id := range []string{"orders", "orders", "byhand", "companies|", "people|", "companies|", "invoices/"} {
				var err error
				if id == "orders" || id == "byhand" {
					_, err = a.Next(t.Context(), id)
				} else {
					_, err = a.Resolve(t.Context(), id)
				}
				if err != nil {
					t.Fatalf("%s: %v", id, err)
				}
			}
			mustClose(t, a)
			if got := created(); !slices.Equal(got, want) {
				t.Errorf("client %d: got new counters %q, want %q", i, got, want)
			}
		}
	})
}
