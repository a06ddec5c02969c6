package ravendb

import "time"

const (
	minCapacity = 32
	maxCapacity = 1 << 20

	growWithin = 30 * time.Second
	shrinkPast = 60 * time.Second
)

// capacity returns the size of the next range by RavenDB's rule: the size of the one before, doubled if it is requested within
// 30 s and halved after more than 60 s. known reports whether the time of the one before is known.
func capacity(last int64, since time.Duration, known bool) int64 {
	switch {
	case known && since < growWithin:
		return min(max(minCapacity, 2*last), maxCapacity)
	case known && since > shrinkPast:
		return max(minCapacity, last/2)
	default:
		return max(minCapacity, last)
	}
}

// wireTime is the layout of times in replies: clients need seven digits and a Z.
const wireTime = "2006-01-02T15:04:05.0000000Z"

// parseTime parses a time as any of the clients writes it: with or without a fraction of any length, with or without a
// zone. UTC is the default. It returns false if there is no time.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} { // which accept a fraction
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
