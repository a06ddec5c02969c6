// Package sentinel has the names of the library's errors and their statuses, for answers over HTTP.
package sentinel

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
)

type known struct {
	err    error
	name   string
	status int
}

// all lists the errors with their names and their statuses in the plain API. Temporary errors have the status 503.
var all = []known{
	{allocator.ErrClosed, "ErrClosed", http.StatusServiceUnavailable},
	{allocator.ErrCorrupt, "ErrCorrupt", http.StatusInternalServerError}, // before the names: a server's prefix may be invalid
	{allocator.ErrInvalidName, "ErrInvalidName", http.StatusBadRequest},
	{allocator.ErrInvalidOptions, "ErrInvalidOptions", http.StatusBadRequest},
	{allocator.ErrMixed, "ErrMixed", http.StatusConflict},
	{allocator.ErrExhausted, "ErrExhausted", http.StatusUnprocessableEntity},
	{allocator.ErrNotSeeded, "ErrNotSeeded", http.StatusUnprocessableEntity},
	{allocator.ErrIdentitiesElsewhere, "ErrIdentitiesElsewhere", http.StatusUnprocessableEntity},
	{admin.ErrChanged, "ErrChanged", http.StatusInternalServerError},
	{allocator.ErrUnguarded, "ErrUnguarded", http.StatusInternalServerError},
	{allocator.ErrPrefixConflict, "ErrPrefixConflict", http.StatusInternalServerError},
	{allocator.ErrPrefixMissing, "ErrPrefixMissing", http.StatusInternalServerError},
	{allocator.ErrNotDurable, "ErrNotDurable", http.StatusServiceUnavailable},
	{allocator.ErrUnavailable, "ErrUnavailable", http.StatusServiceUnavailable},
}

// RefusalError is how an error is answered. As an error it is one that is none of the library's.
type RefusalError struct {
	Status        int
	Header, Value string // one header, or ""
	Text          string
}

func (r *RefusalError) Error() string { return r.Text }

// SetHeader adds the header to those of an answer.
func (r *RefusalError) SetHeader(h http.Header) {
	if r.Header != "" {
		h.Set(r.Header, r.Value)
	}
}

// Of returns how an error is answered in the plain API, and the name of the first sentinel that it matches. An error that is none of
// the library's has no name, unless it is one of the server.
func Of(err error) (name string, answer RefusalError) {
	if refused, ok := errors.AsType[*RefusalError](err); ok {
		return "", *refused
	}
	answer = RefusalError{Status: http.StatusServiceUnavailable, Text: err.Error()}
	name = "ErrUnavailable"
	if i := slices.IndexFunc(all, func(s known) bool { return errors.Is(err, s.err) }); i >= 0 {
		name, answer.Status = all[i].name, all[i].status
	}
	if answer.Status == http.StatusServiceUnavailable {
		answer.Header, answer.Value = "Retry-After", "1"
	}
	return name, answer
}

// Temporary reports whether an error is one of the server and not of the request.
func Temporary(err error) bool {
	name, answer := Of(err)
	return name != "" && answer.Status == http.StatusServiceUnavailable
}

// Invalidf returns an error about an argument.
func Invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", allocator.ErrInvalidOptions, fmt.Sprintf(format, args...))
}
