package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// A counter of a durable server issues numbers up to its ceiling, and the ceiling is raised in three steps: a script reserves more
// numbers, the client waits until that is known to be on disk, and another script permits them. Nothing blocks a connection.

// raising is a raise of one counter's ceiling, for all that wait for it. There is one at a time. It ends when numbers may be issued
// again, or with why the server did not answer, and is tried again as long as something is in the way. Fleet.mu guards it.
type raising struct {
	done chan struct{} // closed at its end
	// obstacle is what is in the way, or nil. lasts is how long the numbers last that may still be issued, 0 if unknown.
	obstacle error
	lasts    time.Duration
	// wanted reports that a request waits for it, so that it is tried again soon. hurry is closed when that becomes true.
	wanted bool
	hurry  chan struct{}
}

// CeilingError means that a counter's ceiling has to be raised first, which is in flight. It matches scripts.ErrCeiling, or
// scripts.ErrNotDurable with what is in the way, so that other servers are asked meanwhile.
type CeilingError struct {
	// Raised is closed when the request may be sent again.
	Raised <-chan struct{}
	why    error
}

func (e *CeilingError) Error() string { return e.why.Error() }
func (e *CeilingError) Unwrap() error { return e.why }

// The times between two tries of a raise that something is in the way of: while requests wait for it, and otherwise.
const (
	raiseSoon  = time.Second
	raiseAgain = 30 * time.Second
)

// needsRaise reports whether less than half of a block is left below the ceiling of a durable server's counter.
func needsRaise(got scripts.Range, limit int64) bool {
	return got.Durable.Holds() && got.Low > 0 && got.Ceiling-got.High < (got.Block+1)/2 && got.Ceiling < min(limit, cmp.Or(got.MaxValue, limit))
}

// raise returns the error of a request that has to wait for a raise of the counter, which it starts unless there is one, with mu
// held.
func (s *Server) raise(c *counter, own, other counterOf, keys scripts.Keys, r Request) error {
	it := s.raiseAhead(c, own, other, keys, r)
	if !it.wanted {
		it.wanted = true
		close(it.hurry)
	}
	why := fmt.Errorf("%w: key %s: waiting until more numbers are known to be on disk", scripts.ErrCeiling, keys.Counter)
	if it.obstacle != nil {
		why = it.obstacle
	}
	return &CeilingError{it.done, why}
}

// raiseAhead starts a raise of the counter for later requests like r, unless there is one, with mu held.
func (s *Server) raiseAhead(c *counter, own, other counterOf, keys scripts.Keys, r Request) *raising {
	if it, ok := s.raises[own]; ok {
		return it
	}
	f, it := s.fleet, &raising{done: make(chan struct{}), hurry: make(chan struct{})}
	if f.closed {
		close(it.done)
		return it
	}
	s.raises[own] = it
	f.goLocked(func() {
		s.runRaise(it, c, other, keys, r)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(s.raises, own)
		close(it.done)
	})
	return it
}

// runRaise raises the ceiling, and tries again as long as something is in the way.
func (s *Server) runRaise(it *raising, c *counter, other counterOf, keys scripts.Keys, r Request) {
	f := s.fleet
	logged := ""
	for {
		sent := f.Now()
		obstacle, left, lasts, err := s.tryRaise(c, other, keys, r)
		switch {
		case f.ctx.Err() != nil || err == nil && obstacle == nil || errors.Is(err, scripts.ErrChanged):
			return
		case scripts.Answered(err): // the next request gets the same answer
			sleep(f.ctx, f.ctx, questionsApart)
			return
		case err != nil: // the server serves no request that needs more numbers
			f.mu.Lock()
			changed := s.recordOutcome(r.Kind, sent, err)
			f.mu.Unlock()
			changed.finish()
			return
		}
		if text := obstacle.Error(); text != logged {
			logObstacle(s.log, keys.Counter, left, lasts, obstacle)
			logged = text
		}
		f.mu.Lock()
		it.obstacle, it.lasts = obstacle, lasts
		delay, hurry := raiseAgain, it.hurry
		if it.wanted {
			delay, hurry = raiseSoon, nil
		}
		f.mu.Unlock()
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-hurry:
		case <-f.ctx.Done():
		}
		timer.Stop()
	}
}

// tryRaise raises the ceiling once. obstacle is what is in the way, and matches scripts.ErrNotDurable. Any other error ends the
// raise, because the next request finds out more.
func (s *Server) tryRaise(c *counter, other counterOf, keys scripts.Keys, r Request) (obstacle error, left int64, lasts time.Duration, err error) {
	f := s.fleet
	ctx, cancel := context.WithTimeout(f.ctx, f.opts.AttemptTimeout)
	defer cancel()
	var got scripts.Raised
	marks := s.sentMarks(c, other)
	r.Token = rand.Text()
	if r.Kind == Range {
		got, err = s.Backend.RaiseNext(ctx, keys, nextRequest(r, marks))
	} else {
		got, err = s.Backend.RaiseIdentity(ctx, keys, identityRequest(r, marks))
	}
	switch {
	case err != nil:
		return nil, 0, 0, err
	case got.Obstacle != "":
		return fmt.Errorf("%w: key %s: %s", scripts.ErrNotDurable, keys.Counter, got.Obstacle), got.Left, got.Lasts, nil
	}
	if got.Evidence != "" {
		f.mu.Lock()
		s.countJump(got.Evidence)
		f.mu.Unlock()
		logJump(s.log, keys.Counter, got.Evidence, got.Jump, got.Base+1, scripts.DurableEverysec)
	}
	if got.Created {
		logCreated(s.log, keys.Counter)
	}
	if got.Permitted {
		return nil, 0, 0, nil
	}
	err = s.permit(scripts.PermitRequest{Keys: keys, Origin: got.Origin, Raised: got.Raised})
	if errors.Is(err, scripts.ErrNotDurable) {
		return err, got.Left, got.Lasts, nil
	}
	return nil, 0, 0, err
}

// questions are the questions to a server with appendfsync everysec that one group of raises shares. They are described in
// permit.lua. A raise joins before the first one is sent.
type questions struct {
	requests []scripts.PermitRequest
	errs     []error
	done     chan struct{}
}

// questionsApart is the least time between two groups of questions, so that many counters cost few.
const questionsApart = 100 * time.Millisecond

// permit waits until what was written before the call is known to be on disk, and makes it the ceiling.
func (s *Server) permit(r scripts.PermitRequest) error {
	f := s.fleet
	f.mu.Lock()
	q := s.asking
	if q == nil {
		q = &questions{done: make(chan struct{})}
		s.asking = q
		wait := max(0, s.askedAt+questionsApart-f.Now())
		s.askedAt = f.Now() + wait
		f.goLocked(func() {
			sleep(f.ctx, f.ctx, wait)
			f.mu.Lock()
			s.asking = nil
			f.mu.Unlock()
			q.errs = s.ask(q.requests)
			close(q.done)
		})
	}
	i := len(q.requests)
	q.requests = append(q.requests, r)
	f.mu.Unlock()
	select {
	case <-q.done:
		return q.errs[i]
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
}

// ask asks the questions, of which the last ones permit, and returns the outcome of each request.
func (s *Server) ask(requests []scripts.PermitRequest) []error {
	f := s.fleet
	send := func(ctx context.Context, requests ...scripts.PermitRequest) []scripts.Permitted {
		ctx, cancel := context.WithTimeout(ctx, f.opts.AttemptTimeout)
		defer cancel()
		return s.Backend.Permit(ctx, requests...)
	}
	errs, err := scripts.Ask(f.ctx, send, s.Keys.Server(), false, requests...)
	if err != nil {
		errs = slices.Repeat([]error{err}, len(requests))
	}
	return errs
}

// obstacles returns what is in the way of raises, with how long the numbers of the first counter that runs out last, with mu held.
func (s *Server) obstacles() (lasts time.Duration, obstacle error) {
	for _, it := range s.raises {
		if it.obstacle != nil && (obstacle == nil || it.lasts < lasts) {
			obstacle, lasts = it.obstacle, it.lasts
		}
	}
	return lasts, obstacle
}

// AwaitRaise waits until the request of a CeilingError may be sent again, or another server may serve it by now. It reports false
// for another error.
func (f *Fleet) AwaitRaise(err error) bool {
	ceiling, ok := errors.AsType[*CeilingError](err)
	if !ok {
		return false
	}
	var others <-chan time.Time
	if len(f.servers) > 1 {
		timer := time.NewTimer(raiseSoon)
		defer timer.Stop()
		others = timer.C
	}
	select {
	case <-ceiling.Raised:
	case <-others:
	case <-f.ctx.Done():
	}
	return true
}

// WhyWaiting returns why requests for a counter wait for a raise, or nil if they do not.
func (f *Fleet) WhyWaiting(k Kind, name string) error {
	own, _ := counters(k, prefix.Fold(name))
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.servers {
		if it, ok := s.raises[own]; ok && it.wanted {
			return s.failed(name, cmp.Or(it.obstacle, fmt.Errorf("%w: waiting until more numbers are known to be on disk", scripts.ErrNotDurable)))
		}
	}
	return nil
}
