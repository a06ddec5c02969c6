package allocator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// Close ends the allocator and returns the unused numbers to the server, so that a client that was alone leaves Max at
// the last number it used. Every number was either issued or is returned, never both, even with callers still running.
// They receive ErrClosed from then on.
//
// Close waits for a refill in flight and ends with ctx at the latest. Its error then names what could not be returned,
// which leaves gaps and is otherwise harmless. A range that another client's range follows cannot be returned, and that is
// no error. A second call waits for the first and returns its result.
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
			return fmt.Errorf("allocator: %w", failure.Ended(ctx, "close", nil))
		}
	}
	a.fleet.Close()
	ended := a.shut(ctx)
	if ended {
		a.refilling.Wait() // they have nothing left to do
	}
	a.awaitBackground(ctx)
	a.result = a.returnUnused(ctx, ended)
	close(a.closed)
	return a.result
}

// awaitBackground waits for requests for identities in flight and for checks of servers. If ctx ends first, it cancels the
// requests.
func (a *Allocator) awaitBackground(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		a.fleet.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		a.fleet.Abort()
	}
}

// shut stops refills and waits for those in flight. It reports false if ctx ended first.
func (a *Allocator) shut(ctx context.Context) bool {
	var refills []*refill
	a.byName.each(func(c *Collection) {
		if f := c.shut(); f != nil {
			refills = append(refills, f)
		}
	})
	for _, f := range refills {
		select {
		case <-f.done:
		case <-ctx.Done():
			a.fleet.Abort()
			return false
		}
	}
	return true
}

// shut prevents further refills and returns the one in flight, or nil.
func (c *Collection) shut() *refill {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	err := fmt.Errorf("%s: %w", c.name, ErrClosed)
	for _, t := range c.waiters {
		t.got <- result{err: err}
	}
	c.waiters = nil
	if f := c.refill; f != nil && f.timer.Stop() {
		c.finishRefill(err) // it has not begun
	}
	return c.refill
}

// leftover is what one collection returns to one server. err is why that failed.
type leftover struct {
	c       *Collection
	server  *fleet.Server
	request scripts.ReturnRequest
	err     error
}

func (l *leftover) size() int64 { return l.request.End - l.request.Last }

func (l *leftover) String() string {
	return fmt.Sprintf("%s %d..%d", l.server.On(l.c.name), l.request.Last+1, l.request.End)
}

// returnUnused seals every range in hand and returns what was not used, to all servers at the same time, so that a server that
// hangs does not delay the others.
func (a *Allocator) returnUnused(ctx context.Context, ended bool) error {
	all := a.fleet.Servers()
	left := make([][]leftover, len(all))
	a.byName.each(func(c *Collection) {
		for _, l := range c.seal() {
			left[l.server.Index] = append(left[l.server.Index], l)
		}
	})
	var servers sync.WaitGroup
	for i, s := range all {
		servers.Go(func() {
			requests := make([]scripts.ReturnRequest, len(left[i]))
			for j, l := range left[i] {
				requests[j] = l.request
			}
			for j, result := range s.Return(ctx, requests) {
				left[i][j].record(result)
			}
		})
	}
	servers.Wait()
	failed := slices.DeleteFunc(slices.Concat(left...), func(l leftover) bool { return l.err == nil })
	return notReturned(ctx, ended, failed)
}

// notReturned returns the error of a Close that could not return everything, or nil.
func notReturned(ctx context.Context, ended bool, failed []leftover) error {
	if len(failed) == 0 && ended {
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
	if !ended {
		text += "; a refill was in flight, and its range is lost"
	}
	cause := ctx.Err()
	if len(failed) > 0 {
		cause = failed[len(failed)-1].err
	}
	err := failure.Attempt(text, cause)
	if ctx.Err() != nil {
		err = failure.Ended(ctx, "", err)
	}
	return fmt.Errorf("allocator: %w", err)
}

// record counts the numbers as returned or as burnt.
func (l *leftover) record(result scripts.Returned) {
	l.err = result.Err
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.c.tally.returning -= l.size()
	if result.OK && result.Err == nil {
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
	for _, server := range c.a.fleet.Servers() {
		if request, ok := joined(spans, used, server); ok {
			request.Counter = server.Keys.HiLo(c.name)
			left := leftover{c: c, server: server, request: request}
			c.tally.returning += left.size()
			all = append(all, left)
		}
	}
	return all
}

// joined returns the request that returns ranges to one server. Consecutive ranges are returned as one, by the lease of the
// newest, from its end down to the last number that was used. Two ranges are consecutive if the newer one begins where the
// older one ends and nothing was written in between, neither another client's range nor a seed.
func joined(spans []*span, used []int64, from *fleet.Server) (request scripts.ReturnRequest, ok bool) {
	var newer *span // the oldest one of the request, if all of it is unused
	for i, s := range slices.Backward(spans) {
		switch {
		case s.from.Server != from:
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

// giveBack returns the numbers after last of a range, none of which is used any more. It does nothing if this allocator was issued a
// newer range, or requests one. Until it ends no refill starts, because a refill sends the floor that it lowers.
func (c *Collection) giveBack(ctx context.Context, s *span, last int64) (bool, error) {
	server := s.from.Server
	newest := func() bool { return server.Marks(fleet.Range, c.name).Floor == s.high() }
	inFlight := &refill{done: make(chan struct{}), timer: time.NewTimer(0)}
	inFlight.timer.Stop() // as of a refill that has begun, for which Close waits
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false, fmt.Errorf("%s: %w", c.name, ErrClosed)
	}
	if c.refill != nil || !newest() {
		c.mu.Unlock()
		return false, nil
	}
	c.refill = inFlight
	c.mu.Unlock()

	attempt, cancel := context.WithTimeout(ctx, c.a.opts.RefillTimeout)
	defer cancel()
	got := server.Return(attempt, []scripts.ReturnRequest{{
		Counter: server.Keys.HiLo(c.name), Token: s.token, End: s.high(), Last: last, Epoch: s.epoch, Written: s.written,
	}})[0]

	c.mu.Lock()
	defer c.mu.Unlock()
	// Whatever the reply is: a repetition after a lost one finds the numbers returned, and a Max below the floor would look like lost
	// writes. If they were not returned they are not used either.
	if newest() {
		server.SetFloor(c.name, last)
	}
	c.finishRefill(nil)
	now := c.a.fleet.Now()
	if len(c.waiters) > 0 {
		c.startRefill(now)
	}
	c.plan(now)
	switch {
	case got.Err == nil:
		return got.OK, nil
	case ctx.Err() != nil:
		return false, failure.Ended(ctx, server.On(c.name), failure.Attempt(server.On(c.name), got.Err))
	default:
		return false, failure.Attempt(server.On(c.name), got.Err)
	}
}
