package allocator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Allocator issues identifiers of any number of collections. It is safe for concurrent use. Make one per process and Close
// it at the end.
type Allocator struct {
	shared
	// byName has the collections. types has the *entityType of each reflect.Type that Assign has seen.
	byName registry
	types  sync.Map

	// mu guards what follows, and additions to byName.
	mu sync.Mutex
	// closing reports that Close was called.
	closing bool
	// closed is closed when Close has ended. result is what Close returned, set before that.
	closed chan struct{}
	result error
}

// New returns an allocator for one server, or ErrInvalidOptions. It does no I/O, and does not close the client. The hooks of a
// *redis.Client are called if its ContextTimeoutEnabled is set. Otherwise a client made by its WithTimeout is used, which has no
// hooks.
func New(client redis.UniversalClient, opts Options) (*Allocator, error) {
	opts, err := opts.withDefaults()
	if err == nil {
		err = checkClient(client)
	}
	if err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	return newAllocator(opts, fleet.Config{Backend: newBackend(client, opts), Namespace: opts.Namespace}), nil
}

// checkClient returns ErrInvalidOptions for a client that cannot be used.
func checkClient(client redis.UniversalClient) error {
	if err := scripts.CheckClient(client); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidOptions, err)
	}
	return nil
}

func newBackend(client redis.UniversalClient, o Options) fleet.Backend {
	return fleet.NewBackend(scripts.Prepare(client, o.RefillTimeout))
}

func newAllocator(opts Options, servers ...fleet.Config) *Allocator {
	a := &Allocator{closed: make(chan struct{}), shared: shared{
		opts:        opts,
		horizon:     opts.Runway + opts.RefillTimeout + fleet.MaxBackoff,
		refillSlots: make(chan struct{}, maxRefills),
	}}
	a.fleet = fleet.New(servers, fleet.Options{
		AttemptTimeout:     opts.RefillTimeout,
		IdentitiesAnywhere: opts.FreeIdentityAnywhere,
		Logger:             opts.Logger,
		Recovered:          a.retryRefills,
		NameServer:         func(server string, err error) error { return &ServerError{Server: server, err: err} },
	})
	return a
}

// Next issues the next identifier of a collection as text, as Collection.Next does.
func (a *Allocator) Next(ctx context.Context, collection string) (string, error) {
	c, err := a.Collection(collection)
	if err != nil {
		return "", err
	}
	return c.Next(ctx)
}

// NextID issues the next identifier of a collection in its parts, as Collection.NextID does.
func (a *Allocator) NextID(ctx context.Context, collection string) (prefix.ID, error) {
	c, err := a.Collection(collection)
	if err != nil {
		return prefix.ID{}, err
	}
	return c.NextID(ctx)
}

// NextNumber issues the next number of a collection alone, as Collection.NextNumber does. With more than one server it returns
// ErrPrefixed unless their intervals are disjoint.
func (a *Allocator) NextNumber(ctx context.Context, collection string) (int64, error) {
	c, err := a.Collection(collection)
	if err != nil {
		return 0, err
	}
	return c.NextNumber(ctx)
}

// Collection returns the collection of that name, the same one each time, or ErrInvalidName or ErrClosed. Names that differ
// in letter case share a counter in Redis and keep their spelling in the identifiers. It does no I/O.
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
	if c, ok := a.byName.find(name); ok { // added meanwhile
		return c, nil
	}
	c := &Collection{a: &a.shared, name: name, several: len(a.fleet.Servers()) > 1}
	c.cur.Store(none)
	a.byName.add(c)
	return c, nil
}

// Warm fetches a range for each collection, so that the first identifiers of a service do not wait for Redis. Up to 32
// requests are in flight at a time. Collections with numbers in hand cost nothing.
//
// The error names each collection that has no range, and why, with the errors of Collection and its methods. If ctx ends
// first, that is the error of those that still wait, and their ranges may come later. Close returns what is not used.
func (a *Allocator) Warm(ctx context.Context, collections ...string) error {
	var failures []error
	var cold []*Collection
	for _, name := range collections {
		c, err := a.Collection(name)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		cold = append(cold, c)
		_, _ = c.refillOrAdvance() // wait returns its error
	}
	for _, c := range cold {
		for !c.inHand() {
			if err := c.wait(ctx); err != nil {
				failures = append(failures, fmt.Errorf("allocator: %w", err))
				break
			}
		}
	}
	return errors.Join(failures...)
}

// retryRefills starts a refill of each collection whose latest one failed for lack of a server, and returns how many it
// started.
func (a *Allocator) retryRefills() (started int) {
	a.byName.each(func(c *Collection) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.failed != nil && !failure.Refused(c.failed) && !c.closed && c.refill == nil {
			c.startRefill(a.fleet.Now())
			started++
		}
	})
	return started
}
