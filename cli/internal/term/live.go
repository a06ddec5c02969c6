package term

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Live shows one line that is redrawn, and other lines above it. Where a line cannot be redrawn it shows only the others.
type Live struct {
	w      io.Writer
	redraw bool

	mu   sync.Mutex
	line string
}

// eraseLine erases the line and returns to its first column.
const eraseLine = "\x1b[2K\r"

// NewLive returns one on w, whose style s is.
func (s Style) NewLive(w io.Writer) *Live { return &Live{w: w, redraw: s.Live} }

// Columns returns the width of the terminal, as the function does of its writer.
func (l *Live) Columns() int { return Columns(l.w) }

// width returns the width of the line. In the last column of a terminal some would break it.
func (l *Live) width() int { return cmp.Or(Columns(l.w), usualWidth) - 1 }

// Show replaces the line.
func (l *Live) Show(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.redraw {
		l.line = ansi.Truncate(line, l.width(), "")
		fmt.Fprint(l.w, eraseLine+l.line)
	}
}

// Write writes whole lines above the line.
func (l *Live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line != "" {
		fmt.Fprint(l.w, eraseLine)
	}
	n, err := Fold(l.w, Indent).Write(p)
	fmt.Fprint(l.w, l.line)
	return n, err
}

// Eventf writes a line that begins with a time.
func (l *Live) Eventf(at time.Time, format string, values ...any) {
	fmt.Fprintf(l, "%s %s\n", at.Format("15:04:05.000"), fmt.Sprintf(format, values...))
}

// End removes the line.
func (l *Live) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line != "" {
		fmt.Fprint(l.w, eraseLine)
		l.line = ""
	}
}
