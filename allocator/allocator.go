package allocator

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
)

// Allocator hands out identifiers of any number of collections. It is safe for
// concurrent use; make one per process and Close it at the end.
type Allocator struct {
	opts    Options
	servers []*server // in order of preference
	start   time.Time // now() counts from here, on the monotonic clock
	refills queue
	served  atomic.Bool // some server has given what an identifier could be made of

	byName registry      // the collections
	told   sync.Map      // askedKey -> *told, of identities that were asked for
	asks   chan struct{} // one element for each of them that is being asked
	types  sync.Map      // reflect.Type -> what Assign knows of it

	mu      sync.Mutex    // guards what follows, and additions to byName; before Collection.mu
	closing bool          // no collection is added any more
	closed  chan struct{} // closed when Close is through
	result  error         // of Close, set before closed is closed
}

// New makes an allocator for one server. It does no I/O, and does not close
// the client. Errors: ErrInvalidOptions.
func New(client redis.UniversalClient, opts Options) (*Allocator, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	if err := usable(client, opts); err != nil {
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
		s.index, s.keys, s.log = i, prefix.NewKeys(s.namespace), opts.Logger
	}
	a := &Allocator{
		opts:    opts,
		servers: servers,
		start:   time.Now(),
		asks:    make(chan struct{}, asksAtOnce),
		closed:  make(chan struct{}),
	}
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

// NextNumber is Collection(collection) and its NextNumber. ErrPrefixed with more
// than one server.
func (a *Allocator) NextNumber(ctx context.Context, collection string) (int64, error) {
	c, err := a.Collection(collection)
	if err != nil {
		return 0, err
	}
	return c.NextNumber(ctx)
}

// Collection is the collection of that name, the same one each time. Names
// that differ in letter case share a counter in Redis and keep their spelling
// in the identifiers. It does no I/O. Errors: ErrInvalidName, ErrClosed.
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
		c.counter = a.collection(folded)
	} else {
		c.counter, c.taught = c, make([]taught, len(a.servers))
	}
	a.byName.add(c)
	return c
}

// now is the time since the allocator was made.
func (a *Allocator) now() time.Duration { return time.Since(a.start) }

// horizon is for how long numbers are held: the Runway, and what it takes at
// worst to notice that the server is back: an attempt that is under way when
// it comes back and fails, and the wait after it.
func (a *Allocator) horizon() time.Duration {
	return a.opts.Runway + a.opts.attemptTimeout() + longestBackoff
}
