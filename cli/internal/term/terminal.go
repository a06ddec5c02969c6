// Package term is how things are printed: how wide a terminal is, lines broken to fit it, tables, a line that changes, a bar,
// and numbers and times in few letters.
//
// It imports nothing of hilo.
package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether stream, a reader or a writer, is a person's terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor is a small number
}

// Columns is how wide the terminal is; 0: w is none, and nothing has to fit.
func Columns(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(w.(*os.File).Fd())) //nolint:gosec,forcetypeassert // IsTerminal has seen it
	if err != nil {
		return 0
	}
	return width
}
