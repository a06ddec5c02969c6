package allocator

import (
	"math"
	"time"
)

const (
	growWithin = 30 * time.Second
	shrinkPast = 60 * time.Second
)

// nextCapacity returns the size of the next range. last is the size of the range before it, or 0. It is doubled if the next
// range is requested within 30 s, and halved after more than 60 s, as RavenDB's clients do.
func nextCapacity(last int64, since time.Duration, minCapacity, maxCapacity int64) int64 {
	switch {
	case last == 0:
		return minCapacity
	case since < growWithin:
		return min(last*2, maxCapacity)
	case since > shrinkPast:
		return max(last/2, minCapacity)
	default:
		return last
	}
}

// demand measures how fast numbers are used, which decides how many to hold. total is the number of numbers used until the
// last measurement, at the time at, and weight the number of those used in the horizon before it, with older ones fading.
type demand struct {
	weight float64
	total  int64
	at     time.Duration
}

// want returns how many numbers the horizon takes at the current rate. The rate is a running mean over the last horizon, so
// that it never exceeds what was used lately and a short burst does not count as a rate.
func (d *demand) want(now time.Duration, total int64, horizon time.Duration) int64 {
	if elapsed := now - d.at; elapsed > 0 {
		fade := math.Exp(-elapsed.Seconds() / horizon.Seconds())
		rate := float64(total-d.total) / elapsed.Seconds()
		d.weight = d.weight*fade + rate*horizon.Seconds()*(1-fade)
		d.total, d.at = total, now
	}
	return int64(math.Ceil(d.weight))
}
