// Package sentinel names the errors of the library, for answers over HTTP.
package sentinel

import (
	"errors"

	"github.com/hilo-id/hilo/allocator"
)

var names = []struct {
	err  error
	name string
}{
	{allocator.ErrClosed, "ErrClosed"},
	{allocator.ErrInvalidName, "ErrInvalidName"},
	{allocator.ErrInvalidOptions, "ErrInvalidOptions"},
	{allocator.ErrMixed, "ErrMixed"},
	{allocator.ErrExhausted, "ErrExhausted"},
	{allocator.ErrNotSeeded, "ErrNotSeeded"},
	{allocator.ErrCorrupt, "ErrCorrupt"},
	{allocator.ErrIdentitiesElsewhere, "ErrIdentitiesElsewhere"},
	{allocator.ErrUnguarded, "ErrUnguarded"},
	{allocator.ErrPrefixConflict, "ErrPrefixConflict"},
	{allocator.ErrPrefixMissing, "ErrPrefixMissing"},
	{allocator.ErrNotDurable, "ErrNotDurable"},
	{allocator.ErrUnavailable, "ErrUnavailable"},
}

// Name returns the name of the first sentinel that err matches, or "" if it matches none.
func Name(err error) string {
	for _, n := range names {
		if errors.Is(err, n.err) {
			return n.name
		}
	}
	return ""
}
