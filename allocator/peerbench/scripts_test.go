package peerbench_test

import (
	"context"
	"maps"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestTenMillionIdentifiersTakeThirtySixScripts(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		const (
			identifiers = 10_000_000
			most        = 36
		)
		client := redistest.NewClient(t, s)
		sent := new(sentCommands)
		client.AddHook(sent)
		ids, err := allocator.New(client, allocator.Options{})
		if err != nil {
			t.Fatal(err)
		}
		orders, err := ids.Collection(collectionName)
		if err != nil {
			t.Fatal(err)
		}
		for want := int64(1); want <= identifiers; want++ {
			number, err := orders.NextNumber(t.Context())
			if err != nil || number != want {
				t.Fatalf("NextNumber gave %d, %v, want %d", number, err, want)
			}
		}
		// The counting ends here, though a range may be in flight. Close waits for it.
		if err := ids.Close(t.Context()); err != nil {
			t.Fatal(err)
		}

		byName, dials := sent.count()
		t.Logf("%d identifiers took %v on %d connections", identifiers, byName, dials)
		if got := byName["evalsha"]; got > most { // an eval follows one that did not run: the server did not know it yet
			t.Errorf("%d scripts ran, want at most %d", got, most)
		}
		perConnection := map[string]int{"hello": 1, "client": 3} // what go-redis sends on each new one
		for name, n := range byName {
			if name != "evalsha" && name != "eval" && n > perConnection[name]*dials {
				t.Errorf("%q was sent %d times on %d connections, want scripts and nothing else", name, n, dials)
			}
		}
		// The server must have counted the same commands as the client.
		stats := commandStats(t.Context(), t, client)
		if got, want := stats["evalsha"].calls+stats["eval"].calls, byName["evalsha"]+byName["eval"]; got != int64(want) {
			t.Errorf("the server counts %d scripts, want %d", got, want)
		}
	})
}

// sentCommands is a hook that counts what a client sends.
type sentCommands struct {
	mu     sync.Mutex // guards what follows
	byName map[string]int
	trips  int // of commands, where a pipeline is one
	dials  int
}

func (s *sentCommands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		s.mu.Lock()
		s.dials++
		s.mu.Unlock()
		return next(ctx, network, addr)
	}
}

func (s *sentCommands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.add(cmd)
		return next(ctx, cmd)
	}
}

func (s *sentCommands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		s.add(cmds...)
		return next(ctx, cmds)
	}
}

func (s *sentCommands) add(cmds ...redis.Cmder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = make(map[string]int)
	}
	s.trips++
	for _, cmd := range cmds {
		s.byName[cmd.Name()]++
	}
}

func (s *sentCommands) count() (byName map[string]int, dials int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.byName), s.dials
}

func (s *sentCommands) roundTrips() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trips
}
