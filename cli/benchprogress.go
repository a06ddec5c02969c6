package cli

import (
	"fmt"
	"io"
	"time"
)

// showProgress writes a line now and then until done is closed. Lines, and not one that is written over: the log may
// come in between.
func showProgress(w io.Writer, what string, l *load, every time.Duration, done <-chan struct{}) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	began := time.Now()
	var last progress
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			now := progress{at: time.Since(began)}
			now.ids, now.waits = l.soFar()
			fmt.Fprintf(w, "%s%s\n", what, now.since(last))
			last = now
		}
	}
}

// progress is what had been done at some time.
type progress struct {
	at         time.Duration
	ids, waits int64
}

func (p progress) since(last progress) string {
	return fmt.Sprintf("%3.0f s  %.0f ids/s  %d calls waited",
		p.at.Seconds(), float64(p.ids-last.ids)/max((p.at-last.at).Seconds(), 1e-9), p.waits-last.waits)
}
