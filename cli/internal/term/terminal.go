// Package term formats output for terminals: colours, thousands separators, tables, wrapped lines, a status line,
// progress bars, and short forms of numbers and durations. It imports no other package of hilo.
package term

import (
	"cmp"
	"os"

	"golang.org/x/term"
)

// terminal is a writer that wraps a terminal or imitates one.
type terminal interface{ Columns() int }

// IsTerminal reports whether stream, a reader or a writer, is a terminal.
func IsTerminal(stream any) bool { return Columns(stream) > 0 }

// Columns returns the width of the terminal stream, or 0 if stream is no terminal and lines may have any length.
func Columns(stream any) int {
	switch t := stream.(type) {
	case terminal:
		return t.Columns()
	case *os.File:
		if fd := int(t.Fd()); term.IsTerminal(fd) { //nolint:gosec // a file descriptor is a small number
			width, _, _ := term.GetSize(fd)
			return cmp.Or(width, usualWidth) // a terminal may not report its size
		}
	}
	return 0
}
