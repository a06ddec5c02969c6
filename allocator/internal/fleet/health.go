package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// transition is a change of a server's health. finish is called without a lock.
type transition struct {
	server   *Server
	was, now error
}

// setDown records a failed attempt, with mu held.
func (s *Server) setDown(now time.Duration, err error) transition {
	t := transition{s, s.down, err}
	longest := MaxBackoff
	if len(s.fleet.servers) > 1 {
		longest = MaxBackoffOfMany
	}
	s.down = err
	s.backoff.fail(now, longest)
	s.scheduleRecovery()
	return t
}

// setUp records that the server serves, with mu held. Unless it is proven by a served request, the count of failures stays,
// so that a server that describes itself and serves nothing is not asked more and more often.
func (s *Server) setUp(now time.Duration, proven bool) transition {
	t := transition{s, s.down, nil}
	s.answered = max(now, 1)
	s.down = nil
	if proven {
		s.backoff = serverBackoff{}
	} else {
		s.backoff.end()
	}
	if s.recovery != nil {
		s.recovery.Stop()
	}
	return t
}

// finish logs the change, and starts again what failed while the server was down.
func (t transition) finish() {
	if t.server == nil || t.was == nil && t.now == nil {
		return
	}
	log := t.server.log
	switch {
	case failure.Conflict(t.now) && !failure.Conflict(t.was):
		log.Error("server out of use for its settings, retrying with back-off", zap.Error(t.now))
	case t.now != nil && t.was == nil:
		log.Warn("server unavailable, retrying with back-off", zap.Error(t.now))
	case t.now == nil && t.was != nil:
		log.Info("server available again")
		t.server.fleet.opts.Recovered()
	}
}

// provenOver reports whether a description proves that a server is up again. A conflict ends when all servers are compared, the
// refusal of any write with a check, and another error reply with a served request.
func provenOver(down error, how How) bool {
	switch {
	case failure.Conflict(down):
		return false
	case scripts.WriteRefused(down):
		return how.Checked
	}
	return !isReply(down)
}

// isReply reports whether err is an error reply of the server.
func isReply(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// recordPrefix stores the prefix that a server reported in a reply to a request that was sent at that time, with mu held.
// A reply to an older request never replaces a newer one.
func (s *Server) recordPrefix(sent time.Duration, desc prefix.Server, origin string) (*Issuer, error) {
	from := s.current
	if from == nil || from.Desc != desc {
		if err := desc.Validate(); err != nil {
			return nil, fmt.Errorf("%w: key %s: %w", scripts.ErrCorrupt, s.Keys.Server(), err)
		}
		from = &Issuer{Server: s, Desc: desc}
	}
	s.answered = max(s.fleet.Now(), 1)
	if sent >= s.currentAsOf {
		changed := s.current != from
		s.current, s.origin, s.currentAsOf = from, origin, sent
		if changed && len(s.fleet.servers) > 1 {
			s.fleet.updateUnique()
		}
	}
	return from, nil
}

// describeAll asks servers what they add to identifiers, all at the same time, and records the answers.
func describeAll(caller context.Context, how How, servers ...*Server) {
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(func() { _ = s.describe(caller, how) }) // which records its error
	}
	all.Wait()
}

// describe asks the server what it adds to identifiers and records the answer. What is interrupted by the caller's ctx
// proves nothing about the server.
func (s *Server) describe(caller context.Context, how How) error {
	f := s.fleet
	ctx, cancel := context.WithTimeout(caller, f.opts.AttemptTimeout)
	defer cancel()
	f.mu.Lock()
	sent := f.Now()
	how.Once = s.down != nil
	f.mu.Unlock()
	desc, err := s.Backend.Describe(ctx, s.Keys.Server(), how)
	if caller.Err() == nil {
		s.recordDescription(sent, desc, err, how)
	}
	return cmp.Or(err, desc.Refused)
}

// recordDescription records the answer to a request for a description that was sent at that time.
func (s *Server) recordDescription(sent time.Duration, desc scripts.Description, err error, how How) {
	f := s.fleet
	if how.Checked && desc.Refused == nil { // a replica replies to what is not checked
		s.meet(sent, desc.Origin)
	}
	f.mu.Lock()
	now := f.Now()
	if err == nil {
		_, err = s.recordPrefix(sent, reported(desc.Prefix, desc.Tag, desc.Interval), desc.Origin)
	}
	if err == nil && sent >= s.homeAsOf {
		s.home, s.homeAsOf = desc.Identities, sent
		s.durable = durableOf(desc.Durable)
	}
	err = cmp.Or(err, desc.Refused)
	if s.unsent = nil; notSent(err) {
		s.unsent = err
	}
	// A failure proves nothing if the server answered a later request.
	outdated := sent < s.servedAsOf || sent < s.currentAsOf || notSent(err)
	var changed transition
	switch {
	case err != nil && !outdated && s.backoff.Wait(now) == 0:
		changed = s.setDown(now, err)
	case err == nil && s.down != nil && provenOver(s.down, how):
		changed = s.setUp(now, false)
	}
	f.mu.Unlock()
	changed.finish()
}

// scheduleRecovery schedules the next probe of a server that is down, with mu held. Conflicts are left to the monitor,
// which compares all servers.
func (s *Server) scheduleRecovery() {
	if s.fleet.closed || failure.Conflict(s.down) {
		return
	}
	delay := max(minRecovery, backoffDelay(s.backoff.failures, maxRecovery, rand.Float64()))
	if s.recovery == nil {
		s.recovery = time.AfterFunc(delay, func() { s.fleet.goBackground(s.probe) })
	} else {
		s.recovery.Reset(delay)
	}
}

// probe asks a server that is down to describe itself, so that it recovers without a caller. It also retries what failed,
// because a description may not prove that the server serves.
func (s *Server) probe() {
	f := s.fleet
	f.mu.Lock()
	down := s.down
	f.mu.Unlock()
	if down == nil {
		return
	}
	err := s.describe(f.ctx, How{Checked: true})
	if f.ctx.Err() != nil {
		return
	}
	started := 0
	if err == nil {
		started = f.opts.Recovered()
	}
	var changed transition
	f.mu.Lock()
	switch {
	case s.down == nil:
	case err != nil && !notSent(err):
		changed = s.setDown(f.Now(), err)
	case err == nil && started == 0 && isReply(s.down): // no request is left that would prove it
		changed = s.setUp(f.Now(), false)
	default:
		s.scheduleRecovery()
	}
	f.mu.Unlock()
	changed.finish()
}
