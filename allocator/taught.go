package allocator

import (
	"math"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

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
