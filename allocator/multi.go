package allocator

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Server is one of several masters, each with a prefix or tag of its own, which makes their identifiers different
// whatever each of them loses.
type Server struct {
	// Name is for logs, errors and statistics. Default "server 1", by place.
	Name string
	// Client is not closed by the allocator.
	Client redis.UniversalClient
	// Namespace has to differ between servers that replicate to each other. Default Options.Namespace.
	Namespace string
	// Prefix is what the server's key has to say as ServerPrefix. Default "": whatever it says.
	Prefix string
}

// NewMulti makes an allocator for several masters, in order of preference. A server that fails is left for the next one
// within the same refill, tried again after a back-off, 100 ms to 30 s, and preferred again when it is back; ranges
// held from it stay valid.
//
// It does no I/O. With the first range, and whenever a server's prefix changes, all servers that can be reached are
// asked what they say of themselves, the others side by side and then the one itself. That delays the range by two round
// trips, and by Options.RefillTimeout where one hangs. So it is known before the first identifier that two of them have
// the same prefix and tag, are one (two databases of one too), or are both the home of identities (ErrPrefixConflict), or
// that one has neither prefix nor tag (ErrPrefixMissing).
// After the first identifier a server that is found so is left like one that fails: it was emptied, or set wrong, and no
// identifier is made with what it adds; the others serve on. All servers are asked every 10 s, so that
// Stats and the log say that one is away, or set wrong, before it is needed.
//
// Errors: ErrInvalidOptions, ErrInvalidName.
func NewMulti(servers []Server, opts Options) (*Allocator, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("allocator: %w: no servers", ErrInvalidOptions)
	}
	all := make([]*server, len(servers))
	names := make(map[string]bool)
	for i, s := range servers {
		fill(&s.Name, fmt.Sprintf("server %d", i+1))
		fill(&s.Namespace, opts.Namespace)
		if names[s.Name] {
			return nil, fmt.Errorf("allocator: %w: two servers are named %q", ErrInvalidOptions, s.Name)
		}
		names[s.Name] = true
		if err := s.validate(opts.Durability); err != nil {
			return nil, fmt.Errorf("allocator: %s: %w", s.Name, err)
		}
		all[i] = &server{
			name:      s.Name,
			backend:   newBackend(s.Client, opts),
			namespace: s.Namespace,
			pinned:    s.Prefix,
			longest:   longestBackoffOfMany,
		}
	}
	if len(all) == 1 {
		all[0].longest = longestBackoff
	}
	return newAllocator(opts, all...), nil
}

func (s Server) validate(d Durability) error {
	return errors.Join(
		usable(s.Client, d),
		prefix.ValidateNamespace(s.Namespace),
		prefix.Server{ServerPrefix: s.Prefix}.Validate(),
	)
}

// usable refuses clients that cannot do what is asked of them.
func usable(client redis.UniversalClient, d Durability) error {
	if client == nil {
		return fmt.Errorf("%w: the client is nil", ErrInvalidOptions)
	}
	if _, ring := client.(*redis.Ring); ring {
		return fmt.Errorf("%w: the client is a *redis.Ring, which leads a key to another shard when its own is away, where the counter begins anew; "+
			"take a client of one server, a failover client or a cluster client", ErrInvalidOptions)
	}
	if d.wanted() && !scripts.Confirmable(client) {
		return fmt.Errorf("%w: Durability takes a *redis.Client or a *redis.ClusterClient itself, and the client is a %T, which may ask another server "+
			"than the one that wrote", ErrInvalidOptions, client)
	}
	return nil
}
