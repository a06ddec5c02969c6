package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// screen shows one line that changes, and other lines above it. On a terminal the line is written over; elsewhere it
// is written now and then, as a line like others.
type screen struct {
	w        io.Writer
	terminal bool
	every    time.Duration // between two lines where there is no terminal

	mu    sync.Mutex
	line  string
	shown time.Time
}

const (
	// eraseLine goes to the beginning of the line and erases what stands there.
	eraseLine = "\r\x1b[K"
	// lineWidth is what fits on a terminal whose width is not known.
	lineWidth = 79
)

func newScreen(w io.Writer, every time.Duration) *screen {
	if w == nil {
		w = io.Discard
	}
	return &screen{w: w, terminal: isTerminal(w), every: every}
}

// show puts line in the place of the one before.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := lineWidth
	if width := columns(s.w); width > 0 {
		most = width - 1 // with one more some terminals wrap
	}
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most])
	}
	switch {
	case s.terminal:
		fmt.Fprint(s.w, eraseLine+line)
		s.line = line
	case time.Since(s.shown) >= s.every:
		fmt.Fprintln(s.w, line)
		s.shown = time.Now()
	}
}

// Write writes whole lines above the one that changes.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return folded{s.w, logIndent}.Write(p)
	}
	fmt.Fprint(s.w, eraseLine)
	n, err := folded{s.w, logIndent}.Write(p)
	fmt.Fprint(s.w, s.line)
	return n, err
}

// eventf writes a line with the time.
func (s *screen) eventf(at time.Time, format string, values ...any) {
	fmt.Fprintf(s, "%s %s\n", at.Format("15:04:05.000"), fmt.Sprintf(format, values...))
}

// end takes the line away.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != "" {
		fmt.Fprint(s.w, eraseLine)
		s.line = ""
	}
}

// named is a writer of whole lines, each of which begins with a name.
type named struct {
	to   io.Writer
	name string

	mu   sync.Mutex
	rest []byte
}

func (n *named) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rest = append(n.rest, p...)
	for {
		line, rest, ok := bytes.Cut(n.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		fmt.Fprintf(n.to, "%s: %s\n", n.name, line)
		n.rest = rest
	}
}
