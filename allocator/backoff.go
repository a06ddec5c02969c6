package allocator

import (
	"math/rand/v2"
	"time"
)

const (
	firstBackoff = 100 * time.Millisecond
	// longestBackoff is short because there is nowhere else to go: a server
	// that is back should be noticed well within a Runway.
	longestBackoff = time.Second
)

// backoff keeps callers from storming what just failed.
type backoff struct {
	failures int           // in a row
	until    time.Duration // no attempt before
}

// fail counts a failure. Several attempts that were under way together are
// one: only the first of them counts.
func (b *backoff) fail(now time.Duration) {
	if now < b.until {
		return
	}
	b.until = now + backoffDelay(b.failures, rand.Float64())
	b.failures++
}

func (b *backoff) reset() { *b = backoff{} }

func (b *backoff) wait(now time.Duration) time.Duration { return max(0, b.until-now) }

// backoffDelay doubles with each failure and is spread over its upper half by
// jitter, 0 to 1, so that a fleet does not come back in step.
func backoffDelay(failures int, jitter float64) time.Duration {
	delay := longestBackoff
	if failures < 16 {
		delay = min(firstBackoff<<failures, longestBackoff)
	}
	return delay/2 + time.Duration(jitter*float64(delay/2))
}
