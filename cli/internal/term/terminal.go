// Package term prints for people: colour, thousands separators, tables, histograms, lines broken to the width of a terminal,
// a line that is redrawn, a progress bar, and numbers and times in few letters. It imports nothing of hilo.
package term

import (
	"cmp"
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is a writer that passes on to a terminal, or stands for one.
type terminal interface{ Columns() int }

// IsTerminal reports whether stream, a reader or a writer, is a terminal.
func IsTerminal(stream any) bool {
	if t, ok := stream.(terminal); ok {
		return t.Columns() > 0
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor is a small number
}

// Columns returns the width of the terminal w, and 0 where w is none: nothing has to fit.
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
