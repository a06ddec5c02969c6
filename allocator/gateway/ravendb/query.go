package ravendb

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// query holds the parameters of a request. err is why the first invalid one of those that were read is invalid, or nil.
type query struct {
	values map[string]string
	err    error
}

// parseQuery parses a query as a form: "+" is a space. Java's client sends spaces so, and %2B for a plus. No parameter may
// be repeated.
func parseQuery(r *http.Request) *query {
	q := &query{values: make(map[string]string)}
	values, err := url.ParseQuery(strings.ReplaceAll(r.URL.RawQuery, ";", "%3B")) // which separates nothing
	if err != nil {
		q.fail(sentinel.Invalidf("the query has a percent sign that begins no escape: %.64q", r.URL.RawQuery))
		return q
	}
	for name, texts := range values {
		if q.values[name] = texts[0]; len(texts) > 1 {
			q.fail(sentinel.Invalidf("%.64q is given twice", name))
		}
	}
	return q
}

func (q *query) fail(err error) { q.err = cmp.Or(q.err, err) }

// text returns a parameter that must be present.
func (q *query) text(name string) string {
	if q.values[name] == "" {
		q.fail(sentinel.Invalidf("%s is missing", name))
	}
	return q.values[name]
}

// name returns a parameter that names a collection, or an identity, with or without mark.
func (q *query) name(parameter, mark, separator string) string {
	name := strings.TrimSuffix(q.text(parameter), mark)
	if err := prefix.ValidateCollection(name, separator); err != nil {
		q.fail(fmt.Errorf("%s: %w", parameter, err))
	}
	return name
}

// number returns a parameter that must be a whole number from 0 to 2^63-1.
func (q *query) number(name string) int64 { return q.parse(name, q.text(name)) }

// numberOr returns number, or standard if the parameter is absent.
func (q *query) numberOr(name string, standard int64) int64 {
	return q.parse(name, cmp.Or(q.values[name], strconv.FormatInt(standard, 10)))
}

func (q *query) parse(name, text string) int64 {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		q.fail(sentinel.Invalidf("%s is %.64q: must be a whole number from 0 to %d", name, text, math.MaxInt64))
	}
	return int64(n)
}

// size returns lastBatchSize, which is 0 if absent. Any greater number than maxCapacity counts as maxCapacity.
func (q *query) size() int64 {
	text := cmp.Or(q.values["lastBatchSize"], "0")
	if len(text) > len("1048576") && strings.Trim(text, "0123456789") == "" {
		return maxCapacity
	}
	return min(q.parse("lastBatchSize", text), maxCapacity)
}
