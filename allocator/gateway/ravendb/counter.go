package ravendb

import (
	"context"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// counter is a counter of either kind that clients used.
type counter struct {
	space *namespace
	name  string
	keys  scripts.Keys
	// seeding is held by a seed of an identity, and shared by requests for its values: the state that a forced seed read stands
	// until it acts, unless others use the identity.
	seeding sync.RWMutex

	// What follows is for ranges of a collection.
	ends ends // guarded by ranges.mu

	// turn holds one element while a request is in flight, which guards what follows. Each request needs what is known of the
	// ranges before it.
	turn chan struct{}
	// failed is the latest failure of the server, at failedAt.
	failed   error
	failedAt time.Time
}

// ends is what is known of the ends of a counter's ranges.
type ends struct {
	// ambiguous is the greatest end that a range without an entry may have. top and count are the greatest end and the
	// number of ranges as of the newest reply.
	ambiguous, top, count int64
}

// locked calls do when no other request for the counter is in flight. If one fails while this one waits for it, this one
// fails too, so that a queue does not wait for a server one by one.
func (c *counter) locked(ctx context.Context, do func() error) error {
	began := time.Now()
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.failed != nil && c.failedAt.After(began) {
		return c.failed
	}
	err := do()
	if err != nil && !refused(err) {
		c.failed, c.failedAt = err, time.Now()
	}
	return err
}

// floor returns the greatest number that the counter issued to this gateway.
func (c *counter) floor() int64 { return c.space.server.Marks(fleet.Range, c.name).Floor }
