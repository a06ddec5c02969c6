package cli

import (
	"fmt"
	"strings"
	"time"
)

// progress is one line, no longer than a terminal is wide.
func (t *trial) progress(now time.Time) string {
	ids, elapsed := t.judge.ids, now.Sub(t.began)
	rate := float64(ids) / max(elapsed.Seconds(), 1e-9)
	done := float64(ids) / float64(t.IDs)
	left := time.Duration(float64(t.IDs-ids) / max(rate, 1e-9) * float64(time.Second))
	if t.Duration > 0 && (left > t.Duration-elapsed || left < 0) {
		left = t.Duration - elapsed
		done = elapsed.Seconds() / t.Duration.Seconds()
	}
	line := fmt.Sprintf("%3.0f%%  %d ids  %.0f ids/s  %d twice  %s", 100*done, ids, rate, t.judge.again, remaining(left, ids))
	var away []string
	for _, w := range t.watchers {
		if _, name := w.found(); name != "" {
			away = append(away, name)
		}
	}
	if away != nil {
		line += "  away: " + strings.Join(away, ", ")
	}
	return line
}

// remaining is a time left, as far as one can tell.
func remaining(left time.Duration, ids int64) string {
	const longest = 1000 * time.Hour
	if ids == 0 || left < 0 || left > longest {
		return "time left unknown"
	}
	return left.Round(time.Second).String() + " left"
}
