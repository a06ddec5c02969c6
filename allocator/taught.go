package allocator

import (
	"math"
	"slices"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// taught is what one server told of one counter. It belongs to the server's mu.
type taught struct {
	floor   int64         // the greatest number it gave; of an identity, since it was lowered by force
	lowered int64         // how often that was
	issued  int64         // its tallies with the newest range
	seconds int64         // how long they cover
	at      time.Duration // when that was
}

// remember keeps what a range says of its counter.
func (s *server) remember(t *taught, now time.Duration, got scripts.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.floor = max(t.floor, got.High)
	t.issued, t.seconds, t.at = got.Issued, got.Seconds, now
}

// told is what one server told of one identity. It belongs to the server's mu.
//
// Identities are asked for side by side, so until the first reply several
// requests go out that know of no floor. A counter that is lost between two of
// them shows to neither, so what they got is kept, and one that is given what
// another has asks again. There are never more than asksAtOnce of them. Requests
// later on know a floor, which may be old by as many but makes the server jump.
type told struct {
	taught
	floorless []Range
}

// rememberIdentity is remember for an identity, whose floor starts again when it
// is lowered by force. It reports false when another caller has some of it.
func (s *server) rememberIdentity(t *told, now time.Duration, request scripts.IdentityRequest, got scripts.Range) bool {
	s.mu.Lock()
	if got.Lowered > t.lowered {
		t.floor, t.lowered = 0, got.Lowered
	}
	fresh := true
	if request.Floor == 0 {
		fresh = !slices.ContainsFunc(t.floorless, func(r Range) bool { return got.Low <= r.High && r.Low <= got.High })
		t.floorless = append(t.floorless, Range{Low: got.Low, High: got.High})
	}
	s.mu.Unlock()
	s.remember(&t.taught, now, got)
	return fresh
}

// recall is the floor, what it goes with, and the least gap to send. The
// tallies are lost together with the state that they measure, so each client
// keeps them: twice what was issued then, and twice what was issued since at
// that rate.
func (s *server) recall(t *taught, now time.Duration) (floor, lowered, leastGap int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.floor == 0 {
		return 0, 0, 0
	}
	since := (now - t.at).Seconds() * float64(t.issued) / float64(max(t.seconds, 1))
	return t.floor, t.lowered, saturate(2 * math.Ceil(max(float64(t.issued), since)))
}

func saturate(f float64) int64 {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(f)
}
