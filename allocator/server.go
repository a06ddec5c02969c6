package allocator

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/internal/memory"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// server is one Redis deployment and what is known of its health.
type server struct {
	// index is its place in the order of preference.
	index int
	// name is "" where it is the only one.
	name      string
	backend   backend
	namespace string
	keys      prefix.Keys
	// pinned is the prefix that it must have, "" for any.
	pinned string
	// longest is how long a back-off lasts at most.
	longest time.Duration
	log     *zap.Logger
	// asks has one element for each identity that is being asked for.
	asks chan struct{}

	// mu guards what follows. It is never held during I/O, and is the innermost of all locks.
	mu sync.Mutex
	// down is why the latest attempt failed, nil where it did not; backoff is how long the server is left alone for
	// that.
	backoff serverBackoff
	down    error
	// answered is when it last answered, 0 where it never did.
	answered time.Duration
	// says is what it adds to identifiers, nil where it said nothing yet, and home that it is the home of identities, each
	// by the answer to what was asked last, at saidAsked and homeAsked: one that was asked earlier and is answered later may
	// be of before a change. With says came origin, its replication id, "" where that is not known.
	says                 *source
	origin               string
	home                 bool
	saidAsked, homeAsked time.Duration
	// accepted is the word after which all other servers were asked, and none was found to add the same. check is the
	// latest asking of the others.
	accepted *source
	check    *check

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

// gate is how long until any server may be asked and, where one is down, why.
func (a *Allocator) gate(now time.Duration) (time.Duration, error) {
	shortest, why := time.Duration(math.MaxInt64), error(nil)
	for _, s := range a.servers {
		s.mu.Lock()
		wait, down := s.backoff.least(now), s.down
		s.mu.Unlock()
		shortest = min(shortest, wait)
		if down != nil {
			why = errors.Join(why, s.failed("refill", down))
		}
	}
	return shortest, why
}

// gate is why s is not asked now, nil: it is. The last one to ask is asked again earlier than one that was left for
// others.
func (s *server) gate(now time.Duration, last bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last && s.backoff.least(now) > 0 || !last && s.backoff.wait(now) > 0 {
		return s.down
	}
	return nil
}

// isLeft reports whether s is in a back-off, so that others are asked first.
func (s *server) isLeft(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backoff.wait(now) > 0
}

// report takes note of an attempt's outcome. A refusal means that the server serves; that an identity was served says
// nothing about what the server adds.
func (s *server) report(now time.Duration, err error, identity bool) {
	if err != nil && refused(err) {
		err = nil
	}
	s.mu.Lock()
	stays := identity && err == nil && clashes(s.down)
	s.mu.Unlock()
	if !stays {
		s.put(now, err)
	}
}

// put has s down with err, or up again with nil.
func (s *server) put(now time.Duration, err error) {
	s.mu.Lock()
	was := s.down
	if err == nil {
		s.answered = max(now, 1)
	}
	s.down = err
	if err == nil {
		s.backoff.reset()
	} else {
		s.backoff.fail(now, s.longest)
	}
	s.mu.Unlock()
	log := s.logger()
	switch {
	case clashes(err) && !clashes(was):
		log.Warn("server left for its prefix, retrying with back-off", zap.Error(err))
	case err != nil && was == nil && errors.Is(err, ErrNotDurable):
		log.Warn("ranges are not confirmed and discarded, retrying with back-off", zap.Error(err))
	case err != nil && was == nil:
		log.Warn("server unavailable, retrying with back-off", zap.Error(err))
	case err == nil && was != nil:
		log.Info("server available again")
	}
}

// keysOf are the keys that a script on the counter of a collection names.
func (s *server) keysOf(collection string) scripts.Keys {
	return scripts.Keys{Counter: s.keys.HiLo(collection), Server: s.keys.Server(), Other: s.keys.Identity(collection)}
}

// remember keeps what a range says of its counter.
func (s *server) remember(told *memory.Counter, now time.Duration, got scripts.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told.Learn(now, got)
}

// recall is what was told until now.
func (s *server) recall(told *memory.Counter) memory.Counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *told
}

// onlyKind refuses a range of a server without prefix and tag when the server gave this client numbers of the name by
// the other kind too, which told is of: the same number of both is the same text. The server refuses that by itself,
// but not when it has lost the key of the other. Each kind remembers its range before it looks here, so of two at the
// same time one sees the other. Errors: ErrMixed.
func (s *server) onlyKind(key string, got scripts.Range, told *memory.Counter) error {
	if got.Low == 0 || got.Prefix+got.Tag != "" || s.recall(told).Floor == 0 {
		return nil
	}
	return fmt.Errorf("%w: key %s may not be used: this client was given numbers of the other kind of the name, without prefix and tag", ErrMixed, key)
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
	memory.LogJump(s.logger(), counter, got)
}

// logger names the server, where it has a name.
func (s *server) logger() *zap.Logger {
	if s.name == "" {
		return s.log
	}
	return s.log.With(zap.String("server", s.name))
}
