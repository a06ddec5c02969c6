package allocator

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/memory"
	"github.com/hilo-id/hilo/prefix"
)

// Allocator hands out identifiers of any number of collections. It is safe for concurrent use; make one per process and
// Close it at the end.
type Allocator struct {
	opts Options
	// servers are in order of preference.
	servers []*server
	// now() counts from start, on the monotonic clock.
	start   time.Time
	refills queue
	// background is of what no caller waits for alone. Close calls it off.
	background context.Context //nolint:containedctx // it lives as long as the allocator
	callOff    context.CancelFunc
	// served says that several servers were found to be set right, and may give identifiers.
	served atomic.Bool

	// byName has the collections. types has what Assign knows of a type, by reflect.Type.
	byName registry
	// lines has the *line of each identity that was asked for, by lineKey.
	lines sync.Map
	types sync.Map

	// searching guards search, the asking for the home of identities that is under way; nil: there is none. It is taken
	// before mu.
	searching sync.Mutex
	search    *check

	// mu guards what follows, and additions to byName. It is taken before Collection.mu.
	mu sync.Mutex
	// closing says that no collection is added any more, and nothing is asked any more.
	closing bool
	// asking counts the goroutines of lines and standbys. It is added to only while closing is false.
	asking sync.WaitGroup
	// standby is when the servers are asked about; nil: nobody needs to.
	standby *time.Timer
	// closed is closed when Close is through. result is what Close returned, set before that.
	closed chan struct{}
	result error
}

// New makes an allocator for one server. It does no I/O, and does not close the client. The hooks of a *redis.Client are
// called where its ContextTimeoutEnabled is set and Options.Durability is not: else one made by its WithTimeout is used,
// which go-redis leaves hooks out of. Errors: ErrInvalidOptions.
func New(client redis.UniversalClient, opts Options) (*Allocator, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	if err := usable(client, opts.Durability); err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	return newAllocator(opts, &server{
		backend:   newBackend(client, opts),
		namespace: opts.Namespace,
		longest:   longestBackoff,
	}), nil
}

func newAllocator(opts Options, servers ...*server) *Allocator {
	for i, s := range servers {
		s.index, s.keys, s.log, s.asks = i, prefix.NewKeys(s.namespace), opts.Logger, make(chan struct{}, asksAtOnce)
	}
	a := &Allocator{
		opts:    opts,
		servers: servers,
		start:   time.Now(),
		closed:  make(chan struct{}),
	}
	a.background, a.callOff = context.WithCancel(context.Background())
	a.refills.run = a.refill
	return a
}

// Next is Collection(collection) and its Next.
func (a *Allocator) Next(ctx context.Context, collection string) (string, error) {
	c, err := a.Collection(collection)
	if err != nil {
		return "", err
	}
	return c.Next(ctx)
}

// NextID is Collection(collection) and its NextID.
func (a *Allocator) NextID(ctx context.Context, collection string) (prefix.ID, error) {
	c, err := a.Collection(collection)
	if err != nil {
		return prefix.ID{}, err
	}
	return c.NextID(ctx)
}

// NextNumber is Collection(collection) and its NextNumber. ErrPrefixed with more than one server.
func (a *Allocator) NextNumber(ctx context.Context, collection string) (int64, error) {
	c, err := a.Collection(collection)
	if err != nil {
		return 0, err
	}
	return c.NextNumber(ctx)
}

// Collection is the collection of that name, the same one each time. Names that differ in letter case share a counter
// in Redis and keep their spelling in the identifiers. It does no I/O. Errors: ErrInvalidName, ErrClosed.
func (a *Allocator) Collection(name string) (*Collection, error) {
	if c, ok := a.byName.find(name); ok {
		return c, nil
	}
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return nil, fmt.Errorf("allocator: %s: %w", name, ErrClosed)
	}
	return a.collection(name), nil
}

// collection finds or adds one, with mu held.
func (a *Allocator) collection(name string) *Collection {
	if c, ok := a.byName.find(name); ok {
		return c
	}
	c := &Collection{a: a, name: name, several: len(a.servers) > 1}
	c.cur.Store(none)
	if folded := prefix.Fold(name); folded != name {
		c.counter = a.collection(folded).counter
	} else {
		c.counter = &counter{told: make([]memory.Counter, len(a.servers))}
	}
	a.byName.add(c)
	return c
}

// now is the time since the allocator was made.
func (a *Allocator) now() time.Duration { return time.Since(a.start) }

// horizon is for how long numbers are held: the Runway, and what it takes at worst to notice that the server is back:
// an attempt that is under way when it comes back and fails, and the wait after it.
func (a *Allocator) horizon() time.Duration {
	return a.opts.Runway + a.opts.attemptTimeout() + longestBackoff
}
