package allocator

import (
	"math/rand/v2"
	"time"
)

const (
	firstBackoff = 100 * time.Millisecond
	// longestBackoff is short where there is nowhere else to go: a server that is back should be noticed well within a
	// Runway.
	longestBackoff = time.Second
	// longestBackoffOfMany is for one of several servers, while another one serves.
	longestBackoffOfMany = 30 * time.Second
)

// backoff keeps callers from storming what just failed, so many times in a row: no attempt is made before until.
type backoff struct {
	failures int
	until    time.Duration
}

// fail counts a failure. Several attempts that were under way together are one: only the first of them counts.
func (b *backoff) fail(now, longest time.Duration) {
	if now >= b.until {
		b.count(now, longest, rand.Float64())
	}
}

func (b *backoff) count(now, longest time.Duration, jitter float64) {
	b.until = now + backoffDelay(b.failures, longest, jitter)
	b.failures++
}

func (b *backoff) reset() { *b = backoff{} }

func (b *backoff) wait(now time.Duration) time.Duration { return max(0, b.until-now) }

// serverBackoff is that of a server, which may be asked earlier where there is nowhere else to go, but not before
// soonest. A collection has none, and is the smaller for it.
type serverBackoff struct {
	backoff
	soonest time.Duration
}

func (b *serverBackoff) fail(now, longest time.Duration) {
	if now < b.soonest {
		return
	}
	jitter := rand.Float64()
	b.soonest = now + backoffDelay(b.failures, min(longest, longestBackoff), jitter)
	b.count(now, longest, jitter)
}

func (b *serverBackoff) reset() { *b = serverBackoff{} }

// least is wait where there is nowhere else to go.
func (b *serverBackoff) least(now time.Duration) time.Duration { return max(0, b.soonest-now) }

// backoffDelay doubles with each failure up to longest and is spread over its upper half by jitter, 0 to 1, so that a
// fleet does not come back in step.
func backoffDelay(failures int, longest time.Duration, jitter float64) time.Duration {
	delay := longest
	if failures < 16 {
		delay = min(firstBackoff<<failures, longest)
	}
	return delay/2 + time.Duration(jitter*float64(delay/2))
}
