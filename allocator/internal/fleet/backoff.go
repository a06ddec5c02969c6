package fleet

import (
	"math/rand/v2"
	"time"
)

const (
	firstBackoff = 100 * time.Millisecond
	// MaxBackoff is for the only server, and for refusals of one counter. It is short, so that a recovered server is found
	// well within a Runway.
	MaxBackoff = time.Second
	// MaxBackoffOfMany is for one of several servers while another one serves.
	MaxBackoffOfMany = 30 * time.Second
	// minRecovery and maxRecovery bound the time between two probes of a server that is down. go-redis may open five
	// connections for one.
	minRecovery, maxRecovery = 3 * time.Second, 10 * time.Second
)

// Backoff delays the next attempt after a failure. It is not safe for concurrent use. The zero value has seen no failure.
type Backoff struct {
	failures int
	until    time.Duration
}

// Fail counts a failure. Of several attempts that were in flight together only the first counts.
func (b *Backoff) Fail(now, longest time.Duration) {
	if now >= b.until {
		b.count(now, longest, rand.Float64())
	}
}

func (b *Backoff) count(now, longest time.Duration, jitter float64) {
	b.until = now + backoffDelay(b.failures, longest, jitter)
	b.failures++
}

// Wait returns how long it takes until the next attempt.
func (b *Backoff) Wait(now time.Duration) time.Duration { return max(0, b.until-now) }

// serverBackoff is the back-off of a server. For a caller without another server to ask it ends earlier, at soonest.
type serverBackoff struct {
	Backoff
	soonest time.Duration
}

func (b *serverBackoff) fail(now, longest time.Duration) {
	if now < b.soonest {
		return
	}
	jitter := rand.Float64()
	b.soonest = now + backoffDelay(b.failures, min(longest, MaxBackoff), jitter)
	b.count(now, longest, jitter)
}

// failAgain delays the next attempt of a caller without another server to ask, after one that was made in the back-off.
func (b *serverBackoff) failAgain(now time.Duration) {
	if now >= b.soonest {
		b.soonest = now + backoffDelay(b.failures, MaxBackoff, rand.Float64())
	}
}

// end ends the back-off and keeps the count of failures, so that the next one is no shorter.
func (b *serverBackoff) end() { b.until, b.soonest = 0, 0 }

// least is Wait for a caller without another server to ask.
func (b *serverBackoff) least(now time.Duration) time.Duration { return max(0, b.soonest-now) }

// backoffDelay returns a delay that doubles with each failure up to longest. jitter, 0 to 1, spreads it over its upper half,
// so that the clients of a fleet do not retry in step.
func backoffDelay(failures int, longest time.Duration, jitter float64) time.Duration {
	delay := longest
	if failures < 16 {
		delay = min(firstBackoff<<failures, longest)
	}
	return delay/2 + time.Duration(jitter*float64(delay/2))
}
