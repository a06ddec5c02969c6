package allocator

import (
	"math"
	"time"
)

const (
	growWithin = 30 * time.Second
	shrinkPast = 60 * time.Second
)

// nextCapacity is the size of the next range: that of the one before, doubled when it is asked for again within 30 s
// and halved after more than 60 s, as RavenDB's clients do. last is 0 for a first range.
func nextCapacity(last int64, since time.Duration, smallest, largest int64) int64 {
	switch {
	case last == 0:
		return smallest
	case since < growWithin:
		return min(last*2, largest)
	case since > shrinkPast:
		return max(last/2, smallest)
	default:
		return last
	}
}

// demand measures how fast numbers are used up, to know how many to hold. It was measured last at the time at; total
// numbers had been used until then, and weight of them in the horizon before that, older ones fading.
type demand struct {
	weight float64
	total  int64
	at     time.Duration
}

// want is how many numbers the horizon takes at the current rate: a running mean over the last horizon, so that it
// never exceeds what was used lately and a burst of a moment does not count as a rate.
func (d *demand) want(now time.Duration, total int64, horizon time.Duration) int64 {
	if elapsed := now - d.at; elapsed > 0 {
		fade := math.Exp(-elapsed.Seconds() / horizon.Seconds())
		rate := float64(total-d.total) / elapsed.Seconds()
		d.weight = d.weight*fade + rate*horizon.Seconds()*(1-fade)
		d.total, d.at = total, now
	}
	return int64(math.Ceil(d.weight))
}
