// Package sentinel has the names of the library's errors and their statuses, for answers over HTTP.
package sentinel

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
)

// all lists the errors with their names and their statuses in the plain API. Temporary errors have the status 503.
var all = []struct {
	err    error
	name   string
	status int
}{
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

// Of returns the name and the status of the first sentinel that err matches, or "" and 503 if it matches none.
func Of(err error) (name string, status int) {
	for _, s := range all {
		if errors.Is(err, s.err) {
			return s.name, s.status
		}
	}
	return "", http.StatusServiceUnavailable
}

// Temporary reports whether an error is one of the server and not of the request.
func Temporary(err error) bool {
	_, status := Of(err)
	return status == http.StatusServiceUnavailable
}

// Invalidf returns an error about an argument.
func Invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", allocator.ErrInvalidOptions, fmt.Sprintf(format, args...))
}
