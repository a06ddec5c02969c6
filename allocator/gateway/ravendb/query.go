package ravendb

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// errArgument is a request that is at fault.
var errArgument = errors.New("bad argument")

func argument(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errArgument}, args...)...)
}

// quote quotes what a client sent, the first of it at most.
func quote(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	return strconv.Quote(text)
}

// query is the parameters of a request.
type query map[string]string

// parseQuery takes a query apart. Some clients send names as they are, so "+"
// means itself: the white space that forms mean by it cannot be in a name.
func parseQuery(raw string) (query, error) {
	q := make(query)
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		escaped, escapedValue, _ := strings.Cut(pair, "=")
		name, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, argument("the query holds a percent sign that begins no escape: %s", quote(pair))
		}
		value, err := url.PathUnescape(escapedValue)
		if err != nil {
			return nil, argument("%s holds a percent sign that begins no escape: %s", quote(name), quote(escapedValue))
		}
		if _, twice := q[name]; twice {
			return nil, argument("%s is there twice", quote(name))
		}
		q[name] = value
	}
	return q, nil
}

// required is a parameter that has to be there.
func (q query) required(name string) (string, error) {
	value := q[name]
	if value == "" {
		return "", argument("%s is missing", name)
	}
	return value, nil
}

// number is a parameter that has to be a whole number from 0 to 2^63-1.
func (q query) number(name string) (int64, error) {
	text, err := q.required(name)
	if err != nil {
		return 0, err
	}
	return parseNumber(name, text)
}

// numberOr is number with a default.
func (q query) numberOr(name string, standard int64) (int64, error) {
	if q[name] == "" {
		return standard, nil
	}
	return parseNumber(name, q[name])
}
