package allocator

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// server is one Redis deployment and what is known of its health.
type server struct {
	index     int    // in order of preference
	name      string // "": the only one
	backend   backend
	namespace string
	keys      prefix.Keys
	pinned    string        // the prefix that it must have, "": any
	longest   time.Duration // back-off
	log       *zap.Logger

	mu      sync.Mutex    // guards what follows; never held during I/O, innermost of all locks
	backoff serverBackoff // while it is down
	down    error         // why the last attempt failed, nil: it did not
	adds    *source       // of the latest range
	origin  string        // its replication id then, "": unknown

	refills    attempts
	identities attempts
	jumps      [len(evidences)]int64
}

// on is what with the server's name, for errors.
func (s *server) on(what string) string {
	if s.name == "" {
		return what
	}
	return what + " on " + s.name
}

// adding is what the server adds to the identifiers of a range, or an error when
// none may be made with it.
func (s *server) adding(got scripts.Range) (*source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.origin = got.Origin
	adds := prefix.Server{ServerPrefix: got.Prefix, NodeTag: got.Tag}
	if s.adds != nil && s.adds.Server == adds {
		return s.adds, nil
	}
	if err := adds.Validate(); err != nil {
		return nil, fmt.Errorf("%w: key %s: %w", ErrCorrupt, s.keys.Server(), err)
	}
	if s.pinned != "" && s.pinned != adds.ServerPrefix {
		return nil, fmt.Errorf("%w: key %s has ServerPrefix %q, and the settings say %q", ErrPrefixConflict, s.keys.Server(), adds.ServerPrefix, s.pinned)
	}
	s.adds = &source{server: s, Server: adds}
	return s.adds, nil
}

// clashes reports why no identifier of s may be given beside those of other.
// Each has entered what it adds before it looks at the others, so of two that
// are first at the same time at least one sees it.
func (s *server) clashes(adds *source, origin string, other *server) error {
	other.mu.Lock()
	defer other.mu.Unlock()
	if origin != "" && origin == other.origin && s.namespace == other.namespace {
		return fmt.Errorf("%w: %s and %s are one: same replication id, same namespace %q", ErrPrefixConflict, s.name, other.name, s.namespace)
	}
	if other.adds != nil && prefix.Fold(adds.ServerPrefix) == prefix.Fold(other.adds.ServerPrefix) &&
		prefix.Fold(adds.NodeTag) == prefix.Fold(other.adds.NodeTag) {
		return fmt.Errorf("%w: %s and %s both have prefix %q and tag %q", ErrPrefixConflict, s.name, other.name, adds.ServerPrefix, adds.NodeTag)
	}
	return nil
}

// source is where a range comes from, or an error when the identifiers made of it
// could be those of another server. That is an error in the settings as long as
// there was no identifier at all; later it is that server's own, which lost its
// prefix or was given another one, and is left for others meanwhile.
func (a *Allocator) source(s *server, got scripts.Range) (*source, error) {
	from, err := a.distinct(s, got)
	switch {
	case err == nil:
		a.served.Store(true)
	case misnamed(err) && a.served.Load():
		err = strayed{err}
	}
	return from, err
}

// distinct is what a server adds, where no other one adds the same.
func (a *Allocator) distinct(s *server, got scripts.Range) (*source, error) {
	adds, err := s.adding(got)
	if err != nil || len(a.servers) == 1 {
		return adds, err
	}
	if adds.IsZero() {
		return nil, fmt.Errorf("%w: key %s: each of several servers needs a prefix or tag", ErrPrefixMissing, s.keys.Server())
	}
	for _, other := range a.servers {
		if other == s {
			continue
		}
		if err := s.clashes(adds, got.Origin, other); err != nil {
			return nil, err
		}
	}
	return adds, nil
}

// gate is how long until any server may be asked and, where one is down, why.
func (a *Allocator) gate(now time.Duration) (time.Duration, error) {
	shortest, why := time.Duration(math.MaxInt64), error(nil)
	for _, s := range a.servers {
		wait, down := s.gate(now)
		shortest = min(shortest, wait)
		if down != nil {
			why = errors.Join(why, s.failed("refill", down))
		}
	}
	return shortest, why
}

// gate is how long to wait before the next attempt, where there is nowhere else
// to go, and, where that is not now, why.
func (s *server) gate(now time.Duration) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backoff.least(now), s.down
}

// isLeft reports whether s is in a back-off, so that others are asked first.
func (s *server) isLeft(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backoff.wait(now) > 0
}

// report takes note of an attempt's outcome. A refusal means that the server
// serves.
func (s *server) report(now time.Duration, err error) {
	if err != nil && refused(err) {
		err = nil
	}
	s.mu.Lock()
	was := s.down
	s.down = err
	if err == nil {
		s.backoff.reset()
	} else {
		s.backoff.fail(now, s.longest)
	}
	s.mu.Unlock()
	log := s.logger()
	switch {
	case misnamed(err) && !misnamed(was):
		log.Warn("server left for its prefix, retrying with back-off", zap.Error(err))
	case err != nil && was == nil && errors.Is(err, ErrNotDurable):
		log.Warn("ranges are not confirmed and discarded, retrying with back-off", zap.Error(err))
	case err != nil && was == nil:
		log.Warn("server unavailable, retrying with back-off", zap.Error(err))
	case err == nil && was != nil:
		log.Info("server available again")
	}
}

// reportAsked is report of an attempt for an identity. That it was served says
// nothing about what the server adds.
func (s *server) reportAsked(now time.Duration, err error) {
	s.mu.Lock()
	stays := err == nil && misnamed(s.down)
	s.mu.Unlock()
	if !stays {
		s.report(now, err)
	}
}

// count takes note of one attempt for the statistics.
func (s *server) count(of *attempts, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of.add(took, err)
}

// jumped counts and logs that a counter was moved because writes may have been lost.
func (s *server) jumped(counter string, got scripts.Range) {
	s.mu.Lock()
	if i := slices.Index(evidences[:], got.Evidence); i >= 0 {
		s.jumps[i]++
	}
	s.mu.Unlock()
	logJump(s.logger(), counter, got)
}

// logger names the server, where it has a name.
func (s *server) logger() *zap.Logger {
	if s.name == "" {
		return s.log
	}
	return s.log.With(zap.String("server", s.name))
}
