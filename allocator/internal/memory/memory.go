// Package memory is what a client keeps of a counter, and how it tells that a server forgot it: one that comes back
// without its newest writes has, so the client sends it along with each request. It imports scripts alone, whose words
// it keeps.
package memory

import (
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/scripts"
)

// Counter is what one server told of one counter. The zero value is that of who was told nothing yet. It is for one
// goroutine at a time.
type Counter struct {
	// Floor is the greatest number that the server gave to this client, and that it did not return; of an identity,
	// since it was last lowered by force, which happened Lowered times.
	Floor   int64
	Epoch   int64 // the greatest seen
	Lowered int64
	// issued and seconds are the server's tallies with the newest range: how many numbers all clients were given, and
	// in how long. at is when they came.
	issued  int64
	seconds int64
	at      time.Duration
}

// Learn keeps what a range says of its counter. Now is the time since a moment that stays the same.
func (c *Counter) Learn(now time.Duration, got scripts.Range) {
	if got.Lowered > c.Lowered {
		c.Floor, c.Lowered = 0, got.Lowered
	}
	c.Floor, c.Epoch = max(c.Floor, got.High), max(c.Epoch, got.Epoch)
	c.issued, c.seconds, c.at = got.Issued, got.Seconds, now
}

// LeastGap is how far a jump has to go by what this client knows: twice what was issued when the tallies were told, and
// twice what was issued since then at that rate. The tallies are lost together with the state that they measure, so a
// slow client would else land in what fast ones hold.
func (c *Counter) LeastGap(now time.Duration) int64 {
	if c.Floor == 0 {
		return 0
	}
	since := (now - c.at).Seconds() * float64(c.issued) / float64(max(c.seconds, 1))
	if gap := 2 * math.Ceil(max(float64(c.issued), since)); gap < math.MaxInt64 {
		return int64(gap)
	}
	return math.MaxInt64
}

// LogJump says that a counter was moved because writes may have been lost.
func LogJump(logger *zap.Logger, key string, got scripts.Range) {
	log := logger.With(
		zap.String("key", key),
		zap.String("evidence", string(got.Evidence)),
		zap.Int64("jump", got.Jump),
		zap.Int64("low", got.Low),
		zap.Int64("epoch", got.Epoch))
	if got.Evidence == scripts.EvidenceMissing {
		log.Error("the counter is gone: going on above what this client was given")
		return
	}
	log.Warn("the server may have lost writes: the counter jumped ahead")
}
