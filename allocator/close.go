package allocator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hilo-id/hilo/scripts"
)

// Close ends the allocator and returns the unused numbers to the server, so
// that a client that was alone leaves Max at the last number it used. Every
// number was either handed out or is returned, never both, also with callers
// still running; they get ErrClosed from here on.
//
// Close waits for a refill under way and ends with ctx at the latest; then its
// error says what could not be returned, which leaves gaps and harms nothing.
// What somebody else's range has come after cannot be returned and is no
// error. Called again, it waits for the first call and gives its result.
func (a *Allocator) Close(ctx context.Context) error {
	a.mu.Lock()
	first := !a.closing
	a.closing = true
	a.mu.Unlock()
	if !first {
		select {
		case <-a.closed:
			return a.result
		case <-ctx.Done():
			return fmt.Errorf("allocator: close: %w", ctx.Err())
		}
	}
	if landed := a.shut(ctx); landed {
		a.refills.workers.Wait() // they have nothing left to do
	}
	a.result = a.giveBack(ctx)
	close(a.closed)
	return a.result
}

// shut stops refills and waits for those under way. It reports false when ctx
// ended first.
func (a *Allocator) shut(ctx context.Context) bool {
	var flights []*flight
	a.collections(func(c *Collection) {
		if f := c.shut(); f != nil {
			flights = append(flights, f)
		}
	})
	for _, f := range flights {
		select {
		case <-f.done:
		case <-ctx.Done():
			a.collections((*Collection).abort)
			return false
		}
	}
	return true
}

// shut lets no refill begin any more. It gives the one under way, if there is
// one.
func (c *Collection) shut() *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	err := fmt.Errorf("%s: %w", c.name, ErrClosed)
	for _, t := range c.takers {
		t.got <- taken{err: err}
	}
	c.takers = nil
	if f := c.flight; f != nil && f.timer != nil && f.timer.Stop() {
		c.land(err) // it was waiting for a back-off to pass
	}
	return c.flight
}

// abort cancels the attempt under way, if there is one.
func (c *Collection) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight != nil && c.flight.cancel != nil {
		c.flight.cancel()
	}
}

// leftover is what one collection gives back to one server.
type leftover struct {
	c       *Collection
	server  *server
	request scripts.ReturnRequest
}

func (l leftover) size() int64 { return l.request.End - l.request.Last }

func (l leftover) String() string {
	return fmt.Sprintf("%s %d..%d", l.server.on(l.c.name), l.request.Last+1, l.request.End)
}

// giveBack seals every range in hand and returns what was not used.
func (a *Allocator) giveBack(ctx context.Context) error {
	left := make([][]leftover, len(a.servers))
	a.collections(func(c *Collection) {
		for _, l := range c.seal() {
			left[l.server.index] = append(left[l.server.index], l)
		}
	})
	var failed []string
	var cause error
	for i, s := range a.servers {
		requests := make([]scripts.ReturnRequest, len(left[i]))
		for j, l := range left[i] {
			requests[j] = l.request
		}
		for j, result := range s.backend.giveBack(ctx, requests) {
			l := left[i][j]
			if result.Err != nil {
				failed = append(failed, l.String())
				cause = result.Err
			} else if result.OK {
				l.c.mu.Lock()
				l.c.tally.returned += l.size()
				l.c.mu.Unlock()
			}
		}
	}
	if cause == nil {
		return nil
	}
	const named = 5
	what := fmt.Sprintf("%d not returned: %s", len(failed), strings.Join(failed[:min(named, len(failed))], ", "))
	if len(failed) > named {
		what += ", …"
	}
	err := attemptError("close: "+what, cause)
	if ctx.Err() != nil {
		err = ended(ctx, "", err)
	}
	return fmt.Errorf("allocator: %w", err)
}

// seal ends every range in hand.
func (c *Collection) seal() []leftover {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := c.spans()
	c.cur.Store(nil)
	c.ahead = nil
	used := make([]int64, len(spans))
	for i, s := range spans {
		used[i] = s.seal()
		c.tally.used += used[i]
	}
	var all []leftover
	for _, server := range c.a.servers {
		if request, ok := joined(spans, used, server); ok {
			request.Counter = server.keys.HiLo(c.name)
			all = append(all, leftover{c, server, request})
		}
	}
	return all
}

// joined is what goes back to one server. Consecutive ranges go back as one, by
// the lease of the newest: from its end down to the last number that was used.
// What is before a gap stays: the numbers in the gap may be somebody else's.
func joined(spans []*span, used []int64, from *server) (request scripts.ReturnRequest, ok bool) {
	joins := true // everything from request.Last+1 on is unused, and an older range may lengthen it
	for i, s := range slices.Backward(spans) {
		switch {
		case s.from.server != from:
			continue
		case !ok:
			request = scripts.ReturnRequest{Token: s.token, Epoch: s.epoch, End: s.high()}
			ok = true
		case s.high() != request.Last || s.epoch != request.Epoch:
			joins = false
		}
		if !joins {
			break
		}
		request.Last = s.base + used[i]
		joins = used[i] == 0
	}
	return request, ok && request.Last < request.End
}
