package allocator

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
)

// Server is one of several masters, each with a prefix, a tag or an interval of numbers of its own, which makes their
// identifiers different whatever each of them loses.
type Server struct {
	// Name is for logs, errors and statistics. Default "server 1", by place.
	Name string
	// Client is not closed by the allocator.
	Client redis.UniversalClient
	// Namespace has to differ between servers that replicate to each other. Default Options.Namespace.
	Namespace string
	// Prefix is the ServerPrefix that the server must report. Default "", which permits any.
	Prefix string
	// MinValue and MaxValue are the interval of numbers that the server must report. Default 0, which permits any. With
	// them NextNumber is served also while a server has not answered yet.
	MinValue, MaxValue int64
}

// NewMulti returns an allocator for several masters, in order of preference, or ErrInvalidOptions or ErrInvalidName. It does
// no I/O. If a server fails, the next one serves the same refill. The failed server is tried again after a back-off, 100 ms
// to 30 s, and preferred again when it recovers. Ranges held from it stay valid. A server whose counter is exhausted has not
// failed: the call returns ErrExhausted.
//
// With the first range, and whenever a server's prefix changes, all reachable servers are described, first the others
// concurrently and then the server itself. That delays the range by two round trips, and by [Options.RefillTimeout] if a
// server hangs. Each server needs a prefix, a tag or an interval. One without is out of use, and the others serve
// (ErrPrefixMissing if none is left). No two servers may have the same prefix and tag unless their intervals are disjoint, be one
// server (two databases of one count as one), or both be the home of identities (ErrPrefixConflict). Before the first identifier
// that is an error of every call. After it, a server in conflict was misconfigured, and is treated like one that fails. No
// identifier is issued with its prefix while the others serve. All servers are checked every 10 s from the first request on, so
// that Stats and the log report one that is down or misconfigured before it is needed.
func NewMulti(servers []Server, opts Options) (*Allocator, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("allocator: %w: no servers", ErrInvalidOptions)
	}
	all := make([]fleet.Config, len(servers))
	names := make(map[string]bool)
	for i, s := range servers {
		fill(&s.Name, fmt.Sprintf("server %d", i+1))
		fill(&s.Namespace, opts.Namespace)
		if names[s.Name] {
			return nil, fmt.Errorf("allocator: %w: two servers are named %q", ErrInvalidOptions, s.Name)
		}
		names[s.Name] = true
		if err := errors.Join(
			checkClient(s.Client),
			prefix.ValidateNamespace(s.Namespace),
			prefix.Server{ServerPrefix: s.Prefix, MinValue: s.MinValue, MaxValue: s.MaxValue}.Validate(),
		); err != nil {
			return nil, fmt.Errorf("allocator: %s: %w", s.Name, err)
		}
		all[i] = fleet.Config{Name: s.Name, Backend: newBackend(s.Client, opts), Namespace: s.Namespace, Prefix: s.Prefix, MinValue: s.MinValue, MaxValue: s.MaxValue}
	}
	return newAllocator(opts, all...), nil
}
