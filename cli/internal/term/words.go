package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Short formats a duration with three significant digits.
func Short(nanoseconds int64) string {
	unit := time.Duration(1)
	for d := nanoseconds; d >= 1000; d /= 10 {
		unit *= 10
	}
	return time.Duration(nanoseconds).Round(unit).String()
}

// Plural is Style.Plural in the plain style.
func Plural[N int | int64](n N, thing string) string { return Style{}.Plural(int64(n), thing) }

func noun(n int64, thing string) string {
	stem, endsInY := strings.CutSuffix(thing, "y")
	switch {
	case n == 1:
		return thing
	case strings.HasSuffix(thing, "s"), strings.HasSuffix(thing, "x"), strings.HasSuffix(thing, "ch"), strings.HasSuffix(thing, "sh"):
		return thing + "es"
	case endsInY && !strings.ContainsAny(stem[len(stem)-1:], "aeou"):
		return stem + "ies"
	}
	return thing + "s"
}

// Brief formats a non-negative number in at most five characters, such as 0.05, 7.50, 123, 12.3k, 1.2M and 3.4G.
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

// TimeLeft formats the time until a counter reaches a bound, such as "12 s", "3.4 h", "25 d" and "2.9M y". left is the
// number of values up to the bound. TimeLeft returns "past" if it is 0, and "–" if seconds is nil.
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
		upTo    float64 // maximum count of the unit
	}{{"s", 1, 90}, {"min", 60, 90}, {"h", 3600, 36}, {"d", 86400, 500}} {
		if count := *seconds / unit.seconds; count < unit.upTo {
			return Brief(count) + " " + unit.name
		}
	}
	return Brief(*seconds/(365.25*86400)) + " y"
}

// Printable replaces control characters by question marks. Names come from Redis and may contain terminal control sequences.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// Visible replaces control characters, and others that are not visible, by their codes, such as \u200b, where names that differ
// have to look different.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
