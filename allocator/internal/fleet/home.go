package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/scripts"
)

// AtHome calls ask with the home of identities, after its back-off. If that server replies that it no longer is the home, all
// servers are described, and ask is called once more.
func (f *Fleet) AtHome(ctx context.Context, name string, ask func(*Server) error) error {
	for again := false; ; again = true {
		s, err := f.Home(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err = f.AwaitBackoff(ctx, name, s); err == nil {
			err = ask(s)
		}
		if len(f.servers) > 1 && errors.Is(err, failure.ErrUnavailable) {
			err = fmt.Errorf("%w (%s is the home of identities, by field Identities of its key %s)", err, s.Name, s.Keys.Server())
		}
		if again || len(f.servers) == 1 || !errors.Is(err, scripts.ErrElsewhere) {
			return err
		}
		f.mu.Lock()
		s.home, s.homeAsOf = false, f.Now()
		f.mu.Unlock()
	}
}

// Home returns the server that issues identities, which is the only one, or the one that reports it. If none is known, or
// two report it, the servers are described after the call, because one of them may have been corrected.
func (f *Fleet) Home(ctx context.Context) (*Server, error) {
	if len(f.servers) == 1 {
		return f.servers[0], nil
	}
	called := f.Now()
	for {
		f.mu.Lock()
		s, err := f.knownHome()
		if s != nil && f.served {
			f.mu.Unlock()
			return s, nil
		}
		c := f.searchHome()
		f.mu.Unlock()
		select {
		case <-c.done:
		case <-ctx.Done():
			if errors.Is(err, scripts.ErrElsewhere) { // no server has answered yet
				err = nil
			}
			return nil, failure.Ended(ctx, "identities", err)
		}
		switch {
		case c.began < called && !errors.Is(c.err, failure.ErrClosed): // its answers may be older than the call
		case c.err != nil:
			return nil, c.err
		default:
			f.mu.Lock()
			s, err = f.knownHome()
			f.mu.Unlock()
			return s, err
		}
	}
}

// searchHome returns the search for the home of identities in flight, or starts one, with mu held. It is not tied to a
// caller, and waits for the back-off of all servers.
func (f *Fleet) searchHome() *check {
	if f.search != nil {
		return f.search
	}
	c := &check{began: f.Now(), err: failure.ErrClosed}
	var delay time.Duration
	for _, s := range f.servers {
		delay = max(delay, s.backoff.least(c.began))
	}
	f.search = c
	c.done = f.goLocked(func() {
		sleep(f.ctx, f.ctx, delay)
		c.began = f.Now()
		describeAll(f.ctx, How{}, f.servers...)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.ctx.Err() == nil {
			c.err = f.checkConflicts(nil)
		}
		for _, s := range f.servers {
			if s.down != nil {
				s.backoff.failAgain(f.Now())
			}
		}
		if home, _ := f.knownHome(); c.err == nil && home != nil {
			f.setServed()
		}
		f.search = nil
	})
	return c
}

// knownHome returns the server that reported that it is the home of identities, with mu held.
func (f *Fleet) knownHome() (*Server, error) {
	var home *Server
	var unknown []error
	for _, s := range f.servers {
		switch {
		case s.home && home != nil:
			return nil, twoHomes(home, s)
		case s.home:
			home = s
		case s.down != nil && !failure.Conflict(s.down): // it may be the home
			unknown = append(unknown, s.failed("identities", s.down))
		case s.homeAsOf == 0 && s.unsent != nil:
			unknown = append(unknown, s.failed("identities", s.unsent))
		}
	}
	switch {
	case home != nil:
		return home, nil
	case unknown != nil:
		return nil, fmt.Errorf("no server that answers is the home of identities: %w", errors.Join(unknown...))
	}
	return nil, fmt.Errorf("%w: no server reports that it is the home of identities", scripts.ErrElsewhere)
}
