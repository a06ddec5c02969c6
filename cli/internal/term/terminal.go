// Package term is how things are printed: how wide a terminal is, lines broken to fit it, tables, a line that changes, a
// bar, and numbers and times in few letters. It imports nothing of hilo.
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
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, _ := term.GetSize(int(f.Fd())) //nolint:gosec // a file descriptor is a small number; of none the width is 0
	return width
}
