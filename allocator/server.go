package allocator

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// backend is what an allocator needs of a Redis.
type backend interface {
	next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error)
	identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error)
	giveBack(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned
}

type redisBackend struct{ client redis.UniversalClient }

// newBackend makes sure, where the client can, that one attempt ends with its
// ctx: without ContextTimeoutEnabled go-redis waits out its own read timeout.
// A cluster client cannot be told; its ReadTimeout should not exceed ours.
func newBackend(client redis.UniversalClient, timeout time.Duration) backend {
	if single, ok := client.(*redis.Client); ok && !single.Options().ContextTimeoutEnabled {
		client = single.WithTimeout(timeout) // shares the connections
	}
	return redisBackend{client}
}

func (b redisBackend) next(ctx context.Context, keys scripts.Keys, request scripts.NextRequest) (scripts.Range, error) {
	return scripts.Next(ctx, b.client, keys, request)
}

func (b redisBackend) identity(ctx context.Context, keys scripts.Keys, request scripts.IdentityRequest) (scripts.Range, error) {
	return scripts.Identity(ctx, b.client, keys, request)
}

func (b redisBackend) giveBack(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	return scripts.ReturnAll(ctx, b.client, requests)
}

// server is one Redis deployment and what is known of its health.
type server struct {
	backend backend
	keys    prefix.Keys
	log     *zap.Logger

	mu      sync.Mutex     // guards what follows; never held during I/O, innermost of all locks
	backoff backoff        // while it is down
	down    error          // why the last attempt failed, nil: it did not
	adds    *prefix.Server // what it put into the latest range, shared by ranges alike
}

// taught is what one server told of one counter. It belongs to the server's mu.
type taught struct {
	floor   int64         // the greatest number it gave; of an identity, in epoch
	epoch   int64         // of the newest range
	issued  int64         // its tallies with the newest range
	seconds int64         // how long they cover
	at      time.Duration // when that was
}

// remember keeps what a range says of its counter.
func (s *server) remember(t *taught, now time.Duration, got scripts.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.floor, t.epoch = max(t.floor, got.High), got.Epoch
	t.issued, t.seconds, t.at = got.Issued, got.Seconds, now
}

// rememberIdentity is remember for an identity, which may be lowered by force
// and has another epoch then: its floor is that of the newest epoch.
func (s *server) rememberIdentity(t *taught, now time.Duration, got scripts.Range) {
	s.mu.Lock()
	if got.Epoch != t.epoch {
		t.floor = 0
	}
	s.mu.Unlock()
	s.remember(t, now, got)
}

// recall is the floor, its epoch and the least gap to send with a request. The
// tallies are lost together with the state that they measure, so each client
// keeps them: twice what was issued then, and twice what was issued since at
// that rate.
func (s *server) recall(t *taught, now time.Duration) (floor, epoch, leastGap int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.floor == 0 {
		return 0, 0, 0
	}
	since := (now - t.at).Seconds() * float64(t.issued) / float64(max(t.seconds, 1))
	return t.floor, t.epoch, saturate(2 * math.Ceil(max(float64(t.issued), since)))
}

func saturate(f float64) int64 {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(f)
}

// adding is the shared copy of what the server adds, or an error when no
// identifier may be made with it.
func (s *server) adding(got scripts.Range) (*prefix.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	adds := prefix.Server{ServerPrefix: got.Prefix, NodeTag: got.Tag}
	if s.adds != nil && *s.adds == adds {
		return s.adds, nil
	}
	if err := adds.Validate(); err != nil {
		return nil, fmt.Errorf("%w: key %s: %w", ErrCorrupt, s.keys.Server(), err)
	}
	s.adds = &adds
	return s.adds, nil
}

// gate is how long to wait before the next attempt and, where that is not now,
// why.
func (s *server) gate(now time.Duration) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backoff.wait(now), s.down
}

// report takes note of an attempt's outcome; nil and a script's own refusal
// both mean that the server serves.
func (s *server) report(now time.Duration, err error) {
	s.mu.Lock()
	was := s.down
	s.down = err
	if err == nil {
		s.backoff.reset()
	} else {
		s.backoff.fail(now)
	}
	s.mu.Unlock()
	switch {
	case err != nil && was == nil:
		s.log.Warn("server unavailable, retrying with back-off", zap.Error(err))
	case err == nil && was != nil:
		s.log.Info("server available again")
	}
}
