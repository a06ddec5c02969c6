package allocator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// Close ends the allocator and returns the unused numbers to the server, so that a client that was alone leaves Max at
// the last number it used. Every number was either handed out or is returned, never both, also with callers still
// running; they get ErrClosed from here on.
//
// Close waits for a refill under way and ends with ctx at the latest; then its error says what could not be returned,
// which leaves gaps and harms nothing. What somebody else's range has come after cannot be returned and is no error.
// Called again, it waits for the first call and gives its result.
func (a *Allocator) Close(ctx context.Context) error {
	a.mu.Lock()
	first := !a.closing
	a.closing = true
	if a.standby != nil {
		a.standby.Stop()
	}
	a.callOff()
	a.mu.Unlock()
	if !first {
		select {
		case <-a.closed:
			return a.result
		case <-ctx.Done():
			return fmt.Errorf("allocator: %w", ended(ctx, "close", nil))
		}
	}
	landed := a.shut(ctx)
	if landed {
		a.refills.workers.Wait() // they have nothing left to do
	}
	a.endLines(ctx)
	a.result = a.giveBack(ctx, landed)
	close(a.closed)
	return a.result
}

// aside does what is not to hold up a caller who leaves, and what Close waits for. Once it is closing it does nothing.
func (a *Allocator) aside(do func()) (done chan struct{}) {
	done = make(chan struct{})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		close(done)
		return done
	}
	a.asking.Go(func() {
		defer close(done)
		do()
	})
	return done
}

// endLines waits for requests for identities that are under way, and cancels them when ctx ends first.
func (a *Allocator) endLines(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		a.asking.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		a.lines.Range(func(_, l any) bool {
			l.(*line).abort()
			return true
		})
	}
}

// shut stops refills and waits for those under way. It reports false when ctx ended first.
func (a *Allocator) shut(ctx context.Context) bool {
	var flights []*flight
	a.byName.each(func(c *Collection) {
		if f := c.shut(); f != nil {
			flights = append(flights, f)
		}
	})
	for _, f := range flights {
		select {
		case <-f.done:
		case <-ctx.Done():
			a.byName.each((*Collection).abort)
			return false
		}
	}
	return true
}

// shut lets no refill begin any more. It gives the one under way, if there is one.
func (c *Collection) shut() *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	err := fmt.Errorf("%s: %w", c.name, ErrClosed)
	for _, t := range c.takers {
		t.got <- takeResult{err: err}
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

// giveBack seals every range in hand and returns what was not used, to all servers at once, so that one that hangs
// takes no time from the others.
func (a *Allocator) giveBack(ctx context.Context, landed bool) error {
	left := make([][]leftover, len(a.servers))
	a.byName.each(func(c *Collection) {
		for _, l := range c.seal() {
			left[l.server.index] = append(left[l.server.index], l)
		}
	})
	results := make([][]scripts.Returned, len(a.servers))
	var servers sync.WaitGroup
	for i, s := range a.servers {
		servers.Go(func() { results[i] = s.returnAll(ctx, left[i]) })
	}
	servers.Wait()
	var failed []leftover
	var cause error
	for s, to := range left {
		for i, result := range results[s] {
			to[i].settle(result.OK && result.Err == nil)
			if result.Err != nil {
				failed, cause = append(failed, to[i]), result.Err
			}
		}
	}
	return notReturned(ctx, landed, failed, cause)
}

// returnAll ends with ctx, also where the client does not: what it is told later is not waited for.
func (s *server) returnAll(ctx context.Context, left []leftover) []scripts.Returned {
	if len(left) == 0 {
		return nil
	}
	requests := make([]scripts.ReturnRequest, len(left))
	for i, l := range left {
		requests[i] = l.request
	}
	results := make(chan []scripts.Returned, 1)
	go func() { results <- s.backend.giveBack(ctx, requests) }()
	select {
	case all := <-results:
		return all
	case <-ctx.Done():
	}
	select { // a client that heeds ctx knows more than that
	case all := <-results:
		return all
	case <-time.After(closeGrace):
	}
	all := make([]scripts.Returned, len(left))
	for i := range all {
		all[i].Err = ctx.Err()
	}
	return all
}

// closeGrace is for a client to say itself that its time is over.
const closeGrace = 50 * time.Millisecond

// notReturned is the error of a Close that could not return everything.
func notReturned(ctx context.Context, landed bool, failed []leftover, cause error) error {
	if cause == nil && landed {
		return nil
	}
	const named = 5
	var what []string
	for _, l := range failed[:min(named, len(failed))] {
		what = append(what, l.String())
	}
	text := fmt.Sprintf("close: %d not returned: %s", len(failed), strings.Join(what, ", "))
	if len(failed) > named {
		text += ", …"
	}
	if !landed {
		text += "; a refill was under way, and what it gets is lost"
	}
	if cause == nil {
		cause = ctx.Err()
	}
	err := attemptError(text, cause)
	if ctx.Err() != nil {
		err = ended(ctx, "", err)
	}
	return fmt.Errorf("allocator: %w", err)
}

// settle counts what became of it: returned, or else burnt.
func (l leftover) settle(returned bool) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.c.tally.settling -= l.size()
	if returned {
		l.c.tally.returned += l.size()
	}
}

// seal ends every range in hand.
func (c *Collection) seal() []leftover {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed = true
	spans := c.spans()
	c.cur.Store(none)
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
			left := leftover{c, server, request}
			c.tally.settling += left.size()
			all = append(all, left)
		}
	}
	return all
}

// joined is what goes back to one server. Consecutive ranges go back as one, by the lease of the newest: from its end
// down to the last number that was used. Ranges are consecutive when the newer one begins where the older ends, and
// nothing was written in between, so that nobody was given any, nor a seed set.
func joined(spans []*span, used []int64, from *server) (request scripts.ReturnRequest, ok bool) {
	var newer *span // the oldest one of the request, when all of it is unused
	for i, s := range slices.Backward(spans) {
		switch {
		case s.from.server != from:
			continue
		case !ok:
			request = scripts.ReturnRequest{Token: s.token, Epoch: s.epoch, Written: s.written, End: s.high()}
			ok = true
		case newer == nil || newer.before != s.written || newer.low() != s.high()+1:
			return request, request.Last < request.End
		}
		request.Last = s.base + used[i]
		if newer = s; used[i] > 0 {
			newer = nil
		}
	}
	return request, ok && request.Last < request.End
}
