package cli

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// bar shows how far something is that has an end, on a terminal; elsewhere nothing.
type bar struct{ shown *progressbar.ProgressBar }

// newBar begins one on stderr. It has to be cleared.
func (g globals) newBar(what string, total int) bar {
	if !isTerminal(g.Stderr) {
		return bar{}
	}
	return bar{progressbar.NewOptions(total,
		progressbar.OptionSetWriter(g.Stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(20),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionClearOnFinish(),
	)}
}

func (b bar) add(n int) {
	if b.shown != nil {
		_ = b.shown.Add(n) // a bar that cannot be drawn is no reason to stop
	}
}

// clear takes it away, so that what comes next begins on an empty line.
func (b bar) clear() {
	if b.shown != nil {
		_ = b.shown.Clear()
	}
}
