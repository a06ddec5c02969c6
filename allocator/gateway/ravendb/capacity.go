package ravendb

import (
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
)

const (
	minCapacity = 32
	maxCapacity = 1 << 20
)

// capacity returns the size of the next range by RavenDB's rule: the size of the one before, doubled if it is requested within
// 30 s and halved after more than 60 s. known reports whether the time of the one before is known.
func capacity(last int64, since time.Duration, known bool) int64 {
	switch {
	case known && since < 30*time.Second:
		return min(max(minCapacity, 2*last), maxCapacity)
	case known && since > 60*time.Second:
		return max(minCapacity, last/2)
	}
	return max(minCapacity, last)
}

// parseSize returns lastBatchSize, which is 0 if absent. A greater number than maxCapacity counts as maxCapacity.
func parseSize(q *form.Query) int64 {
	if text := q.Get("lastBatchSize"); len(text) > len("1048576") && strings.Trim(text, "0123456789") == "" {
		return maxCapacity
	}
	return min(q.NumberOr("lastBatchSize", 0), maxCapacity)
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
