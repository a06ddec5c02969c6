package ravendb

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
)

// quote returns the first 64 bytes of what a client sent, quoted.
func quote(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	return strconv.Quote(text)
}

// query holds the parameters of a request.
type query map[string]string

// parseQuery parses a query as a form: "+" is a space. Java's client sends spaces so, and %2B for a plus. No parameter may
// be repeated.
func parseQuery(raw string) (query, error) {
	q := make(query)
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		escaped, escapedValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(escaped)
		if err != nil {
			return nil, sentinel.Invalidf("the query has a percent sign that begins no escape: %s", quote(pair))
		}
		value, err := url.QueryUnescape(escapedValue)
		if err != nil {
			return nil, sentinel.Invalidf("%s has a percent sign that begins no escape: %s", quote(name), quote(escapedValue))
		}
		if _, twice := q[name]; twice {
			return nil, sentinel.Invalidf("%s is given twice", quote(name))
		}
		q[name] = value
	}
	return q, nil
}

// required returns a parameter that must be present.
func (q query) required(name string) (string, error) {
	value := q[name]
	if value == "" {
		return "", sentinel.Invalidf("%s is missing", name)
	}
	return value, nil
}

// number returns a parameter that must be a whole number from 0 to 2^63-1.
func (q query) number(name string) (int64, error) {
	text, err := q.required(name)
	if err != nil {
		return 0, err
	}
	return parseNumber(name, text)
}

// numberOr returns number, or standard if the parameter is absent.
func (q query) numberOr(name string, standard int64) (int64, error) {
	if q[name] == "" {
		return standard, nil
	}
	return parseNumber(name, q[name])
}

// parseNumber parses a whole number from 0 to 2^63-1.
func parseNumber(name, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || !allDigits(text) {
		return 0, sentinel.Invalidf("%s is %s: must be a whole number from 0 to 9223372036854775807", name, quote(text))
	}
	return n, nil
}

func allDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
