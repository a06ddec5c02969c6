// Package form reads the parameters of requests to a gateway.
package form

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// Query holds the parameters of a request. No parameter may be repeated.
type Query struct {
	Request *http.Request
	// Err is why the first invalid one of those that were read is invalid, or nil.
	Err    error
	values map[string]string
}

// Parse parses a query as a form: "+" is a space. RavenDB's client for Java sends spaces so, and %2B for a plus.
func Parse(r *http.Request) *Query {
	q := &Query{Request: r, values: make(map[string]string)}
	values, err := url.ParseQuery(strings.ReplaceAll(r.URL.RawQuery, ";", "%3B")) // which separates nothing
	if err != nil {
		q.Fail(sentinel.Invalidf("the query has a percent sign that begins no escape: %.64q", r.URL.RawQuery))
		return q
	}
	for name, texts := range values {
		if q.values[name] = texts[0]; len(texts) > 1 {
			q.Fail(sentinel.Invalidf("%.64q is given twice", name))
		}
	}
	return q
}

// Fail records an error, unless there is one.
func (q *Query) Fail(err error) { q.Err = cmp.Or(q.Err, err) }

// Only fails if there is another parameter than these.
func (q *Query) Only(names ...string) {
	for other := range q.values {
		if !slices.Contains(names, other) {
			q.Fail(sentinel.Invalidf("unknown parameter %.64q: allowed is only %s", other, strings.Join(names, ", ")))
		}
	}
}

// Has reports whether a parameter is present.
func (q *Query) Has(name string) bool {
	_, ok := q.values[name]
	return ok
}

// Get returns a parameter, or "".
func (q *Query) Get(name string) string { return q.values[name] }

// Text returns a parameter that must be present.
func (q *Query) Text(name string) string {
	if q.values[name] == "" {
		q.Fail(sentinel.Invalidf("%s is missing", name))
	}
	return q.values[name]
}

// Name returns a parameter that names a collection, or an identity, with or without mark.
func (q *Query) Name(parameter, mark, separator string) string {
	name := strings.TrimSuffix(q.Text(parameter), mark)
	if err := prefix.ValidateCollection(name, separator); err != nil {
		q.Fail(fmt.Errorf("%s: %w", parameter, err))
	}
	return name
}

// Number returns a parameter that must be a whole number from 0 to 2^63-1.
func (q *Query) Number(name string) int64 { return q.parse(name, q.Text(name)) }

// NumberOr returns Number, or standard if the parameter is absent.
func (q *Query) NumberOr(name string, standard int64) int64 {
	return q.parse(name, cmp.Or(q.values[name], strconv.FormatInt(standard, 10)))
}

func (q *Query) parse(name, text string) int64 {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		q.Fail(sentinel.Invalidf("%s is %.64q: must be a whole number from 0 to %d", name, text, int64(math.MaxInt64)))
	}
	return int64(n)
}
