// Package term formats output for terminals: colours, thousands separators, tables, histograms, wrapped lines, a status line,
// progress bars, and short forms of numbers and durations. It imports no other package of hilo.
package term

import (
	"cmp"
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is a writer that wraps a terminal or imitates one.
type terminal interface{ Columns() int }

// IsTerminal reports whether stream, a reader or a writer, is a terminal.
func IsTerminal(stream any) bool {
	if t, ok := stream.(terminal); ok {
		return t.Columns() > 0
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor is a small number
}

// Columns returns the width of the terminal w, or 0 if w is no terminal and lines may have any length.
func Columns(w io.Writer) int {
	if t, ok := w.(terminal); ok {
		return t.Columns()
	}
	if !IsTerminal(w) {
		return 0
	}
	width, _, _ := term.GetSize(int(w.(*os.File).Fd())) //nolint:gosec // a file descriptor is a small number
	return cmp.Or(width, usualWidth)                    // a terminal may not report its size
}
