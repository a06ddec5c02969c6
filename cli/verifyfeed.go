package cli

import (
	"math/rand/v2"
	"slices"
	"time"
)

// start begins when all of the first workers are ready, so that they all take part.
func (t *trial) start() {
	if !t.began.IsZero() {
		t.feed()
		return
	}
	for _, h := range t.hands {
		if !h.ready {
			return
		}
	}
	t.began = time.Now()
	t.progressed = t.began
	t.planKill()
	t.feed()
}

// feed tells the workers that have the least to do to take more.
func (t *trial) feed() {
	if t.began.IsZero() || t.ending {
		return
	}
	most := min(greatestGrant, max(1, t.IDs/int64(4*t.Workers)))
	allowed := t.left
	if t.Rate > 0 {
		due := int64(time.Since(t.began).Seconds() * float64(t.Rate))
		allowed = min(allowed, due-(t.IDs-t.left))
		most = min(most, max(1, allowed/int64(t.Workers)))
	}
	hands := slices.Clone(t.hands)
	if t.Rate > 0 { // few at a time: not always to the same
		rand.Shuffle(len(hands), func(i, j int) { hands[i], hands[j] = hands[j], hands[i] })
	}
	for again := true; again && allowed > 0; {
		again = false
		for _, h := range hands {
			n := min(most, allowed)
			if n < 1 || !h.ready || h.bye != nil || h.owed() > most {
				continue
			}
			h.grant(n)
			t.left -= n
			allowed -= n
			again = true
		}
	}
}

func (t *trial) killOne() {
	t.planKill()
	h := t.hands[rand.IntN(len(t.hands))]
	if h.ready && !h.killed && h.bye == nil {
		h.killed = true
		t.killed++
		h.kill()
	}
}

// planKill has the next worker killed 50 to 450 ms from now.
func (t *trial) planKill() {
	t.nextKill = time.Now().Add(50*time.Millisecond + rand.N(400*time.Millisecond))
}
