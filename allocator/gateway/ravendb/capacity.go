package ravendb

import (
	"strconv"
	"strings"
	"time"
)

const (
	minCapacity = 32
	maxCapacity = 1 << 20

	growWithin = 30 * time.Second
	shrinkPast = 60 * time.Second
)

// capacity is the size of the next range by RavenDB's rule: that of the one
// before, doubled when it is asked for again within 30 s and halved after more
// than 60 s. known says that there is a usable time of the one before.
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

// wireTime is how times are written: clients want seven digits and a Z.
const wireTime = "2006-01-02T15:04:05.0000000Z"

// parseTime reads a time as any of the clients writes it: with or without a
// fraction, of any length, with or without a zone, which is UTC then. It reports
// false where there is none.
func parseTime(text string) (time.Time, bool) {
	const seconds = "2006-01-02T15:04:05"
	if len(text) < len(seconds) || len(text) > len(seconds)+64 {
		return time.Time{}, false
	}
	whole, rest := text[:len(seconds)], text[len(seconds):]
	if strings.HasPrefix(rest, ".") {
		digits := 1
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		if digits == 1 {
			return time.Time{}, false
		}
		whole += rest[:min(digits, 10)] // beyond nanoseconds nobody looks
		rest = rest[digits:]
	}
	layout := time.RFC3339Nano
	if rest == "" {
		rest = "Z"
	}
	t, err := time.Parse(layout, whole+rest)
	return t, err == nil
}

// parseSize reads lastBatchSize: 0 where it is missing, and what is above the
// greatest capacity is taken for that.
func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	size, err := parseNumber("lastBatchSize", text)
	if err != nil && allDigits(text) {
		return maxCapacity, nil
	}
	return min(size, maxCapacity), err
}

// parseNumber reads a whole number from 0 to 2^63-1.
func parseNumber(name, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || !allDigits(text) {
		return 0, argument("%s is %s: must be a whole number from 0 to 9223372036854775807", name, quote(text))
	}
	return n, nil
}

func allDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
