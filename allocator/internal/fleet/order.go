package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
)

// First asks the servers one after the other until one serves. Servers in back-off are tried last, because one may
// have recovered, and a late success beats an error. last is true for them, and for the only server. An error that another
// server would return too ends it.
func (f *Fleet) First(ask func(s *Server, last bool) error) error {
	preferred, last := f.order()
	var failures []error
	for i, s := range append(preferred, last...) {
		err := ask(s, i >= len(preferred))
		if err == nil {
			return nil
		}
		if !failure.Passing(err) {
			return err
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// order returns the servers that are tried first, and those after them.
func (f *Fleet) order() (preferred, last []*Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.Now()
	for _, s := range f.servers {
		if len(f.servers) > 1 && s.backoff.Wait(now) == 0 {
			preferred = append(preferred, s)
		} else {
			last = append(last, s)
		}
	}
	return preferred, last
}

// whyDown returns why s may not be asked now, or nil. After Close that is ErrClosed. last reports that there is no better server to
// ask, so that the back-off is shorter.
func (s *Server) whyDown(what string, last bool) error {
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	if s.fleet.closed {
		return fmt.Errorf("%s: %w", what, failure.ErrClosed)
	}
	now := s.fleet.Now()
	if s.down == nil || s.backoff.Wait(now) == 0 || last && s.backoff.least(now) == 0 {
		return nil
	}
	return s.failed(what, s.down)
}

// RetryDelay returns how long it takes until one of these servers may be asked, 1 s at most, and why those that are down are.
func (f *Fleet) RetryDelay(what string, servers ...*Server) (delay time.Duration, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delay = math.MaxInt64
	for _, s := range servers {
		delay = min(delay, s.backoff.least(f.Now()))
		if s.down != nil {
			why = errors.Join(why, s.failed(what, s.down))
		}
	}
	return delay, why
}

// AwaitBackoff waits until one of these servers may be asked, or for the end of the fleet. If ctx ends first, the error holds
// it and why the servers are down.
func (f *Fleet) AwaitBackoff(ctx context.Context, what string, servers ...*Server) error {
	delay, why := f.RetryDelay(what, servers...)
	if sleep(ctx, f.ctx, delay); delay > 0 && ctx.Err() != nil {
		return failure.Ended(ctx, what, why)
	}
	return nil
}
