package allocator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// warmTogether bounds the collections whose ranges are asked for in one pipeline.
const warmTogether = 1000

// Warm has a range in hand for each collection, so that the first identifiers of a service do not wait for Redis. It
// asks for those of 1,000 collections in two round trips, and for nothing where numbers are in hand. Collections whose
// range did not come so, because the server is away or refuses, and all where Options.Durability asks for a
// confirmation of each, are asked for one by one, at the other servers too.
//
// Its error names each collection that has none, and why; the others have theirs. When ctx ends first that is the error
// of those that still wait, and their ranges may come later. What is not used goes back with Close. Errors: as
// Collection's and those of its methods.
func (a *Allocator) Warm(ctx context.Context, collections ...string) error {
	var failures []error
	var cold []*Collection
	seen := make(map[*Collection]bool, len(collections))
	for _, name := range collections {
		c, err := a.Collection(name)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if !seen[c] {
			seen[c] = true
			cold = append(cold, c)
		}
	}
	slices.SortStableFunc(cold, func(c, d *Collection) int { return cmp.Compare(prefix.Fold(c.name), prefix.Fold(d.name)) })
	if !a.opts.Durability.wanted() {
		for some := range slices.Chunk(cold, warmTogether) {
			a.warmTogether(ctx, some)
		}
	}
	for _, c := range cold { // side by side, as the queue allows
		_, _ = c.refillOrAdvance() // its error comes again
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

// warmTogether asks for ranges of collections, which are in the order of their counters, in one pipeline to the server
// that is asked first.
func (a *Allocator) warmTogether(ctx context.Context, some []*Collection) {
	now := a.now()
	i := slices.IndexFunc(a.servers, func(s *server) bool { return !s.isLeft(now) })
	if i < 0 {
		return
	}
	select { // a caller who leaves harms nobody
	case <-a.aside(func() { a.refillTogether(a.servers[i], some) }): //nolint:contextcheck // see above
	case <-ctx.Done():
	}
}

// refillTogether is refill of many collections at one server. Those that another server may help with are left to
// refill.
//
// It holds the counters of all of them at once. Whoever holds several takes them in one order, and nobody who holds one
// waits for a flight; so all come to an end.
func (a *Allocator) refillTogether(s *server, some []*Collection) {
	uncalled, callOff := context.WithCancel(context.Background())
	defer callOff()
	var claimed []*Collection
	var sent []inquiry
	var keys []scripts.Keys
	var requests []scripts.NextRequest
	for _, c := range some {
		if len(claimed) > 0 && claimed[len(claimed)-1].counter == c.counter || !c.claim() {
			continue // one request for a counter at a time
		}
		c.counter.asking.Lock()
		inquiry, err := c.prepare(uncalled, callOff, s, len(a.servers) == 1)
		if err != nil {
			c.counter.asking.Unlock()
			c.settled(nil, err)
			continue
		}
		claimed, sent = append(claimed, c), append(sent, inquiry)
		keys, requests = append(keys, s.keysOf(c.name)), append(requests, inquiry.request)
	}
	if len(claimed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(uncalled, a.opts.attemptTimeout())
	defer cancel()
	began := a.now()
	got, errs := s.backend.nextAll(ctx, keys, requests)
	for i, c := range claimed {
		made, err := c.settle(s, sent[i], began, got[i], errs[i])
		c.counter.asking.Unlock()
		c.settled(made, err)
	}
}

// claim begins a flight for a collection that has nothing in hand and none under way.
func (c *Collection) claim() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.flight != nil || c.advance(c.a.now()) {
		return false
	}
	c.flight = &flight{done: make(chan struct{})}
	return true
}

// settled ends a flight, or has it go on at other servers.
func (c *Collection) settled(made *span, err error) {
	if err != nil && anotherMayHelp(err) {
		c.a.refills.push(c)
		return
	}
	c.end(made, err)
}
