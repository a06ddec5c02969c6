package term

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Live writes lines above a status line that it redraws. Where lines cannot be redrawn, there is no status line.
type Live struct {
	w      io.Writer
	redraw bool

	mu   sync.Mutex
	line string
}

// eraseLine erases the line and returns to its first column.
const eraseLine = "\x1b[2K\r"

// NewLive returns a Live that writes to w, the stream that s belongs to.
func (s Style) NewLive(w io.Writer) *Live { return &Live{w: w, redraw: s.Live} }

// Columns returns the width of the terminal, or 0 if the underlying writer is no terminal.
func (l *Live) Columns() int { return Columns(l.w) }

// width returns the maximum width of the status line. Some terminals wrap a line that fills the last column.
func (l *Live) width() int { return cmp.Or(Columns(l.w), usualWidth) - 1 }

// Show replaces the status line.
func (l *Live) Show(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.redraw {
		l.line = ansi.Truncate(line, l.width(), "")
		fmt.Fprint(l.w, eraseLine+l.line)
	}
}

// Write writes lines above the status line. p has to end with a newline.
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

// Eventf writes a line that begins with the time of an event.
func (l *Live) Eventf(at time.Time, format string, values ...any) {
	fmt.Fprintf(l, "%s %s\n", at.Format("15:04:05.000"), fmt.Sprintf(format, values...))
}

// End removes the status line.
func (l *Live) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line != "" {
		fmt.Fprint(l.w, eraseLine)
		l.line = ""
	}
}
