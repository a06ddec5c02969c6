package cli

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// watched is a stream whose text can be waited for.
type watched struct {
	mu   sync.Mutex // guards what follows
	text strings.Builder
	more chan struct{} // closed with the next write
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more != nil {
		close(w.more)
		w.more = nil
	}
	return w.text.Write(p)
}

func (w *watched) String() string {
	text, _ := w.now()
	return text
}

func (w *watched) now() (text string, more <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more == nil {
		w.more = make(chan struct{})
	}
	return w.text.String(), w.more
}

// awaitFor is far longer than anything here takes.
const awaitFor = time.Minute

func (w *watched) await(t *testing.T, what string) {
	t.Helper()
	deadline := time.After(awaitFor)
	for {
		text, more := w.now()
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

// awaitKey returns when there is a key of that name.
func awaitKey(t *testing.T, s *redistest.Server, key string) {
	t.Helper()
	client := s.Client(t)
	awaitTrue(t, "key "+key, func() bool { return client.Exists(t.Context(), key).Val() > 0 })
}
