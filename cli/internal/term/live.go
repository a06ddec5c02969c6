package term

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Live shows one line that changes, and other lines above it. On a terminal the line is written over; elsewhere it
// is written now and then, as a line like others.
type Live struct {
	w        io.Writer
	terminal bool
	every    time.Duration // between two lines where there is no terminal

	mu    sync.Mutex
	line  string
	shown time.Time
}

// eraseLine erases the line and goes to its beginning.
const eraseLine = "\x1b[2K\r"

// NewLive is one on w. Where that is no terminal, a line is written so often at most.
func NewLive(w io.Writer, every time.Duration) *Live {
	if w == nil {
		w = io.Discard
	}
	return &Live{w: w, terminal: IsTerminal(w), every: every}
}

// Show puts line in the place of the one before.
func (s *Live) Show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line = ansi.Truncate(line, cmp.Or(Columns(s.w), usualWidth)-1, "") // with one more some terminals wrap
	switch {
	case s.terminal:
		fmt.Fprint(s.w, eraseLine+line)
		s.line, s.shown = line, time.Now()
	case time.Since(s.shown) >= s.every:
		fmt.Fprintln(s.w, line)
		s.shown = time.Now()
	}
}

// Write writes whole lines above the one that changes.
func (s *Live) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != "" {
		fmt.Fprint(s.w, eraseLine)
	}
	n, err := Fold(s.w, Indent).Write(p)
	fmt.Fprint(s.w, s.line)
	return n, err
}

// Eventf writes a line with the time.
func (s *Live) Eventf(at time.Time, format string, values ...any) {
	fmt.Fprintf(s, "%s %s\n", at.Format("15:04:05.000"), fmt.Sprintf(format, values...))
}

// End takes the line away.
func (s *Live) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != "" {
		fmt.Fprint(s.w, eraseLine)
		s.line = ""
	}
}

// Bar shows how far something is that has an end, on a terminal; elsewhere nothing.
type Bar struct {
	*Live
	what        string
	done, total int
}

// NewBar begins one. Its End has to be called, so that what comes next begins on an empty line.
func NewBar(w io.Writer, what string, total int) *Bar {
	if !IsTerminal(w) {
		w = nil
	}
	return &Bar{Live: NewLive(w, 0), what: what, total: total}
}

// Add notes that n more are done.
func (b *Bar) Add(n int) {
	const often = 100 * time.Millisecond
	if b.done = min(b.done+n, b.total); time.Since(b.shown) >= often {
		b.Show(fmt.Sprintf("%s  %d of %d", b.what, b.done, b.total))
	}
}
