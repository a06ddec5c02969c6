package clitest

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// Watched is a stream on whose text a test can wait.
type Watched struct {
	mu   sync.Mutex // guards what follows
	text strings.Builder
	more chan struct{} // closed with the next write
}

func (w *Watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more != nil {
		close(w.more)
		w.more = nil
	}
	return w.text.Write(p)
}

func (w *Watched) String() string {
	text, _ := w.Now()
	return text
}

// Now returns the text that was written so far, and a channel that the next write closes.
func (w *Watched) Now() (text string, more <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more == nil {
		w.more = make(chan struct{})
	}
	return w.text.String(), w.more
}

// Terminal is a terminal on whose text a test can wait.
type Terminal struct {
	Watched
	Width int
}

// Columns marks it as a terminal for package term.
func (t *Terminal) Columns() int { return t.Width }

// awaitFor is much longer than any test waits.
const awaitFor = time.Minute

// Await waits until what was written.
func (w *Watched) Await(t testing.TB, what string) {
	t.Helper()
	deadline := time.After(awaitFor)
	for {
		text, more := w.Now()
		if strings.Contains(text, what) {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%q did not come: %q", what, text)
		}
	}
}
