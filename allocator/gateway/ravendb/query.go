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

// query holds the parameters of a request.
type query map[string]string

// parseQuery parses a query as a form: "+" is a space. Java's client sends spaces so, and %2B for a plus. No parameter may
// be repeated.
func parseQuery(raw string) (query, error) {
	values, err := url.ParseQuery(strings.ReplaceAll(raw, ";", "%3B")) // which separates nothing
	if err != nil {
		return nil, sentinel.Invalidf("the query has a percent sign that begins no escape: %.64q", raw)
	}
	q := make(query)
	for name, texts := range values {
		if len(texts) > 1 {
			return nil, sentinel.Invalidf("%.64q is given twice", name)
		}
		q[name] = texts[0]
	}
	return q, nil
}

// readName parses the query of a request, and its parameter that names a collection, or an identity, with or without mark.
func (h *Handler) readName(r *http.Request, parameter, mark string) (q query, name string, err error) {
	if q, err = parseQuery(r.URL.RawQuery); err != nil {
		return nil, "", err
	}
	if name, err = q.required(parameter); err != nil {
		return nil, "", err
	}
	name = strings.TrimSuffix(name, mark)
	if err := prefix.ValidateCollection(name, h.opts.Allocator.Separator); err != nil {
		return nil, "", fmt.Errorf("%s: %w", parameter, err)
	}
	return q, name, nil
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

// parseNumber parses a whole number from 0 to 2^63-1. Beside the error of a greater one it returns 2^63-1.
func parseNumber(name, text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		err = sentinel.Invalidf("%s is %.64q: must be a whole number from 0 to 9223372036854775807", name, text)
	}
	return int64(n), err
}

// parseSize parses lastBatchSize, which is 0 if absent. A greater number than maxCapacity counts as maxCapacity.
func parseSize(text string) (int64, error) {
	size, err := parseNumber("lastBatchSize", cmp.Or(text, "0"))
	if size == math.MaxInt64 && strings.Trim(text, "0123456789") == "" {
		err = nil
	}
	return min(size, maxCapacity), err
}
