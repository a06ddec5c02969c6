package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Short is a duration in three digits.
func Short(nanoseconds int64) string {
	unit := time.Duration(1)
	for d := nanoseconds; d >= 1000; d /= 10 {
		unit *= 10
	}
	return time.Duration(nanoseconds).Round(unit).String()
}

// Plural is how many of a thing: 1 id, 2 ids.
func Plural[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Brief is a number of 0 or more in at most five letters: 0.05, 7.5, 123, 12.3k, 1.2M, 3.4G.
func Brief(number float64) string {
	unit := ""
	for _, next := range []string{"k", "M", "G", "T", "P", "E"} {
		if number < 999.5 {
			break
		}
		number, unit = number/1000, next
	}
	decimals := 2
	switch {
	case number == 0 || number >= 99.95:
		decimals = 0
	case number >= 9.995 || unit != "":
		decimals = 1
	}
	return strconv.FormatFloat(number, 'f', decimals, 64) + unit
}

// TimeLeft is how long it takes to a bound, in few letters: "12 s", "3.4 h", "25 d", "2.9M y"; "past" one to which nothing
// is left, and "–" where the seconds are not known.
func TimeLeft(left int64, seconds *float64) string {
	switch {
	case left == 0:
		return "past"
	case seconds == nil:
		return "–"
	}
	for _, unit := range []struct {
		name    string
		seconds float64
		upTo    float64 // of the unit
	}{{"s", 1, 90}, {"min", 60, 90}, {"h", 3600, 36}, {"d", 86400, 500}} {
		if count := *seconds / unit.seconds; count < unit.upTo {
			return Brief(count) + " " + unit.name
		}
	}
	return Brief(*seconds/(365.25*86400)) + " y"
}

// Printable is text without what a terminal could take for a command: names are what stands in Redis.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
